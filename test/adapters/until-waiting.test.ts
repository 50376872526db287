// until: 'waiting' in every adapter, with the real SDKs: a call that waits for a person or the outside has a placeholder
// result at once, and the same request later joins the call.

import Anthropic from '@anthropic-ai/sdk'
import { generateText, isStepCount, jsonSchema, streamText, tool as aiTool, type ToolSet } from 'ai'
import OpenAI from 'openai'
import { createRuntime, type Runtime, type Session, type Tool, tool } from 'pawl'
import { aiTools, pawlTools, wrapTools } from 'pawl/ai-sdk'
import { anthropicTools, runAnthropic } from 'pawl/anthropic'
import { openaiTools, runOpenAI } from 'pawl/openai'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { providerServer, type ProviderServer, type Reply } from '../kit/models/provider-server.ts'
import { resultsShown, scripted } from '../kit/models/scripted-sdk-model.ts'

type Ask = [id: string, name: string, input: object]
interface How {
  readonly until?: 'settled' | 'waiting'
  readonly signal?: AbortSignal
}

const open: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.close()
})

const serve = async (...replies: Reply[]): Promise<ProviderServer> => {
  const server = await providerServer(() => [], replies)
  open.push(server)
  return server
}

/** The existing SDK tool that wrapTools() wraps. */
const wrapped = (paid: string[]) => ({
  refund: aiTool({
    description: 'Refunds',
    inputSchema: jsonSchema<{ order: string }>({ type: 'object', properties: { order: { type: 'string' } } }),
    execute: async ({ order }) => (paid.push(order), { refunded: order }),
    toModelOutput: ({ output }) => ({ type: 'text', value: `{"refunded":"${output.refunded}"}` }),
  }),
})

async function start() {
  const paid: string[] = []
  const keys: string[] = []
  const lines: [string, unknown][] = []
  const sdk = wrapped(paid)
  const tools: Tool[] = [
    ...pawlTools(sdk, { refund: { hints: { destructive: true } } }),
    tool({
      name: 'add',
      description: 'Adds',
      input: z.object({ a: z.number() }),
      execute: ({ a }) => ({ sum: a + 1 }),
    }),
    tool({
      name: 'question',
      description: 'Asks a person',
      input: z.object({}),
      execute: (_, ctx) => ctx.ask({ text: 'Which size?' }),
    }),
    tool({
      name: 'webhook',
      description: 'Waits for a webhook',
      input: z.object({}),
      async execute(_, ctx) {
        const later = await ctx.later()
        keys.push(later.key)
        return later
      },
    }),
  ]
  const info = (message: string, fields: unknown): void => void lines.push([message, fields])
  const runtime = await createRuntime({ store: 'memory:', tools, logger: { debug() {}, info, warn() {}, error() {} } })
  open.push({ close: () => runtime.close({ grace: 0 }) })
  return { runtime, session: runtime.session('s'), sdk, paid, keys, lines }
}
type Started = Awaited<ReturnType<typeof start>>

/** What the model reads as the result of each call. */
type Adapter = (started: Started, calls: readonly Ask[], how: How) => Promise<[string, string][]>

const sdkTools = ({ session, sdk }: Started, how: How, wraps: boolean): ToolSet => {
  const { until } = how
  const options = until ? { until } : {}
  return wraps ? { ...aiTools(session, options), ...wrapTools(session, sdk, options) } : aiTools(session, options)
}

const toModel = (prompts: Parameters<typeof resultsShown>[0]): [string, string][] =>
  resultsShown(prompts).map(([id, output]) => [id, (output as { value: string }).value])

const viaGenerate =
  (wraps: boolean): Adapter =>
  async (started, calls, how) => {
    const model = scripted(calls.map(([id, name, input]) => [id, name, JSON.stringify(input)]))
    const abortSignal = how.signal ? { abortSignal: how.signal } : {}
    await generateText({ model, prompt: 'Go', tools: sdkTools(started, how, wraps), stopWhen: isStepCount(2), ...abortSignal }) // prettier-ignore
    return toModel(model.doGenerateCalls)
  }

const viaStream: Adapter = async (started, calls, how) => {
  const model = scripted(calls.map(([id, name, input]) => [id, name, JSON.stringify(input)]))
  const abortSignal = how.signal ? { abortSignal: how.signal } : {}
  const tools = sdkTools(started, how, true)
  await streamText({ model, prompt: 'Go', tools, stopWhen: isStepCount(2), ...abortSignal }).consumeStream()
  return toModel(model.doStreamCalls)
}

const viaChat: Adapter = async ({ session }, calls, how) => {
  const asked = calls.map(([id, name, input]) => ({ id, type: 'function', function: { name, arguments: JSON.stringify(input) } })) // prettier-ignore
  const message = { role: 'assistant', content: null, tool_calls: asked }
  const choice = { index: 0, finish_reason: 'tool_calls', message, logprobs: null }
  const body = { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm', choices: [choice] }
  const server = await serve({ status: 200, body }, { status: 200, body: { ...body, choices: [] } })
  const client = new OpenAI({ baseURL: server.url, apiKey: 'x' })
  const messages: OpenAI.Chat.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Go' }]
  const request = { model: 'm', messages, tools: openaiTools(session, { api: 'chat' }) }
  const completion = await client.chat.completions.create(request)
  messages.push(
    ...completion.choices.map(({ message: answer }) => answer),
    ...(await runOpenAI(session, completion, how)),
  )
  await client.chat.completions.create(request)
  return server.asked[1].messages.slice(2).map((each: never) => [each['tool_call_id'], each['content']])
}

const viaResponses: Adapter = async ({ session }, calls, how) => {
  const output = calls.map(([id, name, input]) => ({ type: 'function_call', id: `fc_${id}`, call_id: id, name, arguments: JSON.stringify(input), status: 'completed' })) // prettier-ignore
  const body = { id: 'resp_1', object: 'response', status: 'completed', output }
  const server = await serve({ status: 200, body }, { status: 200, body: { ...body, output: [] } })
  const client = new OpenAI({ baseURL: server.url, apiKey: 'x' })
  const tools = openaiTools(session, { api: 'responses' })
  const response = await client.responses.create({ model: 'm', input: 'Go', tools })
  const input = await runOpenAI(session, response, how)
  await client.responses.create({ model: 'm', previous_response_id: response.id, input, tools })
  return server.asked[1].input.map((each: never) => [each['call_id'], each['output']])
}

const viaAnthropic: Adapter = async ({ session }, calls, how) => {
  const content = calls.map(([id, name, input]) => ({ type: 'tool_use', id, name, input }))
  const body = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'tool_use', content, usage: {} } // prettier-ignore
  const server = await serve({ status: 200, body }, { status: 200, body: { ...body, content: [] } })
  const client = new Anthropic({ baseURL: server.url.replace('/v1', ''), apiKey: 'x' })
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Go' }]
  const request = { model: 'm', max_tokens: 100, messages, tools: anthropicTools(session) }
  const message = await client.messages.create(request)
  const results = await runAnthropic(session, message, how)
  messages.push({ role: 'assistant', content: message.content }, { role: 'user', content: results })
  await client.messages.create(request)
  return server.asked[1].messages[2].content.map((each: never) => [each['tool_use_id'], each['content'][0]['text']])
}

const adapters: Record<string, Adapter> = {
  'aiTools in generateText': viaGenerate(false),
  'wrapTools in generateText': viaGenerate(true),
  'wrapTools in streamText': viaStream,
  'runOpenAI for chat completions': viaChat,
  'runOpenAI for responses': viaResponses,
  runAnthropic: viaAnthropic,
}

const placeholder = (why: string): string =>
  `[Tool call waiting]\n${why} Continue without it and do not repeat the call: its result will arrive in a notice from the runtime.`

const calls: Ask[] = [
  ['c1', 'add', { a: 1 }],
  ['c2', 'refund', { order: 'A1' }],
  ['c3', 'question', {}],
  ['c4', 'webhook', {}],
]

async function inboxItem(runtime: Runtime, kind: 'approval' | 'question'): Promise<string> {
  const [item] = await runtime.inbox({ kind })
  return item?.id ?? ''
}

describe.each(Object.entries(adapters))('%s', (_, run) => {
  test("POL-7: with until: 'waiting' calls that wait have a placeholder, and the same request later joins them", async () => {
    const started = await start()
    const { runtime, paid, keys, lines } = started
    const first = await run(started, calls, { until: 'waiting' })
    expect(Object.fromEntries(first)).toEqual({
      c1: '{"sum":2}',
      c2: placeholder('It waits for the approval of a person and has not run.'),
      c3: placeholder('It waits for the answer of a person.'),
      c4: placeholder('It waits for something outside.'),
    })
    expect(paid).toEqual([])
    expect(lines.filter(([message]) => message === 'A call waits for approval')).toEqual([
      ['A call waits for approval', expect.objectContaining({ tool: 'refund', callId: 'c2' })],
    ])

    await runtime.decide(await inboxItem(runtime, 'approval'), { approve: true, by: 'user:bea' })
    await runtime.decide(await inboxItem(runtime, 'question'), { answer: 'M', by: 'user:bea' })
    await runtime.resolve(keys[0] ?? '', { value: { tracking: 'T1' } })
    const later = await run(started, calls, { until: 'settled' })
    expect(Object.fromEntries(later)).toEqual({
      c1: '{"sum":2}',
      c2: '{"refunded":"A1"}',
      c3: expect.stringContaining('"M"'),
      c4: '{"tracking":"T1"}',
    })
    expect(paid).toEqual(['A1'])
    expect(keys).toHaveLength(1)
  })

  test('POL-7: the end of the request does not cancel a call that waits', async () => {
    const started = await start()
    const { runtime, session, paid } = started
    const request = new AbortController()
    await run(started, [['c2', 'refund', { order: 'A1' }]], { until: 'waiting', signal: request.signal })
    request.abort(new Error('The browser went away'))
    await runtime.decide(await inboxItem(runtime, 'approval'), { approve: true, by: 'user:bea' })
    await expect.poll(() => paid).toEqual(['A1'])
    expect(await statuses(session)).toEqual(['success'])
  })

  test('TIME-3: an abort before a call waits cancels it', async () => {
    const started = await start()
    const request = new AbortController()
    request.abort(new Error('The browser went away'))
    await run(started, [['c2', 'refund', { order: 'A1' }]], { until: 'waiting', signal: request.signal }).catch(
      () => {},
    )
    expect(await started.runtime.inbox()).toEqual([])
  })

  test('POL-2: without until the adapter waits for the decision', async () => {
    const started = await start()
    const done = run(started, [['c2', 'refund', { order: 'A1' }]], {})
    await expect.poll(() => started.lines.map(([message]) => message)).toContain('A call waits for approval')
    await started.runtime.decide(await inboxItem(started.runtime, 'approval'), {
      deny: true,
      reason: 'No',
      by: 'user:bea',
    })
    expect((await done)[0]?.[1]).toMatch(/^\[Tool execution failed\]\nA person denied this call: No\./)
    expect(started.paid).toEqual([])
  })
})

const statuses = async (session: Session): Promise<unknown[]> => {
  await expect.poll(async () => (await session.calls.list()).every(({ outcome }) => outcome)).toBe(true)
  return (await session.calls.list()).map(({ outcome }) => outcome?.status)
}
