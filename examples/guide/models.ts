// The code of docs/guide/models.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { createRuntime, type Model, ModelFailure, tool } from 'pawl'
import { aiModel } from 'pawl/ai-sdk'
import { scriptedModel } from 'pawl/testing'
import { z } from 'zod'

const usage = {
  inputTokens: { total: 9, noCache: 9, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 2, text: 2, reasoning: 0 },
}
const languageModel = new MockLanguageModelV4({
  provider: 'example',
  modelId: 'large',
  doStream: async () => ({
    stream: simulateReadableStream({
      chunks: [
        { type: 'text-start', id: '1' },
        { type: 'text-delta', id: '1', delta: 'Hello, Ada.' },
        { type: 'text-end', id: '1' },
        { type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage },
      ],
    }),
  }),
})

// #region ai-sdk
const model = aiModel(languageModel, { contextTokens: 200_000, price: { input: 3, output: 15, cached: 0.3 } })
const runtime = await createRuntime({ store: 'memory:', models: [model] })
const hello = await runtime.session('s').turn({ model: 'example/large', message: 'Hi, I am Ada.' }).outcome
assert.equal(hello.status === 'success' && hello.value.text, 'Hello, Ada.')
// #endregion
await runtime.close()

const searchingModel = new MockLanguageModelV4({
  provider: 'anthropic.messages',
  modelId: 'claude',
  doStream: async () => ({
    stream: simulateReadableStream({
      chunks: [
        {
          type: 'tool-call',
          toolCallId: 's1',
          toolName: 'web_search',
          input: '{"query":"Rome"}',
          providerExecuted: true,
        },
        { type: 'tool-result', toolCallId: 's1', toolName: 'web_search', result: [{ url: 'https://example.org' }] },
        { type: 'source', sourceType: 'url', id: 'u1', url: 'https://example.org', title: 'Rome' },
        { type: 'text-start', id: '1' },
        { type: 'text-delta', id: '1', delta: 'It rains in Rome.' },
        { type: 'text-end', id: '1' },
        { type: 'finish', finishReason: { unified: 'stop', raw: 'end_turn' }, usage },
      ],
    }),
  }),
})
const web = await createRuntime({ store: 'memory:', models: [aiModel(searchingModel, { name: 'claude' })] })

// #region provider-tools
const news = web.session('news')
await news.turn({
  model: 'claude',
  message: 'How is the weather in Rome?',
  settings: {
    providerTools: [{ id: 'anthropic.web_search_20250305', name: 'web_search', args: { maxUses: 3 } }],
  },
}).outcome
for (const { message } of await news.messages.list())
  for (const part of message.role === 'assistant' ? message.parts : []) {
    if (part.type === 'provider_call') console.log(part.name, part.input) // web_search {"query":"Rome"}
    if (part.type === 'provider_result') console.log(part.output, part.failed ?? false)
    if (part.type === 'source') console.log(part.title, part.url) // Rome https://example.org
  }
// #endregion
await web.close()

// #region scripted
const scripted = scriptedModel([
  { when: 'refund', say: 'I ask somebody.', call: { name: 'refund', input: { order: 'A1' } } },
  'Hello!', // the first answer that no `when` is about
  ({ last }) => `You said: ${last}`,
])
// #endregion
assert.equal(scripted.asked, 0)

// #region own
const echo: Model = {
  name: 'echo',
  async generate({ request, signal, told }) {
    signal.throwIfAborted()
    const last = request.messages.at(-1)
    if (last?.role !== 'user') throw new ModelFailure('it is not spoken to', { retryable: false })
    const text = last.parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
    told({ type: 'text', delta: text }) // reaches whoever reads the feed with { live: true }
    return {
      parts: [{ type: 'text', text }],
      finish: 'stop',
      usage: { inputTokens: 1, outputTokens: 1, cachedTokens: 0, reasoningTokens: 0 },
    }
  },
}
// #endregion

// #region complete
const sumUp = tool({
  name: 'sum_up',
  description: 'Sum a text up',
  input: z.object({ text: z.string() }),
  onCrash: 'rerun',
  async execute({ text }, ctx) {
    const { text: short, usage: paid } = await ctx.complete({ prompt: text, instructions: 'Sum it up.', model: 'echo' })
    ctx.log.info('Summed up', { tokens: paid.outputTokens })
    return short
  },
})
// #endregion
const asking = await createRuntime({
  store: 'memory:',
  tools: [sumUp],
  models: [echo],
  logger: { debug() {}, info() {}, warn() {}, error() {} },
})
const summed = await asking.session('s').call(sumUp, { text: 'A long text' }).outcome
assert.equal(summed.status === 'success' && summed.value, 'A long text')
await asking.close()
