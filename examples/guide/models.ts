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
