/* oxlint-disable typescript/no-explicit-any -- parts and prompts in the provider's format */

import { createAnthropic } from '@ai-sdk/anthropic'
import { createRuntime, result, type RuntimeOptions, type StartTurn, tool } from 'pawl'
import { aiModel, type AiLanguageModel } from 'pawl/ai-sdk'
import { scriptedModel } from 'pawl/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { anthropicProblems } from '../../kit/models/provider-request-rules.ts'
import { message, providerServer } from '../../kit/models/provider-server.ts'
import { keepOpen, mortal } from '../../kit/stores/killable-store.ts'
import { after, quiet } from '../../kit/stores/fresh-store.ts'
import { readOnlyTool, simpleTool } from '../../kit/simple-tools.ts'
import { ignoreOutcome } from '../../kit/wait-until.ts'
import { closedAfterEach, type Fresh, opening, stores } from '../../kit/open-runtime.ts'

const open = opening()
const input = { type: 'object' } as const
const closing: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of closing.splice(0)) await each.close()
})

type Part = { type: string } & Record<string, any>
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
const finish = (unified = 'stop'): Part => ({ type: 'finish', finishReason: { unified }, usage })
const text = (said: string): Part[] => [
  { type: 'text-start', id: '0' },
  { type: 'text-delta', id: '0', delta: said },
  { type: 'text-end', id: '0' },
  finish(),
]
const streamOf = (parts: readonly Part[]): ReadableStream =>
  new ReadableStream({
    start(out) {
      for (const part of parts) out.enqueue(part)
      out.close()
    },
  })

/** A provider with the given answers; `prompts` collects its requests. */
function provider(answers: readonly (Part[] | (() => Promise<{ stream: ReadableStream }>))[], name = 'lab.chat') {
  const prompts: any[] = []
  const model: AiLanguageModel = {
    specificationVersion: 'v4',
    provider: name,
    modelId: 'm',
    async doStream(options) {
      const answer = answers[prompts.push(options) - 1] ?? []
      return typeof answer === 'function' ? answer() : { stream: streamOf(answer) }
    },
  }
  return { model, prompts }
}

test('SESS-2: empty instructions are not sent', async () => {
  const server = await providerServer(
    (body) => [
      ...anthropicProblems(body),
      ...(body.system ?? []).flatMap((each: any) => (each.text.trim() === '' ? ['the system text is empty'] : [])),
    ],
    [message({ say: 'a' }), message({ say: 'b' })],
  )
  closing.push(server)
  const model = aiModel(createAnthropic({ baseURL: server.url, apiKey: 'key' })('claude-test'))
  const runtime = await createRuntime({ store: 'memory:', logger: quiet })
  closing.push(runtime)
  await runtime.session('s').turn({ model, message: 'Go', instructions: '' }).outcome
  await runtime.session('s').turn({ model, message: 'Go', instructions: ' \n' }).outcome
  expect(server.problems).toEqual([])
})

test('SESS-3: a conversation with calls continues with Anthropic in a turn without tools', async () => {
  const server = await providerServer(anthropicProblems, [
    message({ calls: [{ id: 'toolu_1', name: 'look' }] }),
    message({ say: 'a' }),
    message({ say: 'b' }),
  ])
  closing.push(server)
  const model = aiModel(createAnthropic({ baseURL: server.url, apiKey: 'key' })('claude-test'))
  const look = tool({ name: 'look', description: 'd', input, hints: { readOnly: true }, execute: () => 'x' })
  const runtime = await createRuntime({ store: 'memory:', logger: quiet, tools: [look] })
  closing.push(runtime)
  await runtime.session('s').turn({ model, message: 'Go' }).outcome
  await runtime.session('s').turn({ model, message: 'Go', tools: [] }).outcome
  expect(server.problems).toEqual([])
  expect(server.asked[2]).toMatchObject({ tool_choice: { type: 'none' } })
  expect(server.asked[2].tools.map(({ name }: any) => name)).toEqual(['look'])
})

test('SESS-2: provider metadata with undefined values is preserved', async () => {
  const { model, prompts } = provider([
    [{ type: 'text-start', id: '0', providerMetadata: { lab: { a: undefined, b: 1 } } }, ...text('x').slice(1)],
    text('y'),
  ])
  const { runtime, clock } = await open()
  const asked = aiModel(model)
  await after(runtime.session('s').turn({ model: asked, message: 'a' }).outcome, clock)
  await after(runtime.session('s').turn({ model: asked, message: 'b' }).outcome, clock)
  expect(prompts[1].prompt[1]).toMatchObject({ content: [{ text: 'x', providerOptions: { lab: { b: 1 } } }] })
})

test.each([
  [{ code: 401, message: 'x' }, 1],
  [{ code: 400, message: 'x' }, 1],
  [{ code: '403' }, 1],
  [{ code: 502, message: 'x' }, 2],
  [{ code: 429, message: 'x' }, 2],
  [{ code: 'context_length_exceeded', type: null }, 1],
  [{ type: 'overloaded_error' }, 2],
  [{ statusCode: 400 }, 1],
  ['overloaded', 2],
  [null, 2],
])('SESS-2: the error %j in the middle of an answer is retried only if it is transient', async (error, times) => {
  const { model, prompts } = provider([[...text('Half').slice(0, 2), { type: 'error', error }], text('Whole')])
  const { runtime, clock } = await open()
  await after(runtime.session('s').turn({ model: aiModel(model), message: 'a' }).outcome, clock)
  expect(prompts).toHaveLength(times)
})

test.each([
  [{ 'retry-after-ms': 'soon', 'retry-after': '5' }, 5_000],
  [{ 'retry-after': '7' }, 7_000],
  [{ 'retry-after': '' }, 1_000],
  [{ 'retry-after': '-3' }, 1_000],
  [{ 'retry-after': '99999' }, 60_000],
])('SESS-2: the retry honours the response headers %j', async (responseHeaders, ms) => {
  const { model, prompts } = provider([
    () => Promise.reject(Object.assign(new Error('x'), { statusCode: 429, isRetryable: true, responseHeaders })),
    text('Whole'),
  ])
  const { runtime, clock } = await open()
  const turn = runtime.session('s').turn({ model: aiModel(model), message: 'a' })
  await clock.advance(ms - 1)
  expect(prompts).toHaveLength(1)
  await clock.advance(1)
  expect(prompts).toHaveLength(2)
  await after(turn.outcome, clock)
})

test('TIME-3 SESS-2: the stream of a provider that ignores the abort signal is cancelled', async () => {
  let cancelled = 0
  const { model } = provider([
    async () => ({
      stream: new ReadableStream({
        start: (out) => out.enqueue({ type: 'text-start', id: '0' }),
        cancel: () => void cancelled++,
      }),
    }),
  ])
  const { runtime, clock } = await open()
  const turn = runtime.session('s').turn({ model: aiModel(model), message: 'a' })
  await clock.advance(10)
  await turn.cancel()
  expect(await after(turn.outcome, clock)).toMatchObject({ value: { status: 'cancelled' } })
  await expect.poll(() => cancelled).toBe(1)
})

test('SESS-3: call ids are mapped to a form that each provider accepts', async () => {
  const long = `call_${'x'.repeat(120)}`
  const first = scriptedModel([
    {
      call: [
        { name: 'look', id: long },
        { name: 'look', id: `${long}y` },
      ],
    },
    'ok',
  ])
  const look = tool({ name: 'look', description: 'd', input, hints: { readOnly: true }, execute: () => 'x' })
  for (const [name, shape] of [
    ['openai.chat', /^.{1,40}$/],
    ['openai.responses', /^.{1,64}$/],
    ['anthropic.messages', /^[\w-]{1,64}$/],
    ['amazon-bedrock', /^[\w-]{1,64}$/],
    ['mistral.chat', /^[a-zA-Z0-9]{9}$/],
  ] as const) {
    const { model, prompts } = provider([text('y')], name)
    const { runtime, clock } = await open({ tools: [look] })
    await after(runtime.session('s').turn({ model: first, message: 'a' }).outcome, clock)
    await after(runtime.session('s').turn({ model: aiModel(model), message: 'b' }).outcome, clock)
    const ids = prompts[0].prompt.flatMap(({ role, content }: any) =>
      role === 'assistant' || role === 'tool' ? content.flatMap(({ toolCallId }: any) => toolCallId ?? []) : [],
    )
    expect([name, ids.length, new Set(ids).size]).toEqual([name, 4, 2])
    expect(ids.slice(0, 2)).toEqual(ids.slice(2))
    for (const id of ids) expect(id).toMatch(shape)
  }
})

test('SESS-2: interleaved and unannounced stream parts are assembled', async () => {
  const { model } = provider([
    [
      { type: 'stream-start', warnings: [] },
      { type: 'reasoning-start', id: 'r' },
      { type: 'text-start', id: 't' },
      { type: 'reasoning-delta', id: 'r', delta: 'hm' },
      { type: 'text-delta', id: 't', delta: 'a' },
      { type: 'reasoning-delta', id: 'r', delta: 'm' },
      { type: 'reasoning-end', id: 'r', providerMetadata: { lab: { signature: 's' } } },
      { type: 'text-delta', id: 't', delta: 'b' },
      { type: 'text-start', id: 't' },
      { type: 'text-delta', id: 't', delta: 'c' },
      { type: 'text-delta', id: 'unknown', delta: 'd' },
      { type: 'finish', finishReason: { unified: 'stop' }, usage: {} },
    ],
  ])
  const { runtime, clock } = await open()
  const session = runtime.session('s')
  expect(await after(session.turn({ model: aiModel(model), message: 'a' }).outcome, clock)).toMatchObject({
    value: { value: { text: 'abcd' } },
  })
  expect((await session.messages.list())[1]?.message).toMatchObject({
    parts: [
      { type: 'reasoning', text: 'hmm', meta: { lab: { signature: 's' } } },
      { text: 'ab' },
      { text: 'c' },
      { text: 'd' },
    ],
  })
})

test('SESS-2: usage reported in parts is summed', async () => {
  const { model } = provider([
    [
      ...text('x').slice(0, 3),
      {
        type: 'finish',
        finishReason: { unified: 'stop' },
        usage: { inputTokens: { noCache: 10, cacheRead: 5, cacheWrite: 2 }, outputTokens: { text: 3, reasoning: 4 } },
      },
    ],
  ])
  const { runtime, clock } = await open()
  expect(await after(runtime.session('s').turn({ model: aiModel(model), message: 'a' }).outcome, clock)).toMatchObject({
    value: { value: { usage: { inputTokens: 17, outputTokens: 7, cachedTokens: 5, reasoningTokens: 4 } } },
  })
})

test('SESS-11 TOOL-3: usage is counted for a model named like a property of Object.prototype', async () => {
  const model = scriptedModel(
    [{ when: 'sum', say: 'short', usage: { inputTokens: 5, outputTokens: 1 } }, { call: { name: 'odd' } }, 'ok'],
    {
      name: 'toString',
      price: { input: 1, output: 1 },
    },
  )
  const odd = tool({
    name: 'odd',
    description: 'd',
    input,
    onCrash: 'rerun',
    execute: async (_, ctx) => (await ctx.complete('sum')).text,
  })
  const { runtime, clock } = await open({ tools: [odd], models: [model] })
  const session = runtime.session('s')
  const ended = await after(session.turn({ model, message: 'Go' }).outcome, clock)
  expect(ended).toMatchObject({ value: { status: 'success', value: { usage: { cost: expect.any(Number) } } } })
  const { total, tools, models } = await session.usage()
  expect(tools.odd).toMatchObject({ inputTokens: 5, times: 1 })
  expect(models.toString).toMatchObject({ times: 3 })
  expect(total.times).toBe(3)
})

describe('scriptedModel', () => {
  test('SESS-2: a global regular expression matches on every request', async () => {
    const model = scriptedModel([{ when: /go/g, say: 'yes' }, 'in order', 'next'])
    const { runtime, clock } = await open()
    for (const _ of '12')
      expect(await after(runtime.session('s').turn({ model, message: 'go' }).outcome, clock)).toMatchObject({
        value: { value: { text: 'yes' } },
      })
  })

  test('SESS-2: a script line returned by a function fails as often as it specifies', async () => {
    const model = scriptedModel([() => ({ say: 'x', fails: { times: 2 } })])
    const { runtime, clock } = await open()
    expect(await after(runtime.session('s').turn({ model, message: 'go' }).outcome, clock)).toMatchObject({
      value: { value: { text: 'x' } },
    })
    expect(model.asked).toBe(3)
  })

  test('SESS-2 SESS-10: a script continues at its position after compaction', async () => {
    const model = scriptedModel([{ when: 'User:', say: 'Summary' }, 'one', 'two', 'three', 'four'])
    const { runtime, clock } = await open()
    const said: string[] = []
    for (const _ of '1234') {
      const turn = runtime.session('s').turn({ model, message: 'x'.repeat(300), limits: { historyTokens: 400 } })
      said.push(((await after(turn.outcome, clock)) as any).value.value.text)
    }
    expect((await runtime.session('s').messages.list()).map(({ message: { role } }) => role)).toContain('summary')
    expect(said).toEqual(['one', 'two', 'three', 'four'])
  })

  test('SESS-2: two scripts in one session keep their own positions', async () => {
    const a = scriptedModel(['a1', 'a2'], { name: 'a' })
    const b = scriptedModel(['b1', 'b2'], { name: 'b' })
    const { runtime, clock } = await open()
    const said: string[] = []
    for (const model of [a, b, a, b]) {
      const ended = (await after(runtime.session('s').turn({ model, message: 'go' }).outcome, clock)) as any
      said.push(ended.value.value.text)
    }
    expect(said).toEqual(['a1', 'b1', 'a2', 'b2'])
  })
})

test('SESS-1: unknown or invalid limits and settings of a turn are rejected', async () => {
  const { runtime } = await open()
  const model = scriptedModel(['x'])
  for (const limits of [{ step: 3 }, { steps: 0 }, { time: 'x' }, null, 7])
    expect(
      () => runtime.session('s').turn({ model, message: 'x', limits: limits as never }),
      JSON.stringify(limits),
    ).toThrow(expect.objectContaining({ code: expect.stringMatching(/^(turn|config|duration)_invalid$/) }))
  for (const settings of [null, 'x', []])
    expect(
      () => runtime.session('s').turn({ model, message: 'x', settings: settings as never }),
      JSON.stringify(settings),
    ).toThrow(expect.objectContaining({ code: 'turn_invalid' }))
})

test('SESS-11: a model with an invalid price or context size is rejected', async () => {
  for (const more of [
    { price: { input: 3 } },
    { price: { input: Number.NaN, output: 1 } },
    { price: 7 },
    { contextTokens: 0 },
    { contextTokens: '200k' },
  ])
    await expect(
      createRuntime({ store: 'memory:', logger: quiet, models: [{ ...scriptedModel(['x']), ...(more as object) }] }),
      JSON.stringify(more),
    ).rejects.toMatchObject({ code: 'model_invalid' })
})

const runtimes = closedAfterEach()
/** A worker that `die` kills during its turn; `takeOver` opens a second one after its lease has expired. */
function turnWithDeath(fresh: Fresh, common: Partial<RuntimeOptions>) {
  const { clock, store } = fresh()
  const shared = keepOpen(store)
  const dying = mortal(shared)
  const options = { clock, logger: quiet, ...common }
  return {
    clock,
    die: () => dying.die(),
    async takeOver(turn: StartTurn, first: Partial<RuntimeOptions> = {}, second: Partial<RuntimeOptions> = first) {
      const worker = await createRuntime({ ...options, ...first, store: dying.store })
      ignoreOutcome(worker.session('s').turn(turn))
      await clock.advance('2m')
      const runtime = await createRuntime({ ...options, ...second, store: shared })
      runtimes.push(runtime)
      return runtime.session('s')
    },
  }
}
const hand = readOnlyTool('hand', () => result('ok', { control: { switchFrame: { frame: 'expert', task: 'Do it' } } }))
const look = readOnlyTool('look', () => 'x')

for (const [kind, fresh] of stores)
  describe(`frames, usage and capabilities on ${kind}`, () => {
    test('SESS-6 SESS-10: recovery resumes the frame of a turn, even across a compaction', async () => {
      const longLook = readOnlyTool('look', () => 'x'.repeat(3_000))
      const { clock, die, takeOver } = turnWithDeath(fresh, { tools: [hand, longLook] })
      let looks = 0
      const clerk = scriptedModel([{ when: /./, call: { name: 'hand' } }], { name: 'clerk' })
      const expert = scriptedModel(
        [
          { when: 'Assistant:', say: 'Summary' },
          () => {
            looks++
            if (looks === 4) die()
            return looks < 5 ? { call: { name: 'look' } } : 'Done'
          },
          ...Array.from({ length: 10 }, () => () => {
            looks++
            if (looks === 4) die()
            return looks < 6 ? { call: { name: 'look' } } : 'Done'
          }),
        ],
        { name: 'expert' },
      )
      const frames = [{ name: 'expert', model: expert, instructions: 'You are the expert.', tools: ['look'] }]
      const ask = { model: 'clerk', message: 'Go', id: 't', limits: { historyTokens: 1_000 } }
      const session = await takeOver(ask, { models: [clerk, expert], frames })
      const ended = await after(session.turn(ask).outcome, clock)
      expect(ended).toMatchObject({ value: { status: 'success', value: { text: 'Done' } } })
      expect(clerk.asked).toBe(1)
      expect(expert.requests.at(-1)?.instructions).toBe('You are the expert.')
      const roles = (await session.messages.list()).map(({ message: { role } }) => role)
      expect(roles).toContain('summary')
    })

    test('SESS-6: a turn whose frame no longer exists fails as frame_unknown', async () => {
      const { clock, die, takeOver } = turnWithDeath(fresh, { tools: [hand, look] })
      const model = scriptedModel(
        [
          { when: 'Go', call: { name: 'hand' } },
          { when: 'Do it', call: { name: 'look' } },
          { when: /./, say: 'Done' },
        ],
        {
          name: 'm',
          wait: async ({ answers }) => {
            if (answers === 1) die()
          },
        },
      )
      const models = [model]
      const ask = { model: 'm', message: 'Go', id: 't' }
      const session = await takeOver(ask, { models, frames: [{ name: 'expert', tools: ['look'] }] }, { models })
      expect(await after(session.turn(ask).outcome, clock)).toMatchObject({
        value: { failure: { code: 'frame_unknown' } },
      })
    })

    test('VAL-4: a recording contains no internal error details', async () => {
      const bad = simpleTool('bad', () => {
        throw new Error('postgres://admin:hunter2-hunter2@db')
      })
      const { runtime, clock } = await open({ tools: [bad] }, fresh)
      const session = runtime.session('s')
      await after(session.run([{ id: 'x', name: 'bad' }]), clock)
      expect(JSON.stringify(await session.recording())).not.toContain('hunter2')
    })

    test('SESS-11: usage of a turn that was cancelled because its model is missing is counted', async () => {
      const { clock, die, takeOver } = turnWithDeath(fresh, { tools: [look] })
      const model = scriptedModel([{ call: { name: 'look' }, usage: { inputTokens: 70, outputTokens: 7 } }, 'x'], {
        name: 'gone',
        wait: async ({ answers }) => {
          if (answers === 1) {
            die()
            await new Promise(() => {})
          }
        },
      })
      const session = await takeOver({ model, message: 'Go', id: 't' })
      await clock.advance('1m')
      await session.cancel('Enough')
      await clock.advance('1m')
      expect((await session.usage()).total).toMatchObject({ inputTokens: 70, outputTokens: 7, times: 1 })
    })

    test('SESS-1: erasing a session resets its capabilities', async () => {
      const { runtime, clock } = await open({ capabilities: [{ name: 'a' }] }, fresh)
      await runtime.session('s').capabilities.switchOn('a')
      await after(runtime.erase({ session: 's' }), clock)
      expect(await runtime.session('s').capabilities.list()).toEqual([])
    })
  })
