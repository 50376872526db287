// One transaction per group of changes, on one connection: the same for the event loop's own and for the thread's.

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Change, Written } from '../store.ts'
import { Places } from './semaphores.ts'
import type { Wal } from './thread-protocol.ts'
import { GroupWriter } from './rows.ts'

export class Transactions {
  readonly #db: DatabaseSync
  readonly #writer: GroupWriter
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #rollback: StatementSync
  readonly #mark: StatementSync
  readonly #unmark: StatementSync
  readonly #backToMark: StatementSync
  readonly #wal: StatementSync
  readonly #checkpoint: StatementSync
  /** How long commits take, on average of late: what the disk is like. */
  commitMs = 0

  constructor(db: DatabaseSync, now: () => number) {
    this.#db = db
    this.#writer = new GroupWriter(db, new Places(db, now))
    this.#begin = db.prepare('BEGIN IMMEDIATE')
    this.#commit = db.prepare('COMMIT')
    this.#rollback = db.prepare('ROLLBACK')
    this.#mark = db.prepare('SAVEPOINT one')
    this.#unmark = db.prepare('RELEASE one')
    this.#backToMark = db.prepare('ROLLBACK TO one')
    // NOOP looks without doing; a SQLite that does not know it checkpoints at once.
    this.#wal = db.prepare('PRAGMA wal_checkpoint(NOOP)')
    this.#checkpoint = db.prepare('PRAGMA wal_checkpoint(PASSIVE)')
  }

  run<T>(work: () => T): T {
    this.#begin.run()
    try {
      const result = work()
      const from = performance.now()
      this.#commit.run()
      this.commitMs += (performance.now() - from - this.commitMs) / 8
      return result
    } catch (error) {
      if (this.#db.isTransaction) this.#rollback.run()
      throw error
    }
  }

  /** All in one transaction. Should one of them break it, each is tried for itself, in one transaction again: all are there, or nothing is. */
  write(changes: readonly Change[]): Written[] {
    try {
      return this.run(() => this.#writer.write(changes))
    } catch (failed) {
      // A file that is locked, full or gone fails all alike; trying them one by one would only block the longer.
      if (!isOwnFault(failed)) throw failed
      return changes.length === 1 ? [{ failed }] : this.run(() => changes.flatMap((change) => this.#apart(change)))
    }
  }

  #apart(change: Change): Written[] {
    this.#mark.run()
    try {
      const written = this.#writer.write([change])
      this.#unmark.run()
      return written
    } catch (failed) {
      if (!isOwnFault(failed)) throw failed
      this.#backToMark.run()
      this.#unmark.run()
      return [{ failed }]
    }
  }

  wal(): Wal {
    return quietly(() => this.#wal.get() as unknown as Wal) ?? { log: 0, checkpointed: 0 }
  }

  checkpoint(): void {
    quietly(() => this.#checkpoint.get())
  }
}

const codeOf = (error: unknown): number => ((error as { errcode?: number }).errcode ?? 1) & 0xff

/** A constraint, a mismatch, a value too big, one that cannot be bound at all: this change is at fault, not the file. */
function isOwnFault(error: unknown): boolean {
  const { code = '' } = error as { code?: string }
  return [18, 19, 20, 25].includes(codeOf(error)) || code.startsWith('ERR_INVALID_ARG') || code === 'ERR_OUT_OF_RANGE'
}

/** Another connection is writing. Nothing was done: in WAL mode only the begin of a transaction meets it. */
export const isBusy = (error: unknown): boolean => codeOf(error) === 5

/** What was committed is on record, whatever becomes of the WAL: the next look tries again. */
function quietly<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
