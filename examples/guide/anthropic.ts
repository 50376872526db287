// The code of docs/guide/anthropic.md. test/project/guide.test.ts runs it.

// oxlint-disable-next-line import/no-unassigned-import -- it stands for the provider's server
import './servers/fake-providers.ts'
import assert from 'node:assert/strict'
import { notice } from 'pawl'

// #region start
import Anthropic from '@anthropic-ai/sdk'
import { createRuntime, tool } from 'pawl'
import { anthropicTools, runAnthropic } from 'pawl/anthropic'
import { z } from 'zod'

const refund = tool({
  name: 'refund',
  description: 'Refunds an order',
  input: z.object({ order: z.string(), cents: z.number().int().positive() }),
  execute: async ({ order, cents }) => `Refunded ${cents} cents for order ${order}.`,
})

const runtime = await createRuntime({ store: 'sqlite:agent.db', tools: [refund] })
const session = runtime.session('chat-42')
const anthropic = new Anthropic()

const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Please refund 5 euros for order A1.' }]
for (;;) {
  const tools = anthropicTools(session)
  const message = await anthropic.messages.create({ model: 'claude-sonnet-5-5', max_tokens: 1_024, messages, tools })
  messages.push({ role: 'assistant', content: message.content })
  const results = await runAnthropic(session, message)
  if (results.length === 0) {
    for (const block of message.content) if (block.type === 'text') console.log(block.text)
    break
  }
  messages.push({ role: 'user', content: results })
}
await runtime.close()
// #endregion
assert.deepEqual(messages.at(-2)?.content, [
  {
    type: 'tool_result',
    tool_use_id: 'call_1',
    content: [{ type: 'text', text: 'Refunded 500 cents for order A1.' }],
  },
])

await waiting()

async function waiting() {
  const careful = tool({
    name: 'refund',
    description: 'Refunds an order',
    input: z.object({ order: z.string(), cents: z.number().int().positive() }),
    hints: { destructive: true },
    execute: async ({ order }) => `Refunded ${order}.`,
  })
  const runtime = await createRuntime({ store: 'memory:', tools: [careful] })
  const session = runtime.session('chat-43')
  const message = await anthropic.messages.create({
    model: 'claude-sonnet-5-5',
    max_tokens: 1_024,
    messages: [{ role: 'user', content: 'Refund A1' }],
    tools: anthropicTools(session),
  })
  // #region waiting
  const [placeholder] = await runAnthropic(session, message, { until: 'waiting' })
  assert.match(JSON.stringify(placeholder?.content), /\[Tool call waiting\]/) // send it to the model, and go on

  const [item] = await runtime.inbox({ tenant: session.tenant, session: session.id })
  await runtime.decide(item?.id ?? '', { approve: true, by: 'user:bea' }) // the person who is logged in

  const [result] = await runAnthropic(session, message) // the same message joins its calls
  const texts = (result?.content ?? []).filter((block) => block.type === 'text')
  const told = notice({ callId: result?.tool_use_id ?? '', name: 'refund', parts: texts })
  const next = { role: 'user' as const, content: told.map((part) => (part.type === 'text' ? part.text : '')).join('') }
  // #endregion
  assert.match(next.content, /^\[Runtime notice: .* that was waiting has ended\.\]\nRefunded A1\.$/)
  await runtime.close()
}
