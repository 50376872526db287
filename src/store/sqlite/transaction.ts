// Runs one transaction per group of changes on one connection. Used by the event loop and by the thread.

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Change, Written } from '../store.ts'
import { SqliteSemaphores } from './semaphores.ts'
import type { WalState } from './thread-protocol.ts'
import { ChangeWriter } from './rows.ts'

export class Transactions {
  readonly #db: DatabaseSync
  readonly #writer: ChangeWriter
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #rollback: StatementSync
  readonly #savepoint: StatementSync
  readonly #releaseSavepoint: StatementSync
  readonly #rollbackToSavepoint: StatementSync
  readonly #wal: StatementSync
  readonly #checkpoint: StatementSync
  /** Moving average of the commit time: a measure of disk speed. */
  commitMs = 0

  constructor(db: DatabaseSync, now: () => number) {
    this.#db = db
    this.#writer = new ChangeWriter(db, new SqliteSemaphores(db, now))
    this.#begin = db.prepare('BEGIN IMMEDIATE')
    this.#commit = db.prepare('COMMIT')
    this.#rollback = db.prepare('ROLLBACK')
    this.#savepoint = db.prepare('SAVEPOINT one')
    this.#releaseSavepoint = db.prepare('RELEASE one')
    this.#rollbackToSavepoint = db.prepare('ROLLBACK TO one')
    // NOOP only reports the state. SQLite versions that do not know it run a checkpoint instead.
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

  /**
   * Writes all changes in one transaction. If one of them makes it fail, a second transaction writes each in its own
   * savepoint. Either way the group is committed as a whole or not at all.
   */
  write(changes: readonly Change[]): Written[] {
    try {
      return this.run(() => this.#writer.write(changes))
    } catch (failed) {
      // A locked, full or missing file fails every change; retrying them one by one would only block longer.
      if (!isChangeFault(failed)) throw failed
      return changes.length === 1 ? [{ failed }] : this.run(() => changes.flatMap((change) => this.#writeAlone(change)))
    }
  }

  #writeAlone(change: Change): Written[] {
    this.#savepoint.run()
    try {
      const written = this.#writer.write([change])
      this.#releaseSavepoint.run()
      return written
    } catch (failed) {
      if (!isChangeFault(failed)) throw failed
      this.#rollbackToSavepoint.run()
      this.#releaseSavepoint.run()
      return [{ failed }]
    }
  }

  wal(): WalState {
    return ignoreErrors(() => this.#wal.get() as unknown as WalState) ?? { log: 0, checkpointed: 0 }
  }

  checkpoint(): void {
    ignoreErrors(() => this.#checkpoint.get())
  }
}

const codeOf = (error: unknown): number => ((error as { errcode?: number }).errcode ?? 1) & 0xff

/** Constraint, type mismatch, value too big or not bindable: the change is at fault, not the file. */
function isChangeFault(error: unknown): boolean {
  const { code = '' } = error as { code?: string }
  return [18, 19, 20, 25].includes(codeOf(error)) || code.startsWith('ERR_INVALID_ARG') || code === 'ERR_OUT_OF_RANGE'
}

/** Another connection is writing. Nothing was done: in WAL mode only BEGIN can fail like this. */
export const isBusy = (error: unknown): boolean => codeOf(error) === 5

/** For WAL maintenance: commits are safe whatever happens here, and the next check tries again. */
function ignoreErrors<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
