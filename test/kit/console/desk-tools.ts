// Tools of a support desk, for the tests and the screenshots of the console.

import { fail, retry, type Tool, tool } from 'pawl'
import { z } from 'zod'

/** `hangs`: called in the middle of an export or a charge, which then never ends. Its worker is to be killed. */
export function deskTools(hangs?: () => void): Tool[] {
  let busy = true
  return [
    tool({
      name: 'look_up_order',
      title: 'Look up an order',
      description: 'Returns the amount and the state of an order.',
      input: z.object({ order: z.string().describe('Number of the order, such as A1') }),
      hints: { readOnly: true },
      execute({ order }) {
        if (order === 'A1' && busy) {
          busy = false
          throw retry({ message: 'The warehouse is busy', after: '300ms' })
        }
        return order.startsWith('A') ? { order, cents: 4200, state: 'delivered' } : fail(`There is no order ${order}`)
      },
    }),
    tool({
      name: 'refund',
      title: 'Refund an order',
      description: 'Refunds an order and notifies the customer by mail.',
      input: z.object({
        order: z.string().describe('Number of the order'),
        cents: z.number().int().positive().describe('Amount in cents'),
        reason: z.enum(['broken', 'late', 'other']).optional(),
        notify: z.boolean().optional().describe('Also write a mail to the customer'),
      }),
      hints: { destructive: true },
      preview: ({ order, cents }) => `Refund ${(cents / 100).toFixed(2)} € for order ${order}.`,
      execute: ({ order, cents }) => ({ refunded: cents, charge: `ch_${order}` }),
    }),
    tool({
      name: 'change_address',
      title: 'Change a delivery address',
      description: 'Changes the address of an order that is not sent yet.',
      input: z.object({ order: z.string(), to: z.string() }),
      hints: { destructive: true },
      preview: ({ order, to }) => ({
        summary: `Send order ${order} to another address.`,
        details: `- 1 Old Street, Springfield\n+ ${to}`,
        format: 'diff',
      }),
      execute: ({ to }) => ({ to }),
    }),
    tool({
      name: 'choose_voucher',
      title: 'Choose a voucher',
      description: 'Asks a colleague which voucher fits.',
      input: z.object({ customer: z.string() }),
      onCrash: 'rerun',
      execute: ({ customer }, ctx) =>
        ctx.ask({ text: `Which voucher should ${customer} get?`, choices: ['5 €', '10 €', 'none'], default: '5 €' }),
    }),
    tool({
      name: 'charge_card',
      title: 'Charge a card',
      description: 'Charges the card of a customer. Nothing says whether a charge was made.',
      input: z.object({ customer: z.string() }),
      onUnknown: 'ask',
      async execute({ customer }) {
        if (!hangs) return { charged: customer }
        hangs()
        return new Promise<never>(() => {})
      },
    }),
    tool({
      name: 'export_orders',
      title: 'Export orders',
      description: 'Writes all orders of a customer to a file.',
      input: z.object({ customer: z.string() }),
      hints: { idempotent: true },
      onCrash: 'rerun',
      background: true,
      async execute({ customer }, ctx) {
        const pages: string[] = []
        for (let page = 1; page <= 3; page++) {
          pages.push(await ctx.step(`page ${page}`, () => `${customer} ${page}`))
          ctx.progress({ current: page, total: 3, unit: 'pages' })
          if (page === 2 && hangs) {
            hangs()
            await new Promise(() => {})
          }
        }
        return { pages: pages.length }
      },
    }),
  ]
}
