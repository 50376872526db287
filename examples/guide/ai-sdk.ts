// The code of docs/guide/ai-sdk.md. test/project/guide.test.ts runs it.

// oxlint-disable-next-line import/no-unassigned-import -- it stands for the provider's server
import './servers/fake-providers.ts'
import assert from 'node:assert/strict'
import { jsonSchema, tool as aiTool } from 'ai'
import { notice, type OpenCall } from 'pawl'
import { pawlTools, wrapTools } from 'pawl/ai-sdk'

// #region start
import { anthropic } from '@ai-sdk/anthropic'
import { generateText, isStepCount } from 'ai'
import { createRuntime, tool } from 'pawl'
import { aiTools, isLost } from 'pawl/ai-sdk'
import { z } from 'zod'

const refund = tool({
  name: 'refund',
  description: 'Refunds an order',
  input: z.object({ order: z.string(), cents: z.number().int().positive() }),
  execute: async ({ order, cents }) => `Refunded ${cents} cents for order ${order}.`,
})

const runtime = await createRuntime({ store: 'sqlite:agent.db', tools: [refund] })
const session = runtime.session('chat-42')

const { text } = await generateText({
  model: anthropic('claude-sonnet-5-5'),
  prompt: 'Please refund 5 euros for order A1.',
  tools: aiTools(session),
  stopWhen: [isStepCount(10), isLost],
})
console.log(text)
await runtime.close()
// #endregion
assert.equal(text, 'I read: Refunded 500 cents for order A1.')

const model = anthropic('claude-sonnet-5-5')
await existingTools()
await waiting()
await generators()

async function existingTools() {
  const shop = { refund: async (order: string, cents: number) => `${order}: ${cents}` }
  // #region existing
  const existing = {
    refund: aiTool({
      description: 'Refunds an order',
      inputSchema: z.object({ order: z.string(), cents: z.number() }),
      execute: async ({ order, cents }) => shop.refund(order, cents),
    }),
  }
  const runtime = await createRuntime({
    store: 'sqlite:agent.db',
    tools: pawlTools(existing, { refund: { onCrash: 'stop', timeout: '30s' } }), // options that the SDK does not have
  })
  const tools = wrapTools(runtime.session('chat-43'), existing) // has the type of `existing`
  const result = await generateText({ model, prompt: 'Refund A1', tools, stopWhen: [isStepCount(10), isLost] })
  // #endregion
  assert.equal(result.text, 'I read: A1: 500')
  await runtime.close()
}

async function waiting() {
  const careful = tool({ ...refundDefinition(), hints: { destructive: true } })
  const runtime = await createRuntime({ store: 'memory:', tools: [careful] })
  const session = runtime.session('chat-44')
  // #region waiting
  const tools = aiTools(session, { until: 'waiting' })
  const messages = [{ role: 'user' as const, content: 'Please refund 5 euros for order A1.' }]
  const answer = await generateText({ model, messages, tools, stopWhen: [isStepCount(10), isLost] })
  // The model read "[Tool call waiting] It waits for the approval of a person …"; the program gets the open call.
  const [call] = answer.steps.flatMap(({ toolResults }) => toolResults)
  const open = call?.output as OpenCall
  assert.equal(open.status === 'waiting' && open.for, 'approval')
  // #endregion
  assert.ok(call)

  // #region later
  const [item] = await runtime.inbox({ tenant: session.tenant, session: session.id })
  await runtime.decide(item?.id ?? '', { approve: true, by: 'user:bea' }) // the person who is logged in

  // The same call again joins the first one: the same `toolCallId` and input.
  const value = await aiTools(session).refund?.execute(call.input, { toolCallId: call.toolCallId, messages: [] })
  const told = notice({ callId: call.toolCallId, name: 'refund', parts: [{ type: 'text', text: String(value) }] })
  const content = told.map((part) => (part.type === 'text' ? part.text : '')).join('')
  const history = [...messages, ...answer.responseMessages, { role: 'user' as const, content }]
  const last = await generateText({ model, messages: history, tools, stopWhen: [isStepCount(10), isLost] })
  // #endregion
  assert.equal(last.text, 'Thank you, it is done.')
  assert.equal((await session.calls.list()).length, 1)
  await runtime.close()
}

function refundDefinition() {
  return {
    name: 'refund',
    description: 'Refunds an order',
    input: z.object({ order: z.string(), cents: z.number().int().positive() }),
    execute: async ({ order, cents }: { order: string; cents: number }) =>
      `Refunded ${cents} cents for order ${order}.`,
  }
}

async function generators() {
  // #region generator
  const steps = {
    steps: aiTool({
      description: 'Counts',
      inputSchema: jsonSchema({ type: 'object', properties: {} }),
      async *execute() {
        yield { done: 1, of: 2 } // a preliminary result, and progress in the feed
        yield { done: 2, of: 2 } // the last one is the result
      },
    }),
  }
  // #endregion
  const runtime = await createRuntime({ store: 'memory:', tools: pawlTools(steps) })
  const { finalStep } = await generateText({
    model,
    prompt: 'Count',
    tools: wrapTools(runtime.session('s'), steps),
    stopWhen: [isStepCount(1)],
  })
  assert.deepEqual(finalStep.toolResults[0]?.output, { done: 2, of: 2 })
  await runtime.close()
}
