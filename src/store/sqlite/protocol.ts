// What the event loop and the thread of a SQLite store say to each other, and what both must agree on.

import type { Change, Written } from '../store.ts'

export interface Setup {
  readonly file: string
  readonly synchronous: 'FULL' | 'NORMAL'
}

export type Question =
  | { readonly do: 'write'; readonly changes: readonly Change[] }
  /** Whether any other connection has written since this was asked last. */
  | { readonly do: 'news' }
  | { readonly do: 'checkpoint' }
  | { readonly do: 'beat'; readonly worker: string; readonly leaseMs: number; readonly memory: SharedArrayBuffer }

/** `null`: all of them are on record. */
export interface WriteAnswer {
  readonly answers: readonly Written[] | null
  readonly ms: number
  /** What is in the WAL alone. */
  readonly pages: number
}

/** An error of SQLite, on its way from one thread to the other. */
export interface Told {
  readonly told: { readonly message: string; readonly code: string | undefined; readonly errcode: number | undefined }
}

export const errorOf = ({ told: { message, code, errcode } }: Told): Error =>
  Object.assign(new Error(message), code === undefined ? {} : { code }, errcode === undefined ? {} : { errcode })

/** How long a writer waits for another process. */
export const busyTimeoutMs = 5_000

/** From so many pages on, the WAL is written into the database. */
export const longWal = 1_000
export const checkpoint = 'PRAGMA wal_checkpoint(PASSIVE)'
/** Looks without doing; a SQLite that does not know NOOP checkpoints at once. */
export const walSize = 'PRAGMA wal_checkpoint(NOOP)'
export const pagesIn = (looked: unknown): number => {
  const { log, checkpointed } = looked as { log: number; checkpointed: number }
  return log - checkpointed
}
