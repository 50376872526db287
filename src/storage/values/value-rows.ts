// VALUES: what is kept of one, and how a change of it is judged. Pure: told what is kept, it says what is to be kept instead, and a mark that tells
// how it went. Refusals are marks too: a body that runs again hears what it heard.
//
// Two rows are changed at once: the one that is meant, and the usage of its session, which has the counts and the last revision. So changes of
// one session follow each other, quotas are exact, and no revision is given twice.

import { type ErrorCode, PawlError } from '../../core/errors.ts'
import { frame } from '../../core/ids.ts'
import { bytesIn } from '../../core/size-limits.ts'
import type { Json } from '../../core/value.ts'
import type { DocumentName } from '../../store/store.ts'

export interface Scope {
  readonly tenant: string
  readonly session: string
}

/** Values, or secrets. */
export type Collection = 'value' | 'secret'

interface Usage {
  readonly keys: number
  readonly bytes: number
  /** The last revision that was given. */
  readonly last: number
}

export interface Row {
  readonly v: 1
  readonly revision: number
  readonly at: number
  readonly bytes: number
  /** The recorded form. */
  readonly text: string
  /** Of a secret: who set it, and whose bodies get it. */
  readonly by?: 'host' | 'body'
  readonly tools?: readonly string[]
}

export interface Most {
  readonly keys: number
  readonly bytes: number
}

export const rowName = (of: Collection, { tenant, session }: Scope, key: string): DocumentName => ({
  of,
  tenant,
  session,
  key,
})
const usageName = (of: Collection, { tenant, session }: Scope): DocumentName => ({
  of: `${of}-usage`,
  tenant,
  session,
  key: '',
})

/** In this order: who waits for the same usage is written together. */
export const namesOf = (of: Collection, scope: Scope, key: string): readonly [DocumentName, DocumentName] => [
  usageName(of, scope),
  rowName(of, scope, key),
]

export function rowIn(value: string): Row {
  const row = JSON.parse(value) as Row
  if (row.v !== 1) throw new PawlError('store_newer', `A value has the form ${JSON.stringify(row.v)}.`)
  return row
}

export interface Refused {
  readonly code: ErrorCode
  readonly message: string
  readonly details?: Json
}

export type Mark =
  | { readonly op: 'set' | 'delete'; readonly row: Row | null }
  | { readonly op: 'set' | 'delete'; readonly refused: Refused }

export type Count = (kept: readonly (string | null)[]) => {
  readonly documents: readonly (string | null)[]
  readonly mark: string
}

export interface Planned {
  readonly op: 'set' | 'delete'
  /** What is to be kept, without what is known only when it is written; null: nothing. */
  readonly row: Omit<Row, 'v' | 'revision' | 'bytes'> | null
  readonly key: string
  readonly most: Most
  /** Why not, by what stands there. */
  readonly refuse: (was: Row | null) => Refused | null
  readonly full: ErrorCode
}

export const counting =
  ({ op, row, key, most, refuse, full }: Planned): Count =>
  ([usageText = null, wasText = null]) => {
    const used: Usage = usageText === null ? { keys: 0, bytes: 0, last: 0 } : (JSON.parse(usageText) as Usage)
    const was = wasText === null ? null : rowIn(wasText)
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
    const bytes = bytesIn(key) + bytesIn(row.text)
    const usage: Usage = {
      keys: used.keys + (was ? 0 : 1),
      bytes: used.bytes + bytes - (was?.bytes ?? 0),
      last: used.last + 1,
    }
    const over = overMost(used, usage, most)
    if (over) return same({ op, refused: { ...over, code: full } })
    const next: Row = { v: 1, revision: usage.last, ...row, bytes }
    // What was written is in its row: the mark says only that it was.
    return {
      documents: [JSON.stringify(usage), JSON.stringify(next)],
      mark: JSON.stringify({ op, row: { ...next, text: '' } } satisfies Mark),
    }
  }

/** Only what grows can be too much: a session above a quota that was lowered may still get smaller. */
function overMost(was: Usage, next: Usage, most: Most): Omit<Refused, 'code'> | null {
  for (const name of ['keys', 'bytes'] as const)
    if (next[name] > was[name] && next[name] > most[name])
      return {
        message: `The quota ${name} is ${most[name]}; ${next[name]} would be needed, ${was[name]} are used.`,
        details: { quota: name, most: most[name], used: was[name], needed: next[name] },
      }
  return null
}

/** What a mark says was done; throws what was refused. */
export function doneBy(mark: string, op: Mark['op'], key: string): Row | null {
  const told = JSON.parse(mark) as Mark
  if (told.op !== op)
    throw new PawlError(
      'replay_mismatch',
      `The key '${key}' was ${told.op === 'set' ? 'set' : 'deleted'} here before, and not ${op}.`,
    )
  if ('row' in told) return told.row
  const { code, message, details } = told.refused
  throw new PawlError(code, message, details === undefined ? {} : { details: details as Record<string, unknown> })
}

/** Of its line: changes of one session in one process stand in it. */
export const lineOf = (of: Collection, { tenant, session }: Scope): string => frame('values', of, tenant, session)
