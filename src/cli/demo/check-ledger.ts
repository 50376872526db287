// Audit at the end of the demo: compares the ledger of the external services with the recorded calls and the decisions.
// Every effect must have happened exactly once, and only if it was approved.

import type { Entry } from './services.ts'

/** A recorded call. */
export interface Done {
  readonly uid: string
  readonly tool: string
  readonly status: string
  readonly value: unknown
}

export interface Accounts {
  /** Ledger entries; the services deduplicate by idempotency key. */
  readonly entries: readonly Entry[]
  readonly done: readonly Done[]
  /** Decisions by call: true if a person approved it. */
  readonly decided: ReadonlyMap<string, boolean>
}

export const pages = 8

/** Returns the discrepancies; an empty list means that the ledger is correct. */
export function problems({ entries, done, decided }: Accounts): string[] {
  const wrong: string[] = []
  const of = (what: Entry['what']): readonly Entry[] => entries.filter((entry) => entry.what === what)
  const keys = entries.flatMap(({ key }) => key ?? [])
  if (new Set(keys).size !== keys.length) wrong.push('An idempotency key is in the ledger twice.')

  const refunds = done.filter(({ tool }) => tool === 'refund')
  const moved = refunds.filter(
    ({ status, value }) => status === 'success' && (value as { refunded?: boolean }).refunded === true,
  )
  for (const { uid, status } of refunds) {
    const approved = decided.get(uid) === true
    if (approved && status !== 'success') wrong.push(`A refund was approved but ended as ${status}.`)
    if (!approved && status === 'success') wrong.push('A refund was made without approval.')
  }
  compare('Money moved', of('refund'), moved.length)
  compare('Mails were sent', of('mail'), moved.length)

  const exports = done.filter(({ tool }) => tool === 'export_orders')
  for (const { status } of exports) if (status !== 'success') wrong.push(`An export ended as ${status}.`)
  compare('Pages were exported', of('page'), pages * exports.length)
  return wrong

  function compare(what: string, found: readonly Entry[], wanted: number): void {
    if (found.length !== wanted) wrong.push(`${what} ${found.length}×, expected ${wanted}×.`)
  }
}
