// The tools of the support desk: a look-up that is busy at first, a refund that needs approval, and a slow export.

import { z } from 'zod'
import { systemClock } from '../../core/clock.ts'
import { fail, retry, narrate, tool } from '../../index.ts'
import { pages } from './check-ledger.ts'
import { die } from './kill-points.ts'
import { mail, payments, warehouse } from './services.ts'

export const takes = (ms: number): Promise<void> => new Promise((resolve) => void systemClock.timer(ms, resolve))
const money = (cents: number): string => `${(cents / 100).toFixed(2)} €`

export const lookUp = tool({
  name: 'look_up_order',
  title: 'Look up an order',
  description: 'Returns the amount and the state of an order.',
  input: z.object({ order: z.string() }),
  hints: { readOnly: true },
  narrate: narrate(
    { en: { started: 'Looking up order {}', completed: 'Looked up order {}', failed: 'Could not look up order {}' } },
    ({ order }) => order,
  ),
  async execute({ order }) {
    const found = await warehouse.order(order)
    if (found === 'busy') throw retry({ message: 'The warehouse is busy', after: '300ms' })
    return found
  },
})

export const refund = tool({
  name: 'refund',
  title: 'Refund an order',
  description: 'Refunds an order and notifies the customer by mail.',
  input: z.object({ order: z.string(), cents: z.number().int().positive() }),
  hints: { destructive: true }, // needs the approval of a person
  onCrash: 'rerun', // safe: the effects are recorded steps with idempotency keys
  narrate: narrate(
    { en: { started: 'Refunding order {}', completed: 'Refunded order {}', failed: 'Did not refund order {}' } },
    ({ order }) => order,
  ),
  preview: ({ order, cents }) => `Refund ${money(cents)} for order ${order}.`,
  async execute({ order, cents }, ctx) {
    const charge = await ctx.step('find charge', () => payments.find(order))
    if (!charge) throw fail(`There is no charge for order ${order}`, { code: 'no_charge' })
    const done = await ctx.step('refund', async () => {
      const moved = await payments.refund(charge.id, cents, { idempotencyKey: ctx.key('refund') })
      die('refund') // The worst moment: the money has moved, and the step is not recorded yet.
      return moved
    })
    await ctx.step('mail', () =>
      mail.send(charge.email, `We refunded ${money(cents)}.`, { idempotencyKey: ctx.key('mail') }),
    )
    return { refunded: true, ...done }
  },
})

/** The worker is killed at this page of the export. */
const crashPage = 3

export const exportOrders = tool({
  name: 'export_orders',
  title: 'Export orders',
  description: 'Writes all orders of a customer to a file. Takes a while: run it in the background.',
  input: z.object({ customer: z.string() }),
  hints: { idempotent: true },
  background: true,
  narrate: narrate(
    {
      en: {
        started: 'Exporting orders of {}',
        completed: 'Exported orders of {}',
        failed: 'Could not export orders of {}',
      },
    },
    ({ customer }) => customer,
  ),
  async execute({ customer }, ctx) {
    const rows: string[] = []
    for (let page = 0; page < pages; page++) {
      const name = `page ${page}`
      const got = await ctx.step(name, async () => {
        await takes(150)
        const found = await warehouse.page(customer, page, { idempotencyKey: ctx.key(name) })
        if (page === crashPage) die('export') // The page is paid for, and not recorded yet.
        return found
      })
      rows.push(got)
      ctx.progress({ current: page + 1, total: pages, unit: 'pages' })
    }
    const path = `/exports/${customer}.csv`
    await ctx.files.write(path, `order,customer,cents\n${rows.join('\n')}\n`)
    await ctx.task?.artifact({ name: 'orders', path })
    return { path, orders: rows.join('\n').split('\n').length }
  },
})
