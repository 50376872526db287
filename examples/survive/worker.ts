// The worker of the demo: runs one refund and tells its parent how far it is. It is killed in the middle, and started again.

import { createRuntime, tool } from 'pawl'
import { z } from 'zod'
import { mail, payments } from '../outside.ts'

const tell = (step: string, phase: 'starts' | 'booked' | 'recorded'): void => void process.send?.({ step, phase })

/** Real work takes a while; here it takes this long. */
const takesTime = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 150))

async function slowly<T>(step: string, work: () => Promise<T>): Promise<T> {
  tell(step, 'starts')
  await takesTime()
  const result = await work()
  // The worst moment of all: it has happened outside, and nothing here has been told yet.
  tell(step, 'booked')
  await takesTime()
  return result
}

const refund = tool({
  name: 'refund',
  description: 'Refund an order',
  input: z.object({ order: z.string(), cents: z.number().int().positive() }),
  onCrash: 'rerun',
  async execute({ order, cents }, ctx) {
    const charge = await ctx.step('find charge', () => slowly('find charge', () => payments.find(order)))
    tell('find charge', 'recorded')
    if (!charge) return null
    const pay = (): ReturnType<typeof payments.refund> => payments.refund(charge.id, cents, { idempotencyKey: ctx.key('refund') })
    const done = await ctx.step('refund', () => slowly('refund', pay))
    tell('refund', 'recorded')
    const write = (): Promise<void> => mail.send(charge.email, `We refunded ${cents} cents.`, { idempotencyKey: ctx.key('receipt') })
    await ctx.step('send receipt', () => slowly('send receipt', write))
    tell('send receipt', 'recorded')
    return done
  },
})

const runtime = await createRuntime({ store: `sqlite:${process.env.STORE}`, tools: [refund] })
const call = { id: 'call_1', name: 'refund', input: { order: 'A1', cents: 4200 } }
const [outcome] = await runtime.session('demo').run([call], { batch: 'msg_1' })
await runtime.close()
process.send?.({ outcome })
process.disconnect?.()
