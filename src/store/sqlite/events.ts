// The events of a SQLite file: written in the order of the feed, found by session.
//
// Every event of a session in an index by session would cost a page of the WAL for each session that a group speaks of, many times what
// the events themselves cost. So new events wait until there are many and are filed together; a reader finds those that are filed by the
// index and looks through the few that are not.

import { hash } from 'node:crypto'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { EventRecord, NewEvent } from '../records/event.ts'
import { frame } from '../../core/ids.ts'
import type { EventQuery, Scope } from '../store.ts'

/** How many wait to be filed, at most: what a reader of one session looks through. */
const mostUnfiled = 1_024

/** Rows of one statement: most of what a row costs is the statement. */
const chunks = [64, 16, 4, 1]
const columns = ['tenant', 'session', 'seq', 'call', 'type', 'at', 'body']
const all = ['position', ...columns].join(', ')
/** Of a session, ?1 and ?2, those that are filed and those that are not. */
const filed = 'events INDEXED BY events_session WHERE filed = 1 AND tenant = ?1 AND session = ?2'
const unfiled = 'events NOT INDEXED WHERE position > (SELECT position FROM filed) AND tenant = ?1 AND session = ?2'

/** What an erasure leaves of a session's name. */
export const scopeOf = (tenant: string, session: string): string => hash('sha256', frame(tenant, session), 'base64url')

const eventOf = (row: unknown): EventRecord =>
  ({ ...(row as object), body: JSON.parse((row as { body: string }).body) }) as EventRecord

export class EventReader {
  readonly #all: StatementSync
  readonly #ofSession: StatementSync
  readonly #last: StatementSync

  constructor(db: DatabaseSync) {
    this.#all = db.prepare(`SELECT ${all} FROM events WHERE position > ? ORDER BY position LIMIT ?`)
    // One statement: between two, another process may file.
    this.#ofSession = db.prepare(
      `SELECT ${all} FROM ${filed} AND position > ?3 UNION ALL SELECT ${all} FROM ${unfiled} AND position > ?3 ORDER BY position LIMIT ?4`,
    )
    // Of all that were ever written: what was erased is news, too.
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
}

/** Gathers the events of a transaction and writes them together, numbered in their order. */
export class EventWriter {
  readonly #session: StatementSync
  readonly #addSession: StatementSync
  readonly #putSeq: StatementSync
  readonly #filedTo: StatementSync
  readonly #file: StatementSync
  readonly #putFiledTo: StatementSync
  readonly #statements: readonly { readonly size: number; readonly insert: StatementSync }[]
  #gathered: NewEvent[] = []

  constructor(db: DatabaseSync) {
    this.#session = db.prepare('SELECT number, seq FROM sessions WHERE tenant = ? AND session = ?')
    // One of this name may have been erased.
    this.#addSession = db.prepare(
      `INSERT INTO sessions (tenant, session, seq) VALUES (?, ?, coalesce((SELECT seq FROM erasures WHERE scope = ?), 0)) RETURNING number, seq`,
    )
    this.#putSeq = db.prepare('UPDATE sessions SET seq = ? WHERE number = ?')
    this.#filedTo = db.prepare('SELECT position FROM filed')
    this.#file = db.prepare('UPDATE events SET filed = 1 WHERE position > ? AND position <= ?')
    this.#putFiledTo = db.prepare('UPDATE filed SET position = ?')
    const row = `(${columns.map(() => '?').join(', ')})`
    this.#statements = chunks.map((size) => ({
      size,
      insert: db.prepare(
        `INSERT INTO events (${columns.join(', ')}) VALUES ${Array.from({ length: size }, () => row).join(', ')}`,
      ),
    }))
  }

  clear(): void {
    this.#gathered = []
  }

  add(event: NewEvent): void {
    this.#gathered.push(event)
  }

  write(): void {
    // Nobody else writes during the transaction, so a session's last number is asked for once.
    const sessions = new Map<string, SessionRow>()
    const values: (string | number)[] = []
    let before: NewEvent | undefined
    let row: SessionRow = { number: 0, seq: 0 }
    for (const event of this.#gathered) {
      // Neighbours are mostly of one session.
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
    for (const { number, seq } of sessions.values()) this.#putSeq.run(seq, number)
    this.#gathered = []
    if (last !== 0) this.#fileUpTo(Number(last))
  }

  #rowOf({ tenant, session }: NewEvent, known: Map<string, SessionRow>): SessionRow {
    const name = frame(tenant, session)
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
    if (last - position < mostUnfiled) return
    this.#file.run(position, last)
    this.#putFiledTo.run(last)
  }
}

interface Taken {
  readonly count: number
  readonly position: number
  readonly seq: number
  readonly whole: boolean
}

/** Events that tell of no call on record, among those that were looked at; and where to go on. */
interface Loose {
  readonly events: readonly { readonly tenant: string; readonly session: string; readonly position: number }[]
  readonly next: number | null
}

/** How many are looked at in one transaction. */
const mostLooked = 1_000
const looked = 'position, tenant, session, at, NOT EXISTS (SELECT 1 FROM calls WHERE calls.uid = events.call) AS loose'

/** Erases events, inside a transaction. A session of which nothing is left is forgotten, its name too. */
export class EventEraser {
  readonly #lastSeq: StatementSync
  readonly #erase: readonly StatementSync[]
  readonly #look: StatementSync
  readonly #lookOfSession: StatementSync
  readonly #take: StatementSync
  readonly #forget: StatementSync

  constructor(db: DatabaseSync) {
    this.#lastSeq = db.prepare('SELECT seq FROM sessions WHERE tenant = ? AND session = ?')
    this.#erase = [filed, unfiled].map((which) =>
      db.prepare(`DELETE FROM ${which} AND call IN (SELECT value FROM json_each(?3)) RETURNING position`),
    )
    this.#look = db.prepare(`SELECT ${looked} FROM events WHERE position > ? ORDER BY position LIMIT ?`)
    this.#lookOfSession = db.prepare(
      `SELECT ${looked} FROM ${filed} AND position > ?3 UNION ALL SELECT ${looked} FROM ${unfiled} AND position > ?3 ORDER BY position LIMIT ?4`,
    )
    this.#take = db.prepare('DELETE FROM events WHERE position IN (SELECT value FROM json_each(?))')
    this.#forget = db.prepare(
      `DELETE FROM sessions WHERE tenant = ?1 AND session = ?2 AND NOT EXISTS (SELECT 1 FROM ${filed}) AND NOT EXISTS (SELECT 1 FROM ${unfiled})`,
    )
  }

  /** Those of these calls: how many, up to which position and sequence of the session, and whether there is nothing else of it. */
  erase(of: Required<Scope>, calls: string): Taken {
    return this.#taken(of, () =>
      this.#erase.flatMap((each) => each.all(of.tenant, of.session, calls) as { position: number }[]),
    )
  }

  /** Those at these positions, likewise. */
  take(of: Required<Scope>, positions: readonly { readonly position: number }[]): Taken {
    return this.#taken(of, () => {
      this.#take.run(JSON.stringify(positions.map(({ position }) => position)))
      return positions
    })
  }

  /**
   * By position, which is the order of time: where what is older was erased before, little of it is looked at again. Clocks of several
   * workers differ by less than a page.
   */
  loose(of: Scope | undefined, before: number, after: number): Loose {
    const found = (of?.session === undefined
      ? this.#look.all(after, mostLooked)
      : this.#lookOfSession.all(of.tenant, of.session, after, mostLooked)) as unknown as (Loose['events'][number] & {
      at: number
      loose: 0 | 1
    })[]
    const older = found.filter(({ at }) => at < before)
    const isOver = found.length < mostLooked || older.length === 0
    return {
      events: older.filter(({ tenant, loose }) => loose === 1 && (of === undefined || tenant === of.tenant)),
      next: isOver ? null : (found.at(-1)?.position ?? null),
    }
  }

  #taken({ tenant, session }: Required<Scope>, take: () => readonly { readonly position: number }[]): Taken {
    const { seq } = (this.#lastSeq.get(tenant, session) as { seq: number } | undefined) ?? { seq: 0 }
    const taken = take()
    const position = taken.reduce((most, each) => Math.max(most, each.position), 0)
    return { count: taken.length, position, seq, whole: this.#forget.run(tenant, session).changes === 1 }
  }
}
