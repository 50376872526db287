// Places that calls hold (Take and Hold in store.ts), in SQLite. All of it runs inside the transaction of the change.

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Change, Hold, Take } from '../store.ts'

/** What counts at the time ?1: places whose time has not passed, and in line those whose worker lives. A clock that began anew frees what lasted. */
const counts = `(until IS NULL OR issued <= ?1 AND until > ?1)
  AND (ticket IS NULL OR worker IN (SELECT id FROM workers WHERE issued <= ?1 AND until > ?1))`

export class Places {
  readonly #before: StatementSync
  readonly #ticket: StatementSync
  readonly #place: StatementSync
  readonly #put: StatementSync
  readonly #queue: StatementSync
  readonly #dropTickets: StatementSync
  readonly #dropAll: StatementSync
  readonly #drop: StatementSync
  readonly #pass: StatementSync
  readonly #all: StatementSync
  readonly #now: () => number

  /** `now` in monotonic milliseconds, like leases. */
  constructor(db: DatabaseSync, now: () => number) {
    this.#now = now
    this.#ticket = db.prepare('SELECT ticket FROM holds WHERE holder = ? AND ticket IS NOT NULL')
    this.#place = db.prepare(
      'SELECT 1 FROM holds WHERE name = ?1 AND ticket IS NULL AND (holder = ?2 OR holder IN (SELECT value FROM json_each(?3)))',
    )
    this.#before = db.prepare(
      `SELECT count(*) AS n FROM holds WHERE name = ?2 AND holder <> ?3 AND (ticket IS NULL OR ticket < ?4)
         AND holder NOT IN (SELECT value FROM json_each(?5)) AND ${counts}`,
    )
    this.#put = db.prepare(
      'INSERT OR REPLACE INTO holds (name, holder, worker, ticket, issued, until) VALUES (?, ?, ?, NULL, ?, ?)',
    )
    this.#queue = db.prepare(
      `INSERT INTO holds (name, holder, worker, ticket) VALUES (?1, ?2, ?3, coalesce(?4, (SELECT coalesce(max(ticket), 0) + 1 FROM holds)))`,
    )
    this.#dropTickets = db.prepare('DELETE FROM holds WHERE holder = ? AND ticket IS NOT NULL')
    this.#dropAll = db.prepare('DELETE FROM holds WHERE holder = ?')
    this.#drop = db.prepare('DELETE FROM holds WHERE name = ? AND holder = ?')
    this.#pass = db.prepare('DELETE FROM holds WHERE until <= ?1 OR issued > ?1')
    this.#all = db.prepare(`SELECT name, holder, worker, ticket FROM holds WHERE ${counts} ORDER BY name, holder`)
  }

  /** The first name under which there is no room; null if there is room under all. */
  full({ holder, above, places }: Take): string | null {
    const now = this.#now()
    const lenders = above ? JSON.stringify(above) : '[]'
    const own = this.#ticketOf(holder) ?? Number.MAX_SAFE_INTEGER
    for (const { name, capacity } of places) {
      const hurries = above?.length || this.#place.get(name, holder, lenders) !== undefined
      const { n } = this.#before.get(now, name, holder, hurries ? 0 : own, lenders) as { n: number }
      if (n >= capacity) return name
    }
    return null
  }

  /** Once there is room. */
  take(take: Take): void {
    const now = this.#now()
    this.#dropTickets.run(take.holder)
    for (const { name, lasts } of take.places) {
      this.#put.run(name, lasts?.entry ?? take.holder, take.worker, lasts ? now : null, lasts ? now + lasts.ms : null)
    }
  }

  line({ holder, worker, name }: NonNullable<Change['line']>): void {
    if (this.#place.get(name, holder, '[]') !== undefined) return
    const ticket = this.#ticketOf(holder)
    this.#dropTickets.run(holder)
    this.#queue.run(name, holder, worker, ticket ?? null)
  }

  #ticketOf(holder: string): number | undefined {
    return (this.#ticket.get(holder) as { ticket: number } | undefined)?.ticket
  }

  give({ holder, names }: NonNullable<Change['give']>): void {
    if (!names) this.#dropAll.run(holder)
    else for (const name of names) this.#drop.run(name, holder)
  }

  /** Forgets what has passed. */
  sweep(): void {
    this.#pass.run(this.#now())
  }

  all(): Hold[] {
    return this.#all.all(this.#now()) as unknown as Hold[]
  }
}
