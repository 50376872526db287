// The external services of the demo: a payment provider, a mail server and a warehouse, each backed by a ledger file.
// Like real services they deduplicate by idempotency key: no money moves twice, and no mail is sent twice.

import { appendFileSync, existsSync, readFileSync } from 'node:fs'

const ledger = (): string => process.env.LEDGER ?? 'outside.ledger'

export interface Entry {
  readonly what: 'refund' | 'mail' | 'asked' | 'page'
  readonly key?: string
  readonly id: string
}

const read = (file: string): Entry[] => {
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Entry)
}

/** Effects that took place. */
export const entries = (): Entry[] => read(ledger())

/** Repeated requests: their idempotency key was already in the ledger, so nothing happened. */
export const repeats = (): Entry[] => read(`${ledger()}.again`)

/** Appends an entry, or records a repeat if its idempotency key is already in the ledger. */
function book(entry: Entry): { readonly isRepeated: boolean } {
  const known = entry.key !== undefined && entries().some(({ key }) => key === entry.key)
  appendFileSync(known ? `${ledger()}.again` : ledger(), `${JSON.stringify(entry)}\n`)
  return { isRepeated: known }
}

export const payments = {
  async find(order: string): Promise<{ id: string; email: string } | undefined> {
    return order.startsWith('A') ? { id: `ch_${order}`, email: 'ada@example.com' } : undefined
  },
  async refund(
    charge: string,
    cents: number,
    { idempotencyKey }: { idempotencyKey: string },
  ): Promise<{ refund: string; cents: number; note?: string }> {
    const refund = `re_${charge}`
    const { isRepeated } = book({ what: 'refund', key: idempotencyKey, id: refund })
    return { refund, cents, ...(isRepeated ? { note: 'asked twice with the same key: paid once' } : {}) }
  },
}

export const mail = {
  async send(to: string, text: string, { idempotencyKey }: { idempotencyKey: string }): Promise<void> {
    book({ what: 'mail', key: idempotencyKey, id: `${to}: ${text}` })
  },
}

export const warehouse = {
  /** Answers 'busy' to the first request for an order, to make the tool retry. */
  async order(order: string): Promise<{ order: string; cents: number; state: string } | 'busy'> {
    const before = entries().some(({ what, id }) => what === 'asked' && id === order)
    book({ what: 'asked', id: order })
    return before ? { order, cents: 4200, state: 'delivered, reported broken' } : 'busy'
  },
  /** One page of a customer's orders. The warehouse charges for each page. */
  async page(customer: string, page: number, { idempotencyKey }: { idempotencyKey: string }): Promise<string> {
    book({ what: 'page', key: idempotencyKey, id: `${customer}, page ${page}` })
    return Array.from({ length: 5 }, (_, row) => `A${page * 5 + row},${customer},${1000 + 100 * row}`).join('\n')
  },
}
