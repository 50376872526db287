// What the event loop and the thread of a SQLite store say to each other, and what both must agree on.

import type { Change, Written } from '../store.ts'

export interface Setup {
  readonly file: string
  readonly synchronous: 'FULL' | 'NORMAL'
}

export type Question =
  | { readonly do: 'write'; readonly changes: readonly Change[]; readonly now: number }
  /** Whether any other connection has written since this was asked last. */
  | { readonly do: 'news' }
  | { readonly do: 'checkpoint' }
  | { readonly do: 'beat'; readonly worker: string; readonly leaseMs: number; readonly memory: SharedArrayBuffer }

/** `null`: all of them are on record. */
export interface WriteAnswer {
  readonly answers: readonly Written[] | null
  /** How long commits take there, on average of late. */
  readonly commitMs: number
  readonly wal: Wal
}

/** An error of SQLite, on its way from one thread to the other. */
export interface Told {
  readonly told: { readonly message: string; readonly code: string | undefined; readonly errcode: number | undefined }
}

export const errorOf = ({ told: { message, code, errcode } }: Told): Error =>
  Object.assign(new Error(message), code === undefined ? {} : { code }, errcode === undefined ? {} : { errcode })

/** How long a writer waits for another process. */
export const busyTimeoutMs = 5_000

/** How many pages the WAL has, and how many of them are in the database too. It begins anew when all are, and nobody writes meanwhile. */
export interface Wal {
  readonly log: number
  readonly checkpointed: number
}

const longWal = 1_000
/** It was written into faster than it was checkpointed: now the two must take turns. */
export const isCrowded = ({ log }: Wal): boolean => log >= 4 * longWal
export const isLong = (wal: Wal): boolean => wal.log - wal.checkpointed >= (isCrowded(wal) ? 1 : longWal)
