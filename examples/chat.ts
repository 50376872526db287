// The README's first example: a model that looks up an order, in one durable turn. Runs offline.

import { createRuntime, tool } from 'pawl'
import { scriptedModel } from 'pawl/testing'
import { z } from 'zod'

const lookUp = tool({
  name: 'look_up_order',
  description: 'Look up an order by its number',
  input: z.object({ order: z.string() }),
  hints: { readOnly: true },
  execute: ({ order }) => ({ order, cents: 4200, paid: true }),
})

// A scripted model needs no key. With the AI SDK: aiModel(openai('gpt-5')), where aiModel comes from 'pawl/ai-sdk'.
const model = scriptedModel([{ call: { name: 'look_up_order', input: { order: 'A1' } } }, 'Order A1 costs 42.00 €.'])

const runtime = await createRuntime({ store: 'sqlite:agent.db', tools: [lookUp], models: [model] })
const session = runtime.session('chat-42')
const { outcome } = session.turn({ id: 'msg-1', model, message: 'What did order A1 cost?' })
const answer = await outcome
console.log(answer.status === 'success' ? answer.value.text : answer)
await runtime.close()
