// Events of the SQLite store: written in feed order, read by position or by session.
//
// Indexing each event by session at once would write one WAL page per session in the group, many times the cost of
// the events themselves. So new events stay unindexed ("unfiled") until there are many, and are then indexed
// together. A reader of one session uses the index for the filed events and scans the few unfiled ones.

import { hash } from 'node:crypto'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { CallRecord } from '../records/call-record.ts'
import type { EventRecord, NewEvent } from '../records/event.ts'
import { lengthPrefixed } from '../../core/ids.ts'
import type { Scope } from '../../core/scope.ts'
import type { EventQuery, ScopeFilter } from '../store.ts'

/** Maximum number of unfiled events: the most a reader of one session has to scan. */
const maxUnfiled = 1_024

/** Rows per INSERT statement. The cost per row is mostly the statement, so large batches are cheaper. */
const chunkSizes = [64, 16, 4, 1]
const columns = ['tenant', 'session', 'seq', 'call', 'type', 'at', 'body']
const all = ['position', ...columns].join(', ')
/** The filed and the unfiled events of a session (?1 tenant, ?2 session). */
const filed = 'events INDEXED BY events_session WHERE filed = 1 AND tenant = ?1 AND session = ?2'
const unfiled = 'events NOT INDEXED WHERE position > (SELECT position FROM filed) AND tenant = ?1 AND session = ?2'

/** Digest under which the erasures table lists an erased session, so that its name is not kept. */
export const scopeOf = (tenant: string, session: string): string =>
  hash('sha256', lengthPrefixed(tenant, session), 'base64url')

const eventOf = (row: unknown): EventRecord =>
  ({ ...(row as object), body: JSON.parse((row as { body: string }).body) }) as EventRecord

export class EventReader {
  readonly #all: StatementSync
  readonly #ofSession: StatementSync
  readonly #last: StatementSync

  constructor(db: DatabaseSync) {
    this.#all = db.prepare(`SELECT ${all} FROM events WHERE position > ? ORDER BY position LIMIT ?`)
    // One statement, because another process may file events between two.
    this.#ofSession = db.prepare(
      `SELECT ${all} FROM ${filed} AND position > ?3 UNION ALL SELECT ${all} FROM ${unfiled} AND position > ?3 ORDER BY position LIMIT ?4`,
    )
    // The highest position ever written, including erased events: an erasure is a change for readers, too.
    this.#last = db.prepare(`SELECT seq AS last FROM sqlite_sequence WHERE name = 'events'`)
  }

  read({ after, limit, of }: EventQuery): EventRecord[] {
    return (of ? this.#ofSession.all(of.tenant, of.session, after, limit) : this.#all.all(after, limit)).map(eventOf)
  }

  last(): number {
    return (this.#last.get() as { last: number } | undefined)?.last ?? 0
  }
}

interface SessionRow {
  readonly number: number
  seq: number
  /** When its newest call was recorded; null if it has none. */
  lastCallAt: number | null
}

/** Collects the events and new calls of a transaction, and writes the events together, numbered in order. */
export class EventWriter {
  readonly #session: StatementSync
  readonly #addSession: StatementSync
  readonly #putSeq: StatementSync
  readonly #filedTo: StatementSync
  readonly #file: StatementSync
  readonly #putFiledTo: StatementSync
  readonly #statements: readonly { readonly size: number; readonly insert: StatementSync }[]
  #pending: NewEvent[] = []
  #calls: CallRecord[] = []

  constructor(db: DatabaseSync) {
    this.#session = db.prepare('SELECT number, seq, lastCallAt FROM sessions WHERE tenant = ? AND session = ?')
    // The sequence continues if a session of this name was erased.
    this.#addSession = db.prepare(
      `INSERT INTO sessions (tenant, session, seq) VALUES (?, ?, coalesce((SELECT seq FROM erasures WHERE scope = ?), 0)) RETURNING number, seq, lastCallAt`,
    )
    this.#putSeq = db.prepare('UPDATE sessions SET seq = ?, lastCallAt = ? WHERE number = ?')
    this.#filedTo = db.prepare('SELECT position FROM filed')
    this.#file = db.prepare('UPDATE events SET filed = 1 WHERE position > ? AND position <= ?')
    this.#putFiledTo = db.prepare('UPDATE filed SET position = ?')
    const row = `(${columns.map(() => '?').join(', ')})`
    this.#statements = chunkSizes.map((size) => ({
      size,
      insert: db.prepare(
        `INSERT INTO events (${columns.join(', ')}) VALUES ${Array.from({ length: size }, () => row).join(', ')}`,
      ),
    }))
  }

  clear(): void {
    this.#pending = []
    this.#calls = []
  }

  /** Notes that a call was inserted: its session's row says when its newest call was. */
  addCall(call: CallRecord): void {
    this.#calls.push(call)
  }

  add(event: NewEvent): void {
    this.#pending.push(event)
  }

  write(): void {
    // The transaction has the write lock, so each session's last number is read only once.
    const sessions = new Map<string, SessionRow>()
    const values: (string | number)[] = []
    let before: NewEvent | undefined
    let row: SessionRow = { number: 0, seq: 0, lastCallAt: null }
    for (const { position, createdAt } of this.#calls) {
      const of = this.#rowOf(position, sessions)
      of.lastCallAt = Math.max(of.lastCallAt ?? createdAt, createdAt)
    }
    for (const event of this.#pending) {
      // Consecutive events mostly belong to one session.
      if (before?.session !== event.session || before.tenant !== event.tenant) row = this.#rowOf(event, sessions)
      before = event
      values.push(event.tenant, event.session, ++row.seq, event.call, event.type, event.at, JSON.stringify(event.body))
    }
    let from = 0
    let last: number | bigint = 0
    for (const { size, insert } of this.#statements) {
      for (; values.length - from >= size * columns.length; from += size * columns.length)
        last = insert.run(...values.slice(from, from + size * columns.length)).lastInsertRowid
    }
    for (const { number, seq, lastCallAt } of sessions.values()) this.#putSeq.run(seq, lastCallAt, number)
    this.clear()
    if (last !== 0) this.#fileUpTo(Number(last))
  }

  #rowOf({ tenant, session }: Scope, known: Map<string, SessionRow>): SessionRow {
    const name = lengthPrefixed(tenant, session)
    let row = known.get(name)
    if (!row) {
      row = (this.#session.get(tenant, session) ??
        this.#addSession.get(tenant, session, scopeOf(tenant, session))) as unknown as SessionRow
      known.set(name, row)
    }
    return row
  }

  #fileUpTo(last: number): void {
    const { position } = this.#filedTo.get() as { position: number }
    if (last - position < maxUnfiled) return
    this.#file.run(position, last)
    this.#putFiledTo.run(last)
  }
}

interface ErasedEvents {
  readonly count: number
  readonly position: number
  readonly seq: number
  readonly whole: boolean
}

/** Events without a recorded call among those scanned, and the cursor to continue at. */
interface OrphanPage {
  readonly events: readonly { readonly tenant: string; readonly session: string; readonly position: number }[]
  readonly next: number | null
}

/** Events scanned per transaction. */
const maxScanned = 1_000
const scanColumns =
  'position, tenant, session, at, NOT EXISTS (SELECT 1 FROM calls WHERE calls.uid = events.call) AS loose'

/** Erases events inside a transaction. A session with no events left is deleted with its name. */
export class EventEraser {
  readonly #lastSeq: StatementSync
  readonly #erase: readonly StatementSync[]
  readonly #scan: StatementSync
  readonly #scanSession: StatementSync
  readonly #eraseAt: StatementSync
  readonly #forget: StatementSync

  constructor(db: DatabaseSync) {
    this.#lastSeq = db.prepare('SELECT seq FROM sessions WHERE tenant = ? AND session = ?')
    this.#erase = [filed, unfiled].map((which) =>
      db.prepare(`DELETE FROM ${which} AND call IN (SELECT value FROM json_each(?3)) RETURNING position`),
    )
    this.#scan = db.prepare(`SELECT ${scanColumns} FROM events WHERE position > ? ORDER BY position LIMIT ?`)
    this.#scanSession = db.prepare(
      `SELECT ${scanColumns} FROM ${filed} AND position > ?3 UNION ALL SELECT ${scanColumns} FROM ${unfiled} AND position > ?3 ORDER BY position LIMIT ?4`,
    )
    this.#eraseAt = db.prepare('DELETE FROM events WHERE position IN (SELECT value FROM json_each(?))')
    this.#forget = db.prepare(
      `DELETE FROM sessions WHERE tenant = ?1 AND session = ?2 AND NOT EXISTS (SELECT 1 FROM ${filed}) AND NOT EXISTS (SELECT 1 FROM ${unfiled})`,
    )
  }

  /**
   * Erases the events of these calls; returns how many, up to which position and sequence, and whether none is left.
   */
  erase(of: Scope, calls: string): ErasedEvents {
    return this.#eraseAndForget(of, () =>
      this.#erase.flatMap((each) => each.all(of.tenant, of.session, calls) as { position: number }[]),
    )
  }

  /** The same for the events at these positions. */
  eraseAt(of: Scope, positions: readonly { readonly position: number }[]): ErasedEvents {
    return this.#eraseAndForget(of, () => {
      this.#eraseAt.run(JSON.stringify(positions.map(({ position }) => position)))
      return positions
    })
  }

  /**
   * Scans by position, which is time order: stops at the first page without older events, so that repeated erasures
   * rescan little. Clock differences between workers are assumed to be smaller than a page.
   */
  findOrphans(of: ScopeFilter | undefined, before: number, after: number): OrphanPage {
    const found = (of?.session === undefined
      ? this.#scan.all(after, maxScanned)
      : this.#scanSession.all(of.tenant, of.session, after, maxScanned)) as unknown as (OrphanPage['events'][number] & {
      at: number
      loose: 0 | 1
    })[]
    const older = found.filter(({ at }) => at < before)
    const isOver = found.length < maxScanned || older.length === 0
    return {
      events: older.filter(({ tenant, loose }) => loose === 1 && (of === undefined || tenant === of.tenant)),
      next: isOver ? null : (found.at(-1)?.position ?? null),
    }
  }

  #eraseAndForget({ tenant, session }: Scope, take: () => readonly { readonly position: number }[]): ErasedEvents {
    const { seq } = (this.#lastSeq.get(tenant, session) as { seq: number } | undefined) ?? { seq: 0 }
    const erased = take()
    const position = erased.reduce((most, each) => Math.max(most, each.position), 0)
    return { count: erased.length, position, seq, whole: this.#forget.run(tenant, session).changes === 1 }
  }
}
