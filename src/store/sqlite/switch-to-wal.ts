// Switches a SQLite file to WAL mode. Called when the store and the live events open their files.

import type { DatabaseSync } from 'node:sqlite'
import { busyTimeoutMs } from './thread-protocol.ts'

/**
 * Switching to WAL fails while another process has the file open in the old mode, and SQLite does not wait for that,
 * whatever its busy timeout. So this retries.
 */
export function switchToWal(db: DatabaseSync): void {
  const pauseMs = 10
  for (let tries = Math.ceil(busyTimeoutMs / pauseMs); ; tries--) {
    try {
      return db.exec('PRAGMA journal_mode = WAL')
    } catch (error) {
      const isBusy = ((error as { errcode?: number }).errcode ?? 0) % 256 === 5
      if (!isBusy || tries <= 0) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs)
    }
  }
}
