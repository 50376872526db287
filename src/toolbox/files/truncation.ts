// What a reading tool says about what it left out, in one form: how much was given, of how much, why, and where to read on.

import { type Field, flag, object, oneOf, text, whole } from '../schema-fields.ts'

/** Of what a model reads at once: 50 KB. */
export const mostBytes = 50 * 1024

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
    bytes_returned: whole('How much is here'),
    bytes_total: whole('How much there is, where it is known'),
    next_offset: whole('Give this as offset to read on'),
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

export interface Left {
  readonly returned: number
  readonly total?: number
  readonly reason: Reason
  /** Where the rest begins, and the words for it: both or neither. */
  readonly next?: { readonly offset: number; readonly hint: string }
}

export const cut = ({ returned, total, reason, next }: Left): Truncation => ({
  truncated: true,
  bytes_returned: returned,
  ...(total === undefined ? {} : { bytes_total: total }),
  ...(next ? { next_offset: next.offset, resume_hint: next.hint } : {}),
  reason,
})

/** As many items as fit, at least one: else there would be no way on. */
export function fitting<T>(items: readonly T[]): { readonly items: readonly T[]; readonly bytes: number } {
  let bytes = 0
  for (const [at, item] of items.entries()) {
    const more = Buffer.byteLength(JSON.stringify(item)) + 1
    if (at > 0 && bytes + more > mostBytes) return { items: items.slice(0, at), bytes }
    bytes += more
  }
  return { items, bytes }
}
