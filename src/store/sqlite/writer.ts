// Who writes a group: the event loop itself, where that is quickest, or the thread, where it would hold the loop up.
//
// Only one group is under way at a time (group.ts), and everything else this process writes waits for it, so the two connections never
// wait for each other.

import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Soon } from '../../kernel/soon.ts'
import type { Clock } from '../../kernel/time.ts'
import type { Heart } from '../heart.ts'
import type { Change, Written } from '../store.ts'
import { besides, Thread } from '../thread.ts'
import {
  busyTimeoutMs,
  checkpoint,
  errorOf,
  longWal,
  pagesIn,
  type Question,
  type Setup,
  type Told,
  walSize,
  type WriteAnswer,
} from './protocol.ts'
import { isBusy, Transactions } from './transaction.ts'

/** Where groups are written: `adaptive` decides by their size and the disk. The others are for tests. */
export type WriterPath = 'adaptive' | 'inline' | 'thread'

/** From so many changes on, sending them costs the event loop less than writing them. */
const largeGroup = 8
/** A disk is slow when a commit takes longer than this, on average. */
const slowMs = 2
/** How often the length of the WAL is looked at, in groups. */
const groupsPerLook = 16
/** How long the event loop may wait for another process: what takes longer waits in the thread, or between its turns. */
const shortTimeoutMs = 50
const retryMs = 5

export class Writer {
  readonly transactions: Transactions
  readonly #db: DatabaseSync
  readonly #clock: Clock
  readonly #setup: Setup
  readonly #path: WriterPath
  readonly #wal: StatementSync
  #thread: Thread | null | undefined
  /** The group that the thread has, and when it is through with it. */
  #sent: Promise<unknown> | null = null
  #commitMs = 0
  #groups = 0
  #checkpointing = false
  /** The WAL has grown long, because the loop writes faster than the thread checkpoints. */
  #crowded = false

  constructor(db: DatabaseSync, clock: Clock, setup: Setup, path: WriterPath) {
    this.#db = db
    this.#clock = clock
    this.#setup = setup
    this.#path = path
    this.transactions = new Transactions(db)
    this.#wal = db.prepare(walSize)
    if (path !== 'inline') db.exec(`PRAGMA wal_autocheckpoint = 0; PRAGMA busy_timeout = ${shortTimeoutMs}`)
  }

  write(changes: readonly Change[]): Written[] | Promise<Written[]> {
    if (this.#path === 'inline') return this.transactions.write(changes)
    if (this.#isForThread(changes.length)) return this.#send(changes)
    const from = performance.now()
    let answers: Written[]
    try {
      answers = this.transactions.write(changes)
    } catch (error) {
      if (!isBusy(error)) throw error
      return this.#send(changes)
    }
    this.#took(performance.now() - from)
    if (++this.#groups % groupsPerLook === 0) this.#look()
    return answers
  }

  /** A write of another kind. While the thread has a group, it waits its turn; while another process writes, it tries again. */
  alone<T>(work: () => T): Soon<T> {
    if (this.#sent) return this.#sent.then(() => this.alone(work))
    try {
      return work()
    } catch (error) {
      if (this.#path === 'inline' || !isBusy(error)) throw error
      return this.#patiently(work)
    }
  }

  /** Whether another process has written, given that some connection other than the loop's has. */
  news(): Soon<boolean> {
    if (!this.#thread?.ready) return true
    return this.#thread.ask<boolean>({ do: 'news' } satisfies Question).catch(() => true)
  }

  keepAlive(worker: string, { leaseMs, memory }: Heart): void {
    this.#start()?.tell({ do: 'beat', worker, leaseMs, memory } satisfies Question)
  }

  async close(): Promise<void> {
    await this.#thread?.end()
  }

  #isForThread(changes: number): boolean {
    if (this.#path === 'thread') return true
    const wanted = changes >= largeGroup || this.#commitMs > slowMs || this.#crowded
    // Nobody waits for it to start.
    return wanted && this.#start()?.ready === true
  }

  async #send(changes: readonly Change[]): Promise<Written[]> {
    const sent = this.#sendOnce(changes)
    const over = (): void => void (this.#sent = null)
    this.#sent = sent.then(over, over)
    return sent
  }

  /** Should the thread end before it answers, nobody knows whether the group is on record: this throws, as group.ts wants it. */
  async #sendOnce(changes: readonly Change[]): Promise<Written[]> {
    const thread = await this.#started()
    let asked: Promise<WriteAnswer> | undefined
    try {
      asked = thread?.ask<WriteAnswer>({ do: 'write', changes } satisfies Question)
    } catch {
      // What cannot travel cannot be recorded either, and writing it here says why.
    }
    if (!asked) return this.#patiently(() => this.transactions.write(changes))
    const { answers, ms, pages } = await asked.catch(rethrow)
    this.#took(ms)
    if (pages < longWal) this.#crowded = false
    return answers?.map(answerOf) ?? changes.map(() => done)
  }

  /** Starts the thread when it is first wanted; null if there can be none. One that has died is not replaced. */
  #start(): Thread | null {
    if (this.#thread === undefined) {
      try {
        this.#thread = new Thread(besides(import.meta.url, 'thread'), this.#setup)
      } catch {
        this.#thread = null
      }
    }
    return this.#thread?.dead ? null : this.#thread
  }

  /** The thread when it is ready; null if there can be none. */
  async #started(): Promise<Thread | null> {
    const thread = this.#start()
    if (thread && !thread.ready) await thread.started
    return thread?.ready ? thread : null
  }

  /** Tries again between the turns of the loop, as long as SQLite would have waited in one. */
  async #patiently<T>(work: () => T): Promise<T> {
    for (const until = this.#clock.monotonic() + busyTimeoutMs; ;) {
      try {
        return work()
      } catch (error) {
        if (!isBusy(error) || this.#clock.monotonic() >= until) throw error
      }
      await new Promise<void>((resolve) => void this.#clock.timer(retryMs, resolve))
    }
  }

  #took(ms: number): void {
    this.#commitMs += (ms - this.#commitMs) / 8
  }

  /** The thread checkpoints what the loop writes, beside it. Should it not keep up, it gets the groups too: then they take turns. */
  #look(): void {
    const pages = pagesIn(this.#wal.get())
    if (pages < longWal) return
    this.#crowded = pages >= 4 * longWal
    const thread = this.#start()
    if (!thread) this.#db.exec(checkpoint)
    else if (thread.ready && !this.#checkpointing) {
      this.#checkpointing = true
      const over = (): void => void (this.#checkpointing = false)
      thread.ask({ do: 'checkpoint' } satisfies Question).then(over, over)
    }
  }
}

const done: Written = { ok: true }
const answerOf = (answer: Written): Written => ('failed' in answer ? { failed: errorOf(answer.failed as Told) } : answer)
const rethrow = (error: unknown): never => {
  throw 'told' in (error as object) ? errorOf(error as Told) : error
}
