// The outside world of the examples: a payment provider and a mail server that remember in a file, as real ones remember elsewhere.
// Like real ones, the provider knows an idempotency key again and does not move the money twice.

import { appendFileSync, existsSync, readFileSync } from 'node:fs'

const ledger = process.env.LEDGER ?? 'outside.ledger'

interface Entry {
  readonly what: 'refund' | 'mail'
  readonly key?: string
  readonly id: string
}

export function entries(): Entry[] {
  if (!existsSync(ledger)) return []
  return readFileSync(ledger, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Entry)
}

const book = (entry: Entry): void => appendFileSync(ledger, `${JSON.stringify(entry)}\n`)

export const payments = {
  async find(order: string): Promise<{ id: string; email: string } | undefined> {
    return order.startsWith('A') ? { id: `ch_${order}`, email: 'ada@example.com' } : undefined
  },
  async refund(charge: string, cents: number, { idempotencyKey }: { idempotencyKey: string }): Promise<{ refund: string; cents: number }> {
    const refund = `re_${charge}`
    if (!entries().some(({ key }) => key === idempotencyKey)) book({ what: 'refund', key: idempotencyKey, id: refund })
    return { refund, cents }
  },
}

export const mail = {
  async send(to: string, text: string): Promise<void> {
    book({ what: 'mail', id: `${to}: ${text}` })
  },
}
