// Who is alive, on one machine, without waiting for a lease: every worker holds a lock on an empty file of its own beside the
// database. The kernel lets go of it when the process dies, however it dies, so a lock that can be had belonged to a dead worker.
// A stopped process keeps its lock; for those the lease decides.

import { existsSync, rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

const lockFile = (file: string, worker: string): string => `${file}-worker-${worker}`

export interface Lock {
  release(): void
}

/** Takes the lock of a worker; null if its holder lives. SQLite's own locking is used, so it works wherever SQLite does. */
export function takeLock(file: string, worker: string): Lock | null {
  const path = lockFile(file, worker)
  const db = new DatabaseSync(path, { timeout: 0 })
  try {
    db.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  } catch {
    db.close()
    return null
  }
  return {
    release() {
      db.close()
      rmSync(path, { force: true })
    },
  }
}

/** Whether the worker is surely dead: its lock file is there and nobody holds it. No file means no evidence. */
export function surelyDead(file: string, worker: string): boolean {
  if (!existsSync(lockFile(file, worker))) return false
  const lock = takeLock(file, worker)
  lock?.release()
  return lock !== null
}
