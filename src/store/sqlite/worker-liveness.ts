// Detects dead workers on the same machine without waiting for their lease: every worker locks an empty file next to
// the database. The kernel releases the lock when the process dies, so a lock that can be taken belonged to a dead
// worker. A stopped process keeps its lock; then the lease decides.

import { existsSync, rmSync } from 'node:fs'
import { connect } from './connect.ts'

const lockFile = (file: string, worker: string): string => `${file}-worker-${worker}`

export interface Lock {
  release(): void
}

/** Takes a worker's lock; null if its holder is alive. Uses SQLite's file locking, so it works wherever SQLite does. */
export function takeLock(file: string, worker: string): Lock | null {
  const path = lockFile(file, worker)
  const db = connect(path, 0)
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

/** True if the worker is certainly dead: its lock file exists and is not locked. A missing file proves nothing. */
export function isCertainlyDead(file: string, worker: string): boolean {
  if (!existsSync(lockFile(file, worker))) return false
  const lock = takeLock(file, worker)
  lock?.release()
  return lock !== null
}
