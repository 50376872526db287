// Decides where a group of changes is written: on the event loop if that is quickest, or in the thread if it would
// block the loop. Called by GroupCommit through sqlite-store.ts.
//
// Only one group is in progress at a time (group-commit.ts), and all other writes of this process wait for it, so the
// two connections never block each other. Loop and thread alternate in intervals: SQLite reports that another
// connection has written, but not which one, so writes of other processes can be detected only while one of our
// connections is idle.

import type { DatabaseSync } from 'node:sqlite'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import type { Clock } from '../../core/clock.ts'
import type { LeaseHeartbeat } from '../lease-heartbeat.ts'
import type { Change, Written } from '../store.ts'
import { Thread, threadProgram } from '../worker-thread.ts'
import {
  busyTimeoutMs,
  errorOf,
  isOverfull,
  isLong,
  type ThreadRequest,
  type Setup,
  type SerializedError,
  type WriteAnswer,
} from './thread-protocol.ts'
import { isBusy, Transactions } from './transaction.ts'

/** Where groups are written. `adaptive` decides by group size and disk speed; the others are for tests. */
export type WriterPath = 'adaptive' | 'inline' | 'thread'

/**
 * Writing this many changes blocks the event loop for about 5 ms. Smaller groups are faster to write than to send to
 * the thread.
 */
const largeGroup = 256
/** The disk counts as slow if the average commit takes longer than this. */
const slowMs = 2
const quickMs = 1
/** The WAL length is checked once per this many groups. */
const groupsPerWalCheck = 16
/**
 * How long the event loop may block on another process's lock. Longer waits happen in the thread or between loop
 * turns.
 */
const shortTimeoutMs = 50
const retryMs = 5

export class GroupWriter {
  readonly transactions: Transactions
  readonly #clock: Clock
  readonly #setup: Setup
  readonly #path: WriterPath
  readonly #checkRemoteWrites: () => void
  readonly #hasUnseenWrites: () => boolean
  #thread: Thread | null | undefined
  /** The thread writes all groups of this interval, including small ones. */
  #threadWrites = false
  /** A group has needed the thread since the last poll. */
  #threadWanted = false
  /** The thread has written since the last poll, and the loop has not seen it yet. */
  #threadWroteUnseen = false
  /** The thread has a group. Other writes wait until it has finished and run before the next group. */
  #groupInThread = false
  #waiting: (() => void)[] = []
  /** The thread may be writing right now. */
  #threadIsWriting = false
  #groups = 0
  #checkpointing = false
  /** The WAL is too long, because the loop writes faster than the thread checkpoints. */
  #walOverfull = false

  /**
   * `checkRemoteWrites` looks for writes of other processes. `hasUnseenWrites` tells whether another connection has
   * written since the last check.
   */
  constructor(
    db: DatabaseSync,
    clock: Clock,
    setup: Setup,
    path: WriterPath,
    checkRemoteWrites: () => void,
    hasUnseenWrites: () => boolean,
  ) {
    this.#checkRemoteWrites = checkRemoteWrites
    this.#hasUnseenWrites = hasUnseenWrites
    this.#clock = clock
    this.#setup = setup
    this.#path = path
    this.transactions = new Transactions(db, () => clock.monotonic())
    if (path !== 'inline') db.exec(`PRAGMA wal_autocheckpoint = 0; PRAGMA busy_timeout = ${shortTimeoutMs}`)
  }

  write(changes: readonly Change[]): Written[] | Promise<Written[]> {
    if (this.#path === 'inline') return this.transactions.write(changes)
    if (this.#belongsInThread(changes.length)) return this.#sendToThread(changes)
    if (this.#walOverfull && this.#thread?.ready) return this.#afterCheckpoint(this.#thread, changes)
    return this.#writeHere(changes)
  }

  #writeHere(changes: readonly Change[]): Written[] | Promise<Written[]> {
    let answers: Written[]
    try {
      answers = this.transactions.write(changes)
    } catch (error) {
      if (!isBusy(error)) throw error
      return this.#sendToThread(changes)
    }
    if (++this.#groups % groupsPerWalCheck === 0) this.#checkWalLength()
    return answers
  }

  /** The WAL restarts only if no write happens while its last pages are checkpointed, so this group waits for that. */
  async #afterCheckpoint(thread: Thread, changes: readonly Change[]): Promise<Written[]> {
    this.#walOverfull = false
    await thread.ask({ do: 'checkpoint' } satisfies ThreadRequest).catch(() => {})
    return this.#writeHere(changes)
  }

  /** Runs a write that is not a group. Waits while the thread has a group; retries while another process writes. */
  runExclusive<T>(work: () => T): MaybePromise<T> {
    if (this.#groupInThread) {
      return new Promise<T>((resolve, reject) => {
        this.#waiting.push(() => {
          try {
            resolve(this.runExclusive(work))
          } catch (error) {
            reject(error)
          }
        })
      })
    }
    try {
      return work()
    } catch (error) {
      if (this.#path === 'inline' || !isBusy(error)) throw error
      return this.#retryWhileBusy(work)
    }
  }

  /** Whether another process has written, given that a connection other than the loop's has. */
  hasRemoteWrites(): MaybePromise<boolean> {
    const wrote = this.#threadWroteUnseen || this.#threadIsWriting
    this.#threadWroteUnseen = false
    if (!wrote || !this.#thread?.ready) return true
    return this.#thread.ask<boolean>({ do: 'news' } satisfies ThreadRequest).catch(() => true)
  }

  /** If a sync is cheap, two groups cost hardly more than one. */
  get isSyncCheap(): boolean {
    return this.transactions.commitMs < quickMs
  }

  /** Called at each poll: if nothing needed the thread since the last one, the loop writes again. */
  endInterval(): void {
    if (!this.#threadWanted) this.#threadWrites = false
    this.#threadWanted = false
  }

  keepAlive(worker: string, { leaseMs, memory }: LeaseHeartbeat): void {
    this.#startThread()?.tell({ do: 'beat', worker, leaseMs, memory } satisfies ThreadRequest)
  }

  async close(): Promise<void> {
    await this.#thread?.end()
  }

  #belongsInThread(changes: number): boolean {
    if (this.#path === 'thread') return true
    if (changes >= largeGroup || this.transactions.commitMs > slowMs) this.#threadWanted = true
    // No group waits for the thread to start; until it is ready the loop writes.
    return (this.#threadWanted || this.#threadWrites) && this.#startThread()?.ready === true
  }

  async #sendToThread(changes: readonly Change[]): Promise<Written[]> {
    this.#groupInThread = true
    try {
      return await this.#sendGroup(changes)
    } finally {
      this.#groupInThread = false
      for (const resume of this.#waiting.splice(0)) resume()
    }
  }

  /**
   * If the thread dies before it answers, it is unknown whether the group was committed: this throws, as GroupCommit
   * requires.
   */
  async #sendGroup(changes: readonly Change[]): Promise<Written[]> {
    const thread = this.#startThread()
    const isReady = thread?.ready || (await thread?.start())
    if (thread && isReady && !this.#threadWrites) {
      // From here on the thread tracks writes of other processes; the loop looks for earlier ones now.
      await thread.ask({ do: 'news' } satisfies ThreadRequest).catch(() => {})
      this.#checkRemoteWrites()
      this.#threadWrites = true
    }
    let answer: Promise<WriteAnswer> | undefined
    try {
      this.#threadIsWriting = isReady === true && thread?.ready === true
      if (this.#threadIsWriting)
        answer = thread?.ask<WriteAnswer>({
          do: 'write',
          changes,
          now: this.#clock.monotonic(),
        } satisfies ThreadRequest)
    } catch {
      this.#threadIsWriting = false
      // A change that cannot be cloned cannot be recorded either; writing it here gives the proper error.
    }
    if (!answer) return this.#retryWhileBusy(() => this.transactions.write(changes))
    const { answers, commitMs, wal } = await answer.catch(rethrow).finally(() => {
      // The loop may have polled between the thread's commit and its answer and seen that commit; then the next
      // change is another process's.
      this.#threadWroteUnseen ||= this.#hasUnseenWrites()
      this.#threadIsWriting = false
    })
    this.transactions.commitMs = commitMs
    this.#walOverfull = isOverfull(wal)
    return answers?.map(deserializeResult) ?? changes.map(() => committed)
  }

  /** Starts the thread on first use; null if threads are unavailable. A dead thread is not replaced. */
  #startThread(): Thread | null {
    if (this.#thread === undefined) {
      try {
        this.#thread = new Thread(threadProgram(import.meta.url, 'writer-thread'), this.#setup)
      } catch {
        this.#thread = null
      }
    }
    return this.#thread?.dead ? null : this.#thread
  }

  /**
   * Retries between loop turns for as long as SQLite's own busy timeout would block. The process stays alive meanwhile:
   * one that is about to start has nothing else that keeps it.
   */
  async #retryWhileBusy<T>(work: () => T): Promise<T> {
    const releaseHold = this.#clock.hold()
    try {
      for (const until = this.#clock.monotonic() + busyTimeoutMs; ;) {
        try {
          return work()
        } catch (error) {
          if (!isBusy(error) || this.#clock.monotonic() >= until) throw error
        }
        await new Promise<void>((resolve) => void this.#clock.timer(retryMs, resolve))
      }
    } finally {
      releaseHold()
    }
  }

  /** The thread checkpoints the loop's writes in parallel. If it cannot keep up, the next group waits for it. */
  #checkWalLength(): void {
    const wal = this.transactions.wal()
    if (!isLong(wal)) return
    this.#walOverfull = isOverfull(wal)
    const thread = this.#startThread()
    if (!thread || (this.#walOverfull && !thread.ready)) this.transactions.checkpoint()
    else if (thread.ready && !this.#checkpointing) {
      this.#checkpointing = true
      const over = (): void => void (this.#checkpointing = false)
      thread.ask({ do: 'checkpoint' } satisfies ThreadRequest).then(over, over)
    }
  }
}

const committed: Written = { ok: true }
const deserializeResult = (answer: Written): Written =>
  'failed' in answer ? { failed: errorOf(answer.failed as SerializedError) } : answer
const rethrow = (error: unknown): never => {
  throw 'sqliteError' in (error as object) ? errorOf(error as SerializedError) : error
}
