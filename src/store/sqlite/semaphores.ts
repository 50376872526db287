// Semaphores of the SQLite store (TakeSlots and SlotHold in store.ts). Runs inside the transaction of the change.

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Change, SlotHold, TakeSlots } from '../store.ts'

/**
 * Rows of `holds` that count at time ?1: slots that have not expired, and tickets whose worker is alive. After a reboot
 * the monotonic clock restarts, which frees slots with a time limit.
 */
const isActive = `(until IS NULL OR issued <= ?1 AND until > ?1)
  AND (ticket IS NULL OR worker IN (SELECT id FROM workers WHERE issued <= ?1 AND until > ?1))`

export class SqliteSemaphores {
  readonly #countAhead: StatementSync
  readonly #ticket: StatementSync
  readonly #ownSlot: StatementSync
  readonly #putSlot: StatementSync
  readonly #putTicket: StatementSync
  readonly #deleteTickets: StatementSync
  readonly #deleteAll: StatementSync
  readonly #deleteOne: StatementSync
  readonly #deleteExpired: StatementSync
  readonly #all: StatementSync
  readonly #now: () => number

  /** `now` is in monotonic milliseconds, like leases. */
  constructor(db: DatabaseSync, now: () => number) {
    this.#now = now
    this.#ticket = db.prepare('SELECT ticket FROM holds WHERE holder = ? AND ticket IS NOT NULL')
    this.#ownSlot = db.prepare(
      'SELECT 1 FROM holds WHERE name = ?1 AND ticket IS NULL AND (holder = ?2 OR holder IN (SELECT value FROM json_each(?3)))',
    )
    this.#countAhead = db.prepare(
      `SELECT count(*) AS n FROM holds WHERE name = ?2 AND holder <> ?3 AND (ticket IS NULL OR ticket < ?4)
         AND holder NOT IN (SELECT value FROM json_each(?5)) AND ${isActive}`,
    )
    this.#putSlot = db.prepare(
      'INSERT OR REPLACE INTO holds (name, holder, worker, ticket, issued, until) VALUES (?, ?, ?, NULL, ?, ?)',
    )
    this.#putTicket = db.prepare(
      `INSERT INTO holds (name, holder, worker, ticket) VALUES (?1, ?2, ?3, coalesce(?4, (SELECT coalesce(max(ticket), 0) + 1 FROM holds)))`,
    )
    this.#deleteTickets = db.prepare('DELETE FROM holds WHERE holder = ? AND ticket IS NOT NULL')
    this.#deleteAll = db.prepare('DELETE FROM holds WHERE holder = ?')
    this.#deleteOne = db.prepare('DELETE FROM holds WHERE name = ? AND holder = ?')
    this.#deleteExpired = db.prepare('DELETE FROM holds WHERE until <= ?1 OR issued > ?1')
    this.#all = db.prepare(`SELECT name, holder, worker, ticket FROM holds WHERE ${isActive} ORDER BY name, holder`)
  }

  /** Name of the first semaphore without a free slot for this request; null if all have one. */
  findFull({ holder, above, slots }: TakeSlots): string | null {
    const now = this.#now()
    const ancestors = above ? JSON.stringify(above) : '[]'
    const own = this.#ticketOf(holder) ?? Number.MAX_SAFE_INTEGER
    for (const { name, capacity } of slots) {
      const skipsQueue = above?.length || this.#ownSlot.get(name, holder, ancestors) !== undefined
      const { n } = this.#countAhead.get(now, name, holder, skipsQueue ? 0 : own, ancestors) as { n: number }
      if (n >= capacity) return name
    }
    return null
  }

  /** Takes the slots. The caller has checked with findFull(). */
  take(take: TakeSlots): void {
    const now = this.#now()
    this.#deleteTickets.run(take.holder)
    for (const { name, lasts } of take.slots) {
      this.#putSlot.run(
        name,
        lasts?.entry ?? take.holder,
        take.worker,
        lasts ? now : null,
        lasts ? now + lasts.ms : null,
      )
    }
  }

  enqueue({ holder, worker, name }: NonNullable<Change['queueForSlot']>): void {
    if (this.#ownSlot.get(name, holder, '[]') !== undefined) return
    const ticket = this.#ticketOf(holder)
    this.#deleteTickets.run(holder)
    this.#putTicket.run(name, holder, worker, ticket ?? null)
  }

  #ticketOf(holder: string): number | undefined {
    return (this.#ticket.get(holder) as { ticket: number } | undefined)?.ticket
  }

  release({ holder, names }: NonNullable<Change['releaseSlots']>): void {
    if (!names) this.#deleteAll.run(holder)
    else for (const name of names) this.#deleteOne.run(name, holder)
  }

  /** Deletes expired slots. */
  sweep(): void {
    this.#deleteExpired.run(this.#now())
  }

  all(): SlotHold[] {
    return this.#all.all(this.#now()) as unknown as SlotHold[]
  }
}
