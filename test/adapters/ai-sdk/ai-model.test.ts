// Turns with real provider packages over HTTP. The test servers reject the requests that the real ones reject.

import { createAnthropic } from '@ai-sdk/anthropic'
import {
  type Clock,
  createRuntime,
  type LiveEvent,
  type Logger,
  type Model,
  type Runtime,
  type StartTurn,
  tool,
} from 'pawl'
import { aiModel, type AiModelOptions } from 'pawl/ai-sdk'
import { manualClock } from 'pawl/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { systemClock } from '../../../src/core/clock.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { anthropicProblems, openaiProblems } from '../../kit/models/provider-request-rules.ts'
import {
  chat,
  message,
  providerServer,
  type ProviderServer,
  type Reply,
  upTo,
} from '../../kit/models/provider-server.ts'
import { type SdkGeneration, sdkGenerations } from '../../kit/models/sdk-generations.ts'
import { pdf, png } from '../../kit/shop-tools.ts'

/** The AI SDK whose provider packages the current test uses. */
let generation = sdkGenerations[0] as SdkGeneration

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each.close()
})

const tools = [
  tool({
    name: 'add',
    description: 'Adds',
    input: z.object({ a: z.number(), b: z.number() }),
    hints: { readOnly: true },
    execute: ({ a, b }) => a + b,
  }),
  tool({
    name: 'draw',
    description: 'Draws',
    input: z.object({}),
    hints: { readOnly: true },
    execute: (_, ctx) => ({
      image: ctx.attachments.create(png, { mediaType: 'image/png', name: 'shot.png' }),
      paper: ctx.attachments.create(pdf, { mediaType: 'application/pdf', name: 'p.pdf' }),
      sheet: ctx.attachments.create('a,b', { mediaType: 'text/csv', name: 't.csv' }),
    }),
  }),
  tool({
    name: 'all',
    description: 'Deletes',
    input: z.object({ only: z.string().optional() }),
    hints: { readOnly: true },
    execute: () => 'DELETED',
  }),
]

interface Asked {
  readonly server: ProviderServer
  readonly model: Model
  readonly runtime: Runtime
  readonly turn: (given?: Partial<StartTurn>) => ReturnType<ReturnType<Runtime['session']>['turn']>
}

type Replies = Parameters<typeof providerServer>[1]

/** The delays of the timers that have fired in the current test. */
const waited: number[] = []
beforeEach(() => void waited.splice(0))

/** A pause before a retry lasts a hundredth of its time. Longer timers, such as deadlines, are real. */
const hastyClock: Clock = {
  ...systemClock,
  timer: (ms, fire) =>
    systemClock.timer(ms > 5_000 ? ms : ms / 100, () => {
      waited.push(ms)
      fire()
    }),
}

async function asking(server: ProviderServer, model: Model, logger: Logger, clock = hastyClock): Promise<Asked> {
  open.push(server)
  const runtime = await createRuntime({ store: 'memory:', tools, logger, clock })
  open.push({ close: () => runtime.close({ grace: 0 }) })
  return {
    server,
    model,
    runtime,
    turn: (given = {}) => runtime.session('s').turn({ model, message: 'Go', instructions: 'Be brief.', ...given }),
  }
}

async function openai(
  replies: Replies,
  options: AiModelOptions = {},
  logger: Logger = quiet,
  clock?: Clock,
): Promise<Asked> {
  const server = await providerServer(openaiProblems, replies)
  return asking(server, aiModel(generation.lab(server.url), options), logger, clock)
}

async function anthropic(replies: Replies, options: AiModelOptions = {}): Promise<Asked> {
  const server = await providerServer(anthropicProblems, replies)
  return asking(server, aiModel(generation.anthropic(server.url), options), quiet)
}

/** Runs a turn and collects the live events that an observer receives. */
async function watched({ runtime, turn }: Asked): Promise<{ told: string[]; value: unknown }> {
  const stop = new AbortController()
  const told: string[] = []
  const reading = (async () => {
    for await (const event of runtime.session('s').events({ live: true, signal: stop.signal })) {
      if (!event.live) continue
      const { type, body } = event as LiveEvent & { body: { delta?: string; type?: string; name?: string } }
      told.push(type === 'turn.delta' ? (body.delta ?? `calls ${body.name}`) : type)
    }
  })().catch(() => {})
  await new Promise((resolve) => setTimeout(resolve, 20))
  const value = await turn().outcome
  await new Promise((resolve) => setTimeout(resolve, 20))
  stop.abort()
  await reading
  return { told, value }
}

describe.each(sdkGenerations)('AI SDK $sdk', (used) => {
  beforeEach(() => void (generation = used))

  describe('OpenAI chat completions', () => {
    test('SESS-1 SESS-2: parallel calls, results and an answer are streamed with their usage', async () => {
      const asked = await openai(
        [
          chat({
            say: 'I add.',
            calls: ['{"a":1,"b":2}', '{"a":3,"b":4}'].map((args, at) => ({ id: `c${at + 1}`, name: 'add', args })),
          }),
          chat({ say: 'Three and seven.' }),
        ],
        { price: { input: 1_000_000, cached: 500_000, output: 2_000_000 } },
      )
      const { told, value } = await watched(asked)
      expect(value).toMatchObject({
        status: 'success',
        value: {
          text: 'Three and seven.',
          steps: 2,
          finish: 'stop',
          usage: {
            inputTokens: 200,
            outputTokens: 40,
            cachedTokens: 80,
            reasoningTokens: 10,
            cost: 2 * (60 + 40 * 0.5 + 20 * 2),
          },
        },
      })
      expect(told.join('')).toBe('I add.calls add{"a":1,"b":2}calls add{"a":3,"b":4}Three and seven.')
      const { server } = asked
      expect(server.problems).toEqual([])
      expect(server.asked[1]).toMatchObject({
        model: 'gpt-test',
        stream: true,
        messages: [
          { role: 'system', content: 'Be brief.' },
          { role: 'user', content: 'Go' },
          {
            role: 'assistant',
            content: 'I add.',
            tool_calls: [{ id: 'c1', function: { arguments: '{"a":1,"b":2}' } }, { id: 'c2' }],
          },
          { role: 'tool', tool_call_id: 'c1', content: '3' },
          { role: 'tool', tool_call_id: 'c2', content: '7' },
        ],
      })
      const [first] = server.asked[0].tools.filter(
        (each: { function: { name: string } }) => each.function.name === 'add',
      )
      expect(first).toMatchObject({
        type: 'function',
        function: { parameters: { type: 'object', required: ['a', 'b'] } },
      })
      expect(server.asked[0]).not.toHaveProperty('parallel_tool_calls')
    })

    test('SESS-2: the settings of a turn and parallel: false are sent to the provider', async () => {
      const { server, turn } = await openai([chat({ say: 'x' })])
      await turn({
        parallel: false,
        settings: {
          maxOutputTokens: 9,
          temperature: 0.5,
          topP: 0.9,
          seed: 7,
          stop: ['END'],
          reasoning: 'low',
          provider: { myLab: { flavour: 'mint' } },
        },
      }).outcome
      expect(server.asked[0]).toMatchObject({
        parallel_tool_calls: false,
        max_tokens: 9,
        temperature: 0.5,
        top_p: 0.9,
        seed: 7,
        stop: ['END'],
        ...(generation.sdk === 7 ? { reasoning_effort: 'low' } : {}), // AI SDK 6 has no such setting
        flavour: 'mint',
      })
    })

    test('VAL-5: images and PDFs in results are native parts, other files are named, without base64', async () => {
      const { server, turn } = await openai([
        chat({
          calls: [
            { id: 'a', name: 'draw' },
            { id: 'b', name: 'draw' },
          ],
        }),
        chat({ say: 'Nice.' }),
        chat({ say: 'Still.' }),
      ])
      await turn().outcome
      await turn({ message: 'Again?' }).outcome
      expect(server.problems).toEqual([])
      for (const { messages } of server.asked.slice(1)) {
        const results = messages.filter(({ role }: { role: string }) => role === 'tool')
        expect(results).toHaveLength(2)
        for (const { content } of results) {
          expect(content).toMatch(
            /"image":\[attachment "shot.png" .*image\/png, 8 bytes\].*"sheet":\[attachment "t.csv" /,
          )
          expect(content).not.toContain(Buffer.from(png).toString('base64'))
          expect(content.length).toBeLessThan(400)
        }
      }
      const files = server.asked[1].messages.at(-1)
      expect(files).toMatchObject({
        role: 'user',
        content: [
          { type: 'text', text: expect.stringMatching(/^\[Runtime notice: this is not a message of the user\..*4/) },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${Buffer.from(png).toString('base64')}` } },
          { type: 'file', file: { filename: 'p.pdf' } },
          { type: 'image_url' },
          { type: 'file' },
        ],
      })
      expect(server.asked[2].messages.map(({ role }: { role: string }) => role)).toEqual([
        'system',
        'user',
        'assistant',
        'tool',
        'tool',
        'user',
        'assistant',
        'user',
      ])
    })

    test('VAL-5: supported files of a user message are native parts, others are named', async () => {
      const { server, turn } = await openai([chat({ say: 'A dot.' })])
      const attachments = [
        { data: png, mediaType: 'image/png', name: 'shot.png' },
        { data: 'a,b', mediaType: 'text/csv', name: 't.csv' },
      ]
      expect(await turn({ message: { text: 'What is this?', attachments } }).outcome).toMatchObject({
        value: { text: 'A dot.' },
      })
      expect(server.problems).toEqual([])
      expect(server.asked[0].messages.at(-1).content).toMatchObject([
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${Buffer.from(png).toString('base64')}` } },
        { type: 'text', text: expect.stringContaining('t.csv') },
      ])
    })

    test('VAL-5: a model that cannot read files gets their names', async () => {
      const { server, turn } = await openai([chat({ calls: [{ id: 'a', name: 'draw' }] }), chat({ say: 'Nice.' })], {
        reads: () => false,
      })
      await turn().outcome
      expect(server.asked[1].messages.at(-1)).toMatchObject({
        role: 'tool',
        content: expect.stringContaining('[attachment "shot.png"'),
      })
      expect(JSON.stringify(server.asked)).not.toContain('base64')
    })

    test('SESS-2: reasoning and call signatures are sent back unchanged', async () => {
      const asked = await openai([
        chat({ think: 'Hmm, sums.', calls: [{ id: 'a', name: 'add', args: '{"a":1,"b":1}', signature: 'SIG==' }] }),
        chat({ say: 'Two.' }),
      ])
      const { told } = await watched(asked)
      expect(told.join('')).toBe('Hmm, sums.calls add{"a":1,"b":1}Two.')
      expect(asked.server.asked[1].messages[2]).toMatchObject({
        reasoning_content: 'Hmm, sums.',
        tool_calls: [
          // The package of AI SDK 6 reads its own metadata back under another name.
          { id: 'a', ...(generation.sdk === 7 ? { extra_content: { google: { thought_signature: 'SIG==' } } } : {}) },
        ],
      })
      expect((await asked.runtime.session('s').messages.list())[1]?.message).toMatchObject({
        parts: [
          { type: 'reasoning', text: 'Hmm, sums.' },
          { type: 'call', meta: { 'my-lab': { thoughtSignature: 'SIG==' } } },
        ],
      })
      expect(asked.server.problems).toEqual([])
    })

    test.each([
      ['429 with retry-after-ms', { status: 429, headers: { 'retry-after-ms': '30' } }, 25],
      ['429 with retry-after in seconds', { status: 429, headers: { 'retry-after': '1' } }, 990],
      [
        '429 with retry-after as a date',
        {
          status: 429,
          headers: { date: 'Mon, 01 Jan 2024 00:00:00 GMT', 'retry-after': 'Mon, 01 Jan 2024 00:00:01 GMT' },
        },
        990,
      ],
      ['500', { status: 500, headers: { 'retry-after-ms': '1' } }, 0],
      ['with a broken connection', { events: [], then: 'break' as const }, 0],
    ])('SESS-2: a provider that answers %s is retried', async (_, reply: Reply, atLeast) => {
      const { server, turn } = await openai([reply, chat({ say: 'There.' })])
      expect(await turn().outcome).toMatchObject({ status: 'success', value: { text: 'There.', steps: 1 } })
      expect(Math.max(...waited)).toBeGreaterThanOrEqual(atLeast)
      expect(server.asked).toHaveLength(2)
      expect(server.asked[1]).toEqual(server.asked[0])
    })

    test('SESS-2: a rejected request is not retried, and its error text only reaches the log', async () => {
      const logged: unknown[] = []
      const log = (_: string, fields?: unknown): void => void logged.push(fields)
      const { server, turn } = await openai([{ status: 400 }], {}, { debug() {}, info() {}, warn: log, error: log })
      const outcome = await turn().outcome
      expect(outcome).toMatchObject({
        status: 'failure',
        failure: {
          class: 'external',
          code: 'model_failed',
          message: "The model 'my-lab.chat/gpt-test' could not answer: HTTP 400.",
        },
      })
      expect(JSON.stringify(outcome)).not.toContain('SECRET')
      expect(server.asked).toHaveLength(1)
      expect(logged).toMatchObject([{ error: { cause: { message: 'SECRET of the provider' } } }])
    })

    test.each([
      ['by its code', { message: 'SECRET', type: 'invalid_request_error', code: 'context_length_exceeded' }],
      ['in words', { message: "This model's maximum context length is 8192 tokens. SECRET" }],
      [
        'in other words',
        { message: 'The request (9000 tokens) exceeds the available context size (8192 tokens). SECRET' },
      ],
    ])('SESS-10: a context overflow reported %s compacts the conversation', async (_, error) => {
      const { server, turn } = await openai([
        chat({ say: 'Hello.' }),
        { status: 400, body: { error } },
        chat({ say: 'They said hello.' }),
        chat({ say: 'Go where?' }),
      ])
      await turn({ message: 'Hello' }).outcome
      expect(await turn().outcome).toMatchObject({ status: 'success', value: { text: 'Go where?' } })
      expect(server.asked[3].messages.at(-1).content).toMatch(/They said hello\.\s+Go$/)
      expect(server.problems).toEqual([])
    })

    test('SESS-10: a rate limit in tokens is not taken for a context overflow', async () => {
      const error = {
        message: 'Request too large: please reduce the length of the messages',
        code: 'rate_limit_exceeded',
      }
      const { server, turn } = await openai([
        { status: 429, headers: { 'retry-after-ms': '1' }, body: { error } },
        chat({ say: 'Now.' }),
      ])
      expect(await turn().outcome).toMatchObject({ value: { text: 'Now.' } })
      expect(server.asked[1]).toEqual(server.asked[0])
    })

    test('SESS-2: a request that stalls before or during its answer is aborted and retried', async () => {
      const stalls = upTo(chat({ say: 'Half an answer' }), 3, 'hang')
      const clock = manualClock()
      const { server, turn } = await openai(
        [{ events: [], then: 'hang' }, stalls, chat({ say: 'Whole.' })],
        { idle: '2m' },
        quiet,
        clock,
      )
      const running = turn()
      for (const asked of [1, 2]) {
        await expect.poll(() => server.asked.length).toBe(asked)
        await clock.advance('2m')
        await clock.advance('2s')
      }
      expect(await running.outcome).toMatchObject({ status: 'success', value: { text: 'Whole.', steps: 1 } })
      expect(server.asked).toHaveLength(3)
      await expect.poll(() => server.dropped).toBe(2)
    })

    test('SESS-2: a broken stream is retracted and retried, and none of it is recorded', async () => {
      const whole = chat({ say: 'The answer is 42.', calls: [{ id: 'a', name: 'add', args: '{"a":1,"b":2}' }] })
      const asked = await openai([upTo(whole, 3, 'break'), whole, chat({ say: 'Done.' })])
      const { told, value } = await watched(asked)
      expect(value).toMatchObject({ status: 'success', value: { text: 'Done.', steps: 2 } })
      expect(told.join('|')).toMatch(
        /^The a\|nswer\|turn\.retracted\|The a\|nswer\| is 4\|2\.\|calls add\|\{"a":\|1,"b"\|:2\}\|Done\.$/,
      )
      expect((await asked.runtime.session('s').messages.list()).map(({ message: { role } }) => role)).toEqual([
        'user',
        'assistant',
        'tool',
        'assistant',
      ])
      expect(asked.server.problems).toEqual([])
    })

    test.each([
      ['a transient error', { error: { message: 'SECRET', type: 'server_error', code: 'overloaded' } }, 2],
      ['invalid JSON', '{"choices": [', 2],
      ['a permanent error', { error: { message: 'SECRET', type: 'invalid_request_error' } }, 1],
    ])('SESS-2: %s in the middle of an answer is retried if it is transient', async (_, event, times) => {
      const { server, turn } = await openai([
        { events: [...(chat({ say: 'Half an' }).events ?? []).slice(0, 2), event] },
        chat({ say: 'Whole.' }),
      ])
      expect(await turn().outcome).toMatchObject(
        times === 2
          ? { status: 'success', value: { text: 'Whole.' } }
          : {
              status: 'failure',
              failure: { message: expect.stringMatching(/could not answer: its answer was cut off\.$/) },
            },
      )
      expect(server.asked).toHaveLength(times)
    })

    test('SESS-2 SESS-3: a stream without a finish event counts as broken', async () => {
      const whole = chat({ say: 'Half', calls: [{ id: 'a', name: 'all', args: '{}' }] })
      const { server, turn } = await openai([{ events: whole.events?.slice(0, 3) ?? [] }, chat({ say: 'Whole.' })])
      expect(await turn().outcome).toMatchObject({ value: { text: 'Whole.', steps: 1 } })
      expect(server.asked).toHaveLength(2)
    })

    test('SESS-2 SESS-3: an empty answer ends the turn, and the next turn has a valid conversation', async () => {
      const { server, turn } = await openai([
        chat({}),
        chat({ think: 'Only a thought' }),
        chat({ say: '  ' }),
        chat({ say: 'Hello' }),
      ])
      for (const _ of '123') expect(await turn().outcome).toMatchObject({ status: 'success', value: { steps: 1 } })
      expect(await turn().outcome).toMatchObject({ value: { text: 'Hello' } })
      expect(server.problems).toEqual([])
      expect(server.asked[3].messages).toMatchObject([
        { role: 'system' },
        { role: 'user', content: 'Go\n\nGo\n\nGo\n\nGo' },
      ])
    })

    test('SESS-3: malformed arguments, unknown names and duplicate ids each get a valid result', async () => {
      const { server, turn } = await openai([
        chat({
          calls: [
            { id: 'a', name: 'add', args: '{"a": 1, "b":' },
            { id: 'a', name: 'add', args: '[1]' },
            { name: 'no such tool!', args: '"x"' },
            { id: 'a', name: 'add', args: '{"a":1,"b":1}' },
          ],
        }),
        chat({ calls: [{ id: 'a', name: 'add', args: '{"a":2,"b":2}' }] }),
        chat({ say: 'So.' }),
      ])
      expect(await turn().outcome).toMatchObject({ value: { text: 'So.', steps: 3 } })
      expect(server.problems).toEqual([])
      const results = server.asked[2].messages
        .filter(({ role }: { role: string }) => role === 'tool')
        .map(({ content }: { content: string }) => content)
      expect(results).toMatchObject([
        expect.stringMatching(/failed/),
        expect.stringMatching(/failed/),
        expect.stringMatching(/failed/),
        '2',
        '4',
      ])
    })

    test('SESS-2: a truncated answer reports its finish reason, and a call without arguments fails', async () => {
      const { server, turn } = await openai([
        chat({ say: 'I was goi', finish: 'length' }),
        chat({ say: 'I can', finish: 'content_filter' }),
        chat({ calls: [{ id: 'a', name: 'all', args: '' }], finish: 'length' }),
        chat({ say: 'Oh.' }),
      ])
      expect(await turn().outcome).toMatchObject({ value: { text: 'I was goi', finish: 'length' } })
      expect(await turn().outcome).toMatchObject({ value: { text: 'I can', finish: 'filter' } })
      expect(await turn().outcome).toMatchObject({ value: { text: 'Oh.', finish: 'stop' } })
      expect(server.asked[3].messages.at(-1).content).toMatch(/failed[^]*JSON/)
      expect(server.problems).toEqual([])
    })

    test('TIME-3 SESS-2: a cancelled turn closes the connection to the provider', async () => {
      const { server, turn, runtime } = await openai([
        upTo(chat({ say: 'A long long answer' }), 3, 'hang'),
        { events: [], then: 'hang' },
      ])
      for (const asked of [1, 2]) {
        const running = turn()
        await expect.poll(() => server.asked.length).toBe(asked)
        await new Promise((resolve) => setTimeout(resolve, 30))
        expect(await running.cancel('Enough')).toBe(true)
        expect(await running.outcome).toMatchObject({ status: 'cancelled' })
        await expect.poll(() => server.dropped).toBe(asked)
      }
      expect(server.asked).toHaveLength(2)
      expect((await runtime.session('s').messages.list()).map(({ message: { role } }) => role)).toEqual([
        'user',
        'user',
      ])
    })

    test('SESS-2: an unreachable provider is retried until the time limit of the turn', async () => {
      const { server, turn } = await openai([])
      await server.close()
      const running = turn({ limits: { time: 300 } })
      expect(await running.outcome).toMatchObject({ status: 'failure', failure: { code: 'turn_timeout' } })
    })
  })

  describe('Anthropic messages', () => {
    test('SESS-2 SESS-3: signed and redacted thinking and parallel calls are sent back unchanged', async () => {
      const asked = await anthropic(
        [
          message({
            think: 'Sums.',
            redacted: 'HIDDEN',
            say: 'I add.',
            calls: [
              { id: 'toolu_1', name: 'add', args: '{"a":1,"b":2}' },
              { id: 'toolu_2', name: 'add', args: '{"a":"x"}' },
            ],
          }),
          message({ say: 'Three.' }),
        ],
        { price: { input: 1_000_000, output: 1_000_000 } },
      )
      const { told, value } = await watched(asked)
      expect(value).toMatchObject({
        status: 'success',
        value: { text: 'Three.', usage: { inputTokens: 200, cachedTokens: 80, outputTokens: 40, cost: 240 } },
      })
      expect(told.join('')).toBe('Sums.I add.calls add{"a":1,"b":2}calls add{"a":"x"}Three.')
      expect(asked.server.problems).toEqual([])
      expect(asked.server.asked[1]).toMatchObject({
        system: [{ text: 'Be brief.' }],
        messages: [
          { role: 'user', content: [{ text: 'Go' }] },
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'Sums.', signature: 'signed(Sums.)' },
              { type: 'redacted_thinking', data: 'HIDDEN' },
              { type: 'text', text: 'I add.' },
              { type: 'tool_use', id: 'toolu_1', input: { a: 1, b: 2 } },
              { type: 'tool_use', id: 'toolu_2', input: { a: 'x' } },
            ],
          },
          {
            role: 'user',
            content: [
              { type: 'tool_result', tool_use_id: 'toolu_1', content: '3' },
              { type: 'tool_result', tool_use_id: 'toolu_2', is_error: true },
            ],
          },
        ],
      })
    })

    test('VAL-5: images and PDFs are parts of the tool result', async () => {
      const { server, turn } = await anthropic([
        message({ calls: [{ id: 'a', name: 'draw' }] }),
        message({ say: 'Nice.' }),
      ])
      await turn().outcome
      expect(server.problems).toEqual([])
      expect(server.asked[1].messages.at(-1)).toMatchObject({
        content: [
          {
            type: 'tool_result',
            content: [
              { type: 'text', text: '{"image":' },
              {
                type: 'image',
                source: { type: 'base64', media_type: 'image/png', data: Buffer.from(png).toString('base64') },
              },
              { type: 'text' },
              { type: 'document' },
              { type: 'text', text: expect.stringMatching(/^,"sheet":\[attachment "t.csv" .*\]\}$/) },
            ],
          },
        ],
      })
    })

    test('SESS-2: parallel: false is sent, an overloaded stream is retried, an empty answer is valid', async () => {
      const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'SECRET' } }
      const { server, turn } = await anthropic([
        { events: [...(message({ say: 'Hel' }).events ?? []).slice(0, 3), overloaded] },
        message({ say: 'Hello' }),
        message({}),
        message({ think: 'Nothing to say' }),
        message({ say: 'Yes' }),
      ])
      expect(await turn({ parallel: false }).outcome).toMatchObject({ value: { text: 'Hello' } })
      expect(server.asked[0].tool_choice).toMatchObject({ disable_parallel_tool_use: true })
      for (const text of ['', '', 'Yes']) expect(await turn().outcome).toMatchObject({ value: { text } })
      expect(server.asked).toHaveLength(5)
      expect(server.problems).toEqual([])
    })

    test('SESS-3: a conversation started with another provider continues with Anthropic', async () => {
      const { model, server } = await anthropic([message({ say: 'Taken over.' })])
      const other = await openai([
        chat({
          think: 'Unsigned',
          calls: [
            { id: 'functions.add:0', name: 'add', args: '{"a":1,"b":1}' },
            { id: 'functions_add_0', name: 'add.it', args: '{' },
          ],
        }),
        chat({ say: 'Two.' }),
      ])
      await other.turn().outcome
      expect(await other.turn({ model }).outcome).toMatchObject({ value: { text: 'Taken over.' } })
      expect(server.problems).toEqual([])
      expect(server.asked[0].messages).toHaveLength(5)
    })

    test('VAL-5: a user message may be a picture without text', async () => {
      const { server, turn } = await anthropic([message({ say: 'A dot.' })])
      await turn({ message: { attachments: [{ data: png, mediaType: 'image/png' }] } }).outcome
      expect(server.problems).toEqual([])
      expect(server.asked[0].messages).toMatchObject([
        { role: 'user', content: [{ type: 'image', source: { media_type: 'image/png' } }] },
      ])
    })

    test('SESS-10: a prompt that is too long compacts the conversation once', async () => {
      const error = { type: 'invalid_request_error', message: 'prompt is too long: 208310 tokens > 200000 maximum' }
      const { server, turn } = await anthropic([
        message({ say: 'Hello.' }),
        { status: 400, body: { type: 'error', error } },
        message({ say: 'They said hello.' }),
        { status: 400, body: { type: 'error', error } },
      ])
      await turn({ message: 'Hello' }).outcome
      expect(await turn().outcome).toMatchObject({
        status: 'failure',
        failure: {
          code: 'model_failed',
          message: expect.stringMatching(
            /could not answer: the input is longer than its context window \(HTTP 400\)\.$/,
          ),
        },
      })
      expect(server.asked).toHaveLength(4)
      expect(server.problems).toEqual([])
    })

    test('SESS-3 TOOL-3: calls named like properties of Object.prototype are sent back renamed', async () => {
      const odd = ['constructor', 'toString', 'hasOwnProperty', '__proto__']
      const { server, turn } = await anthropic([
        message({ calls: odd.map((name, index) => ({ id: `toolu_${index}`, name })) }),
        message({ say: 'There is none.' }),
      ])
      expect(await turn().outcome).toMatchObject({ value: { text: 'There is none.' } })
      expect(server.problems).toEqual([])
      expect(server.asked[1].messages[1].content).toMatchObject(
        odd.map((name) => ({ type: 'tool_use', name: `${name}_` })),
      )
    })

    test('TIME-3 SESS-2: a cancelled turn closes the connection', async () => {
      const { server, turn } = await anthropic([upTo(message({ say: 'A long long answer' }), 3, 'hang')])
      const running = turn()
      await expect.poll(() => server.asked.length).toBe(1)
      await running.cancel()
      expect(await running.outcome).toMatchObject({ status: 'cancelled' })
      await expect.poll(() => server.dropped).toBe(1)
    })
  })
})

test('SESS-2: aiModel() rejects values that are not a supported language model', () => {
  const old = { specificationVersion: 'v2', provider: 'x', modelId: 'y', doStream() {} }
  for (const given of ['gpt-5', null, undefined, {}, old])
    expect(() => aiModel(given as never)).toThrow(expect.objectContaining({ code: 'model_invalid' }))
})

test.for<[unknown, string]>([
  ['openai/gpt-5', 'the text "openai/gpt-5"'],
  [undefined, 'undefined'],
  [{ specificationVersion: 'v2', doStream() {} }, 'a language model of provider specification v2 for AI SDK 5'],
  [{ specificationVersion: 'v9', doStream() {} }, 'a language model of provider specification v9'],
  [{ specificationVersion: 'v4', doEmbed() {} }, 'something else than a language model of provider specification v4'],
  [createAnthropic(), "a provider; call it with the id of a model, such as openai('gpt-5')"],
  [aiModel(createAnthropic({ apiKey: 'key' })('claude')), 'a model of Pawl, which needs no aiModel()'],
  [7, 'a value of type number'],
])('SESS-12: the error for %o says what was given and what is needed', ([given, what]) => {
  expect(() => aiModel(given as never)).toThrow(
    `aiModel() needs a language model of a provider package for AI SDK 6 or 7, such as openai('gpt-5'), and was given ${what}`,
  )
})
