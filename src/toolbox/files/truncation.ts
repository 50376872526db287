// The `truncation` field of all reading tools: how much was returned, of how much, why it ends there, and where to
// continue.

import { type Field, flag, object, oneOf, text, integer } from '../tool-schema-fields.ts'

/** Size limit of one result: 50 KiB. */
export const maxBytes = 50 * 1024

const reasons = ['size_cap', 'line_cap', 'row_cap', 'exec_budget', 'item_cap'] as const
export type Reason = (typeof reasons)[number]

export interface Truncation {
  readonly truncated: boolean
  readonly bytes_returned: number
  readonly bytes_total?: number
  readonly next_offset?: number
  readonly resume_hint?: string
  readonly reason: Reason
}

export const truncationField: Field = object<Truncation>(
  {
    truncated: flag('Whether something was left out'),
    bytes_returned: integer('How much is here'),
    bytes_total: integer('How much there is, where it is known'),
    next_offset: integer('Give this as offset to read on'),
    resume_hint: text('How to read on'),
    reason: oneOf(reasons, 'What was reached; size_cap if nothing was left out'),
  },
  ['bytes_total', 'next_offset', 'resume_hint'],
)

export const complete = (bytes: number, total = bytes): Truncation => ({
  truncated: false,
  bytes_returned: bytes,
  bytes_total: total,
  reason: 'size_cap',
})

export interface CutInfo {
  readonly returned: number
  readonly total?: number
  readonly reason: Reason
  /** Where the rest begins, and the hint for the model. */
  readonly next?: { readonly offset: number; readonly hint: string }
}

export const cut = ({ returned, total, reason, next }: CutInfo): Truncation => ({
  truncated: true,
  bytes_returned: returned,
  ...(total === undefined ? {} : { bytes_total: total }),
  ...(next ? { next_offset: next.offset, resume_hint: next.hint } : {}),
  reason,
})

/** As many items as fit, but at least one, so that paging always advances. */
export function fitItems<T>(items: readonly T[]): { readonly items: readonly T[]; readonly bytes: number } {
  let bytes = 0
  for (const [at, item] of items.entries()) {
    const more = Buffer.byteLength(JSON.stringify(item)) + 1
    if (at > 0 && bytes + more > maxBytes) return { items: items.slice(0, at), bytes }
    bytes += more
  }
  return { items, bytes }
}
