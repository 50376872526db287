// Maps rows to records and back.
//
// Recorded values are JSON text, in which U+0000 is already escaped, so they are stored as they are. Names are plain
// strings, and PostgreSQL text cannot contain U+0000, so names are escaped on write and unescaped on read.

import { hash } from 'node:crypto'
import type { CallPosition, CallRecord, StepRecord, WaitRecord } from '../records/call-record.ts'
import type { EventRecord } from '../records/event.ts'
import { lengthPrefixed } from '../../core/ids.ts'
import type { Scope } from '../../core/scope.ts'
import type {
  AttachmentRecord,
  SlotHold,
  StoredDocument,
  DocumentName,
  DocumentQuery,
  TakeSlots,
  TakenSlot,
} from '../store.ts'

/** A name as stored: `\` doubled, U+0000 as `\0`. Most names contain neither. */
export function escapeName<T extends string | null>(name: T): T {
  if (name === null || !(name.includes('\\') || name.includes('\0'))) return name
  return name.replaceAll('\\', '\\\\').replaceAll('\0', '\\0') as T
}

export function unescapeName<T extends string | null>(stored: T): T {
  if (stored === null || !stored.includes('\\')) return stored
  return stored.replace(/\\([\\0])/g, (_, escaped) => (escaped === '0' ? '\0' : '\\')) as T
}

/** Hex digest by which rows are found. Names may be longer than an index entry. */
export const digest = (...parts: readonly (string | number)[]): string =>
  hash('sha256', lengthPrefixed(...parts), 'hex')
export const positionDigest = (p: CallPosition): string => digest(p.tenant, p.session, p.batch, p.id, p.occurrence)

/** A slot to take, queue for or release, in the form the functions of schema.ts read. */
export const slotRow = ({ name, capacity, lasts }: Partial<TakenSlot> & { name: string }): Record<string, unknown> => ({
  place: digest(name),
  name: escapeName(name),
  capacity,
  ms: lasts?.ms,
  entry: lasts && escapeName(lasts.entry),
})

export const takeRow = ({ holder, above = [], slots }: TakeSlots): Record<string, unknown> => ({
  holder: escapeName(holder),
  above: above.map(escapeName),
  places: slots.map(slotRow),
})

type CallRow = Omit<CallRecord, 'position'> & CallPosition & { place: Buffer; scope: Buffer }

export function callOf({
  place: _place,
  scope: _scope,
  tenant,
  session,
  batch,
  id,
  occurrence,
  ...row
}: CallRow): CallRecord {
  return {
    ...row,
    uid: unescapeName(row.uid),
    principal: unescapeName(row.principal),
    tool: unescapeName(row.tool),
    hash: unescapeName(row.hash),
    line: unescapeName(row.line),
    wait: unescapeName(row.wait),
    owner: unescapeName(row.owner),
    position: {
      tenant: unescapeName(tenant),
      session: unescapeName(session),
      batch: unescapeName(batch),
      id: unescapeName(id),
      occurrence,
    },
  }
}

export function stepOf({ place: _place, ...row }: StepRecord & { place: Buffer }): StepRecord {
  return { ...row, call: unescapeName(row.call), key: unescapeName(row.key) }
}

export function waitOf(row: WaitRecord): WaitRecord {
  const { id, call, name, salt, keyHash } = row
  return {
    ...row,
    id: unescapeName(id),
    call: unescapeName(call),
    name: unescapeName(name),
    salt: unescapeName(salt),
    keyHash: unescapeName(keyHash),
  }
}

export const holdOf = ({ name, holder, worker, ticket }: SlotHold): SlotHold => ({
  name: unescapeName(name),
  holder: unescapeName(holder),
  worker: unescapeName(worker),
  ticket,
})

export function attachmentOf({ place: _place, ...row }: AttachmentRecord & { place: Buffer }): AttachmentRecord {
  return {
    ...row,
    id: unescapeName(row.id),
    tenant: unescapeName(row.tenant),
    mediaType: unescapeName(row.mediaType),
    name: unescapeName(row.name),
  }
}

export function eventOf({
  scope: _scope,
  ...row
}: Omit<EventRecord, 'body'> & { scope: Buffer; body: string }): EventRecord {
  const { tenant, session, call } = row
  return {
    ...row,
    tenant: unescapeName(tenant),
    session: unescapeName(session),
    call: unescapeName(call),
    body: JSON.parse(row.body),
  } as EventRecord
}

export const documentDigest = ({ of, tenant, session, key }: DocumentName): string => digest(of, tenant, session, key)

/** A document to write, in the form write_group reads. */
export const documentRow = (name: DocumentName): Record<string, unknown> => ({
  name: documentDigest(name),
  whose: digest(name.tenant),
  scope: digest(name.tenant, name.session),
  of: escapeName(name.of),
  tenant: escapeName(name.tenant),
  session: escapeName(name.session),
  key: escapeName(name.key),
})

export function documentOf({
  place: _place,
  whose: _whose,
  scope: _scope,
  ...row
}: StoredDocument & Record<'place' | 'whose' | 'scope', Buffer>): StoredDocument {
  return {
    ...row,
    of: unescapeName(row.of),
    tenant: unescapeName(row.tenant),
    session: unescapeName(row.session),
    key: unescapeName(row.key),
  }
}

/** Which of these collections contain documents of a session. One index lookup per collection. */
export const nonEmptyCollectionsQuery = (
  of: readonly string[],
  { tenant, session }: Scope,
): [text: string, values: unknown[]] => [
  `SELECT name FROM unnest($1::text[]) AS name WHERE EXISTS (SELECT 1 FROM kept WHERE "of" = name AND scope = decode($2, 'hex'))`,
  [of.map(escapeName), digest(tenant, session)],
]

export function documentPageQuery({
  of,
  tenant,
  session,
  after,
  limit,
  newest,
}: DocumentQuery): [text: string, values: unknown[]] {
  const [from, order] = newest ? (["($2 = '' OR key < $2)", 'key DESC'] as const) : (['key > $2', 'key'] as const)
  const page = (by: string): string => `SELECT * FROM kept WHERE "of" = $1 AND ${from} ${by} ORDER BY ${order} LIMIT $3`
  const values = [escapeName(of), escapeName(after), limit]
  if (tenant === undefined) return [page(''), values]
  if (session === undefined) return [page(`AND whose = decode($4, 'hex')`), [...values, digest(tenant)]]
  return [page(`AND scope = decode($4, 'hex')`), [...values, digest(tenant, session)]]
}
