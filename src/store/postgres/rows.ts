// Rows to records and back.
//
// Recorded values are JSON text, in which U+0000 is an escape already: they are stored to the letter. Names are plain strings, and
// PostgreSQL's text cannot hold U+0000, so names are escaped on their way in and unescaped on their way out.

import { hash } from 'node:crypto'
import type { CallPosition, CallRecord, StepRecord, WaitRecord } from '../records/call-record.ts'
import type { EventRecord } from '../records/event.ts'
import { frame } from '../../core/ids.ts'
import type {
  AttachmentRecord,
  Hold,
  StoredDocument,
  DocumentName,
  DocumentQuery,
  Scope,
  Take,
  TakenPlace,
} from '../store.ts'

/** A name as it is stored: `\` doubled, U+0000 as `\0`. Most names have neither. */
export function nameIn<T extends string | null>(name: T): T {
  if (name === null || !(name.includes('\\') || name.includes('\0'))) return name
  return name.replaceAll('\\', '\\\\').replaceAll('\0', '\\0') as T
}

export function nameOut<T extends string | null>(stored: T): T {
  if (stored === null || !stored.includes('\\')) return stored
  return stored.replace(/\\([\\0])/g, (_, escaped) => (escaped === '0' ? '\0' : '\\')) as T
}

/** What rows are found by, in hex. */
export const digest = (...parts: readonly (string | number)[]): string => hash('sha256', frame(...parts), 'hex')
export const placeOf = (p: CallPosition): string => digest(p.tenant, p.session, p.batch, p.id, p.occurrence)

/** A place to take, to wait for or to give back, as the functions of schema.ts read it. */
export const placeIn = ({
  name,
  capacity,
  lasts,
}: Partial<TakenPlace> & { name: string }): Record<string, unknown> => ({
  place: digest(name),
  name: nameIn(name),
  capacity,
  ms: lasts?.ms,
  entry: lasts && nameIn(lasts.entry),
})

export const takeIn = ({ holder, above = [], places }: Take): Record<string, unknown> => ({
  holder: nameIn(holder),
  above: above.map(nameIn),
  places: places.map(placeIn),
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
    uid: nameOut(row.uid),
    principal: nameOut(row.principal),
    tool: nameOut(row.tool),
    hash: nameOut(row.hash),
    line: nameOut(row.line),
    wait: nameOut(row.wait),
    owner: nameOut(row.owner),
    position: {
      tenant: nameOut(tenant),
      session: nameOut(session),
      batch: nameOut(batch),
      id: nameOut(id),
      occurrence,
    },
  }
}

export function stepOf({ place: _place, ...row }: StepRecord & { place: Buffer }): StepRecord {
  return { ...row, call: nameOut(row.call), key: nameOut(row.key) }
}

export function waitOf(row: WaitRecord): WaitRecord {
  const { id, call, name, salt, keyHash } = row
  return {
    ...row,
    id: nameOut(id),
    call: nameOut(call),
    name: nameOut(name),
    salt: nameOut(salt),
    keyHash: nameOut(keyHash),
  }
}

export const holdOf = ({ name, holder, worker, ticket }: Hold): Hold => ({
  name: nameOut(name),
  holder: nameOut(holder),
  worker: nameOut(worker),
  ticket,
})

export function attachmentOf({ place: _place, ...row }: AttachmentRecord & { place: Buffer }): AttachmentRecord {
  return {
    ...row,
    id: nameOut(row.id),
    tenant: nameOut(row.tenant),
    mediaType: nameOut(row.mediaType),
    name: nameOut(row.name),
  }
}

export function eventOf({
  scope: _scope,
  ...row
}: Omit<EventRecord, 'body'> & { scope: Buffer; body: string }): EventRecord {
  const { tenant, session, call } = row
  return {
    ...row,
    tenant: nameOut(tenant),
    session: nameOut(session),
    call: nameOut(call),
    body: JSON.parse(row.body),
  } as EventRecord
}

export const keptPlace = ({ of, tenant, session, key }: DocumentName): string => digest(of, tenant, session, key)

/** What is to be kept, as the function of schema.ts reads it. */
export const keptIn = (name: DocumentName): Record<string, unknown> => ({
  name: keptPlace(name),
  whose: digest(name.tenant),
  scope: digest(name.tenant, name.session),
  of: nameIn(name.of),
  tenant: nameIn(name.tenant),
  session: nameIn(name.session),
  key: nameIn(name.key),
})

export function keptOf({
  place: _place,
  whose: _whose,
  scope: _scope,
  ...row
}: StoredDocument & Record<'place' | 'whose' | 'scope', Buffer>): StoredDocument {
  return {
    ...row,
    of: nameOut(row.of),
    tenant: nameOut(row.tenant),
    session: nameOut(row.session),
    key: nameOut(row.key),
  }
}

/** Which of these collections have something of a session. */
export const keptAmong = (
  of: readonly string[],
  { tenant, session }: Required<Scope>,
): [text: string, values: unknown[]] => [
  `SELECT name FROM unnest($1::text[]) AS name WHERE EXISTS (SELECT 1 FROM kept WHERE "of" = name AND scope = decode($2, 'hex'))`,
  [of.map(nameIn), digest(tenant, session)],
]

export function keptPage({
  of,
  tenant,
  session,
  after,
  limit,
  newest,
}: DocumentQuery): [text: string, values: unknown[]] {
  const [from, order] = newest ? (["($2 = '' OR key < $2)", 'key DESC'] as const) : (['key > $2', 'key'] as const)
  const page = (by: string): string => `SELECT * FROM kept WHERE "of" = $1 AND ${from} ${by} ORDER BY ${order} LIMIT $3`
  const asked = [nameIn(of), nameIn(after), limit]
  if (tenant === undefined) return [page(''), asked]
  if (session === undefined) return [page(`AND whose = decode($4, 'hex')`), [...asked, digest(tenant)]]
  return [page(`AND scope = decode($4, 'hex')`), [...asked, digest(tenant, session)]]
}
