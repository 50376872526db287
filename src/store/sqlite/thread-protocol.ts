// Messages between the event loop and the SQLite store's thread, and constants both need.

import type { Change, Written } from '../store.ts'

export interface Setup {
  readonly file: string
  readonly synchronous: 'FULL' | 'NORMAL'
}

export type ThreadRequest =
  | { readonly do: 'write'; readonly changes: readonly Change[]; readonly now: number }
  /** Whether another connection has written since the last request of this kind. */
  | { readonly do: 'news' }
  | { readonly do: 'checkpoint' }
  | { readonly do: 'beat'; readonly worker: string; readonly leaseMs: number; readonly memory: SharedArrayBuffer }

/** `answers` is null if all changes were committed. */
export interface WriteAnswer {
  readonly answers: readonly Written[] | null
  /** Moving average of the thread's commit time. */
  readonly commitMs: number
  readonly wal: WalState
}

/** A SQLite error as sent between threads. */
export interface SerializedError {
  readonly sqliteError: {
    readonly message: string
    readonly code: string | undefined
    readonly errcode: number | undefined
  }
}

export const errorOf = ({ sqliteError: { message, code, errcode } }: SerializedError): Error =>
  Object.assign(new Error(message), code === undefined ? {} : { code }, errcode === undefined ? {} : { errcode })

/** How long a writer waits for another process's lock. */
export const busyTimeoutMs = 5_000

/**
 * Pages in the WAL, and how many of them are checkpointed. The WAL restarts when all of them are and no write happens
 * during the checkpoint.
 */
export interface WalState {
  readonly log: number
  readonly checkpointed: number
}

const longWalPages = 1_000
/** The WAL grew faster than it was checkpointed: writing and checkpointing must alternate. */
export const isOverfull = ({ log }: WalState): boolean => log >= 4 * longWalPages
export const isLong = (wal: WalState): boolean => wal.log - wal.checkpointed >= (isOverfull(wal) ? 1 : longWalPages)
