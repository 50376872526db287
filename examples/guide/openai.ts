// The code of docs/guide/openai.md. test/project/guide.test.ts runs it.

// oxlint-disable-next-line import/no-unassigned-import -- it stands for the provider's server
import './servers/fake-providers.ts'
import assert from 'node:assert/strict'
import { notice } from 'pawl'

// #region start
import OpenAI from 'openai'
import { createRuntime, tool } from 'pawl'
import { openaiTools, runOpenAI } from 'pawl/openai'
import { z } from 'zod'

const refund = tool({
  name: 'refund',
  description: 'Refunds an order',
  input: z.object({ order: z.string(), cents: z.number().int().positive() }),
  execute: async ({ order, cents }) => `Refunded ${cents} cents for order ${order}.`,
})

const runtime = await createRuntime({ store: 'sqlite:agent.db', tools: [refund] })
const session = runtime.session('chat-42')
const openai = new OpenAI()

const tools = openaiTools(session, { api: 'responses' })

let response = await openai.responses.create({ model: 'gpt-5', input: 'Please refund 5 euros for order A1.', tools })
for (;;) {
  const input = await runOpenAI(session, response)
  if (input.length === 0) break
  response = await openai.responses.create({ model: 'gpt-5', previous_response_id: response.id, input, tools })
}
console.log(response.output_text)
await runtime.close()
// #endregion
assert.equal(response.output_text, 'I read: Refunded 500 cents for order A1.')

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
  const tools = openaiTools(session, { api: 'responses' })
  const response = await openai.responses.create({ model: 'gpt-5', input: 'Refund A1', tools })
  // #region waiting
  const [placeholder] = await runOpenAI(session, response, { until: 'waiting' })
  assert.match(JSON.stringify(placeholder?.output), /\[Tool call waiting\]/) // send it to the model, and go on

  const [item] = await runtime.inbox({ tenant: session.tenant, session: session.id })
  await runtime.decide(item?.id ?? '', { approve: true, by: 'user:bea' }) // the person who is logged in

  const [result] = await runOpenAI(session, response) // the same response joins its calls
  const text = typeof result?.output === 'string' ? result.output : ''
  const told = notice({ callId: result?.call_id ?? '', name: 'refund', parts: [{ type: 'text', text }] })
  const next = { role: 'user' as const, content: told.map((part) => (part.type === 'text' ? part.text : '')).join('') }
  // #endregion
  assert.match(next.content, /^\[Runtime notice: .* that was waiting has ended\.\]\nRefunded A1\.$/)
  await runtime.close()
}
