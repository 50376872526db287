// The end of the story, judged by those outside: what their books say, against what was asked of the desk and what people allowed. Nothing more, nothing
// less, nothing twice.

import type { Entry } from '../outside.ts'

/** A call as it is on record. */
export interface Done {
  readonly uid: string
  readonly tool: string
  readonly status: string
  readonly value: unknown
}

export interface Accounts {
  /** Once per idempotency key, as those outside count. */
  readonly entries: readonly Entry[]
  readonly done: readonly Done[]
  /** By call: what a person said. */
  readonly decided: ReadonlyMap<string, boolean>
}

export const pages = 8

/** What is wrong; nothing, if all is as it should be. */
export function problems({ entries, done, decided }: Accounts): string[] {
  const wrong: string[] = []
  const of = (what: Entry['what']): readonly Entry[] => entries.filter((entry) => entry.what === what)
  const keys = entries.flatMap(({ key }) => key ?? [])
  if (new Set(keys).size !== keys.length) wrong.push('An idempotency key is in the books twice.')

  const refunds = done.filter(({ tool }) => tool === 'refund')
  const moved = refunds.filter(({ status, value }) => status === 'success' && (value as { refunded?: boolean }).refunded === true)
  for (const { uid, status } of refunds) {
    const granted = decided.get(uid) === true
    if (granted && status !== 'success') wrong.push(`A refund was granted and ended as ${status}.`)
    if (!granted && status === 'success') wrong.push('A refund was made that nobody granted.')
  }
  compare('Money moved', of('refund'), moved.length)
  compare('Mails were sent', of('mail'), moved.length)

  const exports = done.filter(({ tool }) => tool === 'export_orders')
  for (const { status } of exports) if (status !== 'success') wrong.push(`An export ended as ${status}.`)
  compare('Pages were exported', of('page'), pages * exports.length)
  return wrong

  function compare(what: string, found: readonly Entry[], wanted: number): void {
    if (found.length !== wanted) wrong.push(`${what} ${found.length}×, and should have ${wanted}×.`)
  }
}
