// The rows of values and secrets, and the pure function that plans a write: from the stored rows it computes the new
// rows and a mark that records the result. Refusals are marks too, so a body that reruns gets the same answer again.
//
// Every write changes two rows: the value and the usage of its session, which holds the counts and the last revision.
// So writes of one session are serialized, quotas are exact, and no revision is used twice.

import { type ErrorCode, PawlError } from '../../core/errors.ts'
import { lengthPrefixed } from '../../core/ids.ts'
import { utf8Bytes } from '../../core/size-limits.ts'
import type { Json } from '../../core/tool-value.ts'
import type { Scope } from '../../core/scope.ts'
import type { DocumentName } from '../../store/store.ts'
import { collections } from '../../store/collections.ts'

export type ValueKind = 'value' | 'secret'

interface Usage {
  readonly keys: number
  readonly bytes: number
  /** The last assigned revision. */
  readonly last: number
}

export interface Row {
  readonly v: 1
  readonly revision: number
  readonly at: number
  readonly bytes: number
  /** The encoded value. */
  readonly text: string
  /** For a secret: whether the host program or a body set it, and the tools whose bodies may read it (absent: all). */
  readonly by?: 'host' | 'body'
  readonly tools?: readonly string[]
}

export interface Quota {
  readonly keys: number
  readonly bytes: number
}

export const rowName = (of: ValueKind, scope: Scope, key: string): DocumentName => collections[of].name(scope, key)

/** The usage row comes first: the engine groups writes that wait for the same first document. */
export const documentNames = (of: ValueKind, scope: Scope, key: string): readonly [DocumentName, DocumentName] => [
  collections[`${of}Usage`].name(scope),
  rowName(of, scope, key),
]

export function parseRow(value: string): Row {
  const row = collections.value.parse(value) as Row
  if (row.v !== 1)
    throw new PawlError('store_newer', `The row of a value has the format version ${JSON.stringify(row.v)}.`)
  return row
}

export interface Refusal {
  readonly code: ErrorCode
  readonly message: string
  readonly details?: Json
}

export type Mark =
  | { readonly op: 'set' | 'delete'; readonly row: Row | null }
  | { readonly op: 'set' | 'delete'; readonly refused: Refusal }

export type PlanWrite = (stored: readonly (string | null)[]) => {
  readonly documents: readonly (string | null)[]
  readonly mark: string
}

export interface PlannedWrite {
  readonly op: 'set' | 'delete'
  /** The new row without the fields assigned at write time; null: delete. */
  readonly row: Omit<Row, 'v' | 'revision' | 'bytes'> | null
  readonly key: string
  readonly most: Quota
  /** The refusal for the current row, if any. */
  readonly refuse: (was: Row | null) => Refusal | null
  readonly full: ErrorCode
}

export const planWrite =
  ({ op, row, key, most, refuse, full }: PlannedWrite): PlanWrite =>
  ([usageText = null, wasText = null]) => {
    const used: Usage =
      usageText === null ? { keys: 0, bytes: 0, last: 0 } : (collections.valueUsage.parse(usageText) as Usage)
    const was = wasText === null ? null : parseRow(wasText)
    const same = (mark: Mark) => ({ documents: [usageText, wasText], mark: JSON.stringify(mark) })
    const refused = refuse(was)
    if (refused) return same({ op, refused })
    if (row === null) {
      if (was === null) return same({ op, row: null })
      const usage: Usage = { keys: used.keys - 1, bytes: used.bytes - was.bytes, last: used.last }
      return {
        documents: [JSON.stringify(usage), null],
        mark: JSON.stringify({ op, row: { ...was, text: '' } } satisfies Mark),
      }
    }
    const bytes = utf8Bytes(key) + utf8Bytes(row.text)
    const usage: Usage = {
      keys: used.keys + (was ? 0 : 1),
      bytes: used.bytes + bytes - (was?.bytes ?? 0),
      last: used.last + 1,
    }
    const over = overQuota(used, usage, most)
    if (over) return same({ op, refused: { ...over, code: full } })
    const next: Row = { v: 1, revision: usage.last, ...row, bytes }
    // The text is in the row; the mark records only the metadata.
    return {
      documents: [JSON.stringify(usage), JSON.stringify(next)],
      mark: JSON.stringify({ op, row: { ...next, text: '' } } satisfies Mark),
    }
  }

/** Only growth is refused: a session above a lowered quota may still shrink. */
function overQuota(was: Usage, next: Usage, most: Quota): Omit<Refusal, 'code'> | null {
  for (const name of ['keys', 'bytes'] as const)
    if (next[name] > was[name] && next[name] > most[name])
      return {
        message: `The quota ${name} is ${most[name]}; ${next[name]} would be needed, ${was[name]} are used.`,
        details: { quota: name, most: most[name], used: was[name], needed: next[name] },
      }
  return null
}

export const parseMark = (mark: string): Mark => JSON.parse(mark) as Mark

/** The row that a mark records; throws the error if the write was refused. */
export function readMark(mark: string, op: Mark['op'], key: string): Row | null {
  const recorded = parseMark(mark)
  if (recorded.op !== op)
    throw new PawlError(
      'replay_mismatch',
      `At this position the record has the operation ${recorded.op} of the key '${key}', not ${op}.`,
    )
  if ('row' in recorded) return recorded.row
  const { code, message, details } = recorded.refused
  throw new PawlError(code, message, details === undefined ? {} : { details: details as Record<string, unknown> })
}

/** The mutex key that serializes writes of one session within this process. */
export const mutexKey = (of: ValueKind, { tenant, session }: Scope): string =>
  lengthPrefixed('values', of, tenant, session)
