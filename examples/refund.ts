// The README example of durability: the money moves once, however often this program is killed and started.

import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { createRuntime, fail, tool } from 'pawl'
import { z } from 'zod'

// Stand-ins for real services. Like them, they do nothing if they have seen the idempotency key before.
interface Once {
  idempotencyKey: string
}
function book(what: string, { idempotencyKey: key }: Once) {
  const ledger = existsSync('outside.ledger') ? readFileSync('outside.ledger', 'utf8') : ''
  if (!ledger.includes(key)) appendFileSync('outside.ledger', `${JSON.stringify({ what, key })}\n`)
}
const payments = {
  async find(order: string) {
    return order.startsWith('A') ? { id: `ch_${order}`, email: 'ada@example.com' } : undefined
  },
  async refund(charge: string, cents: number, once: Once) {
    book('refund', once)
    return { refund: `re_${charge}`, cents }
  },
}
const mail = {
  async send(to: string, text: string, once: Once) {
    book('mail', once)
    return `${to}: ${text}`
  },
}

const refund = tool({
  name: 'refund',
  description: 'Refund an order',
  input: z.object({ order: z.string(), cents: z.number().int().positive() }),
  onCrash: 'rerun', // safe: every effect is in a recorded step
  async execute({ order, cents }, ctx) {
    const charge = await ctx.step('find', () => payments.find(order))
    if (!charge) throw fail(`No charge for order ${order}`, { code: 'not_found' })
    const done = await ctx.step('refund', () =>
      payments.refund(charge.id, cents, { idempotencyKey: ctx.key('refund') }),
    )
    await ctx.step('receipt', () =>
      mail.send(charge.email, `Refunded: ${cents} cents`, { idempotencyKey: ctx.key('receipt') }),
    )
    return done
  },
})

const runtime = await createRuntime({ store: 'sqlite:agent.db', tools: [refund] })
const session = runtime.session('chat-42')
const [outcome] = await session.run([{ id: 'call_1', name: 'refund', input: { order: 'A1', cents: 4200 } }], {
  batch: 'msg_7',
})
console.log(outcome?.status, outcome?.parts)
await runtime.close()
