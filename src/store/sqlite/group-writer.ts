// Who writes a group: the event loop itself, where that is quickest, or the thread, where it would hold the loop up.
//
// Only one group is under way at a time (group.ts), and everything else this process writes waits for it, so the two connections never
// wait for each other. They take turns by stretches: SQLite tells a connection that another one has written, not which, so what other
// processes write can be told apart only while one of ours is silent.

import type { DatabaseSync } from 'node:sqlite'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import type { Clock } from '../../core/clock.ts'
import type { Heart } from '../lease-heartbeat.ts'
import type { Change, Written } from '../store.ts'
import { besides, Thread } from '../worker-thread.ts'
import {
  busyTimeoutMs,
  errorOf,
  isCrowded,
  isLong,
  type Question,
  type Setup,
  type Told,
  type WriteAnswer,
} from './thread-protocol.ts'
import { isBusy, Transactions } from './transaction.ts'

/** Where groups are written: `adaptive` decides by their size and the disk. The others are for tests. */
export type WriterPath = 'adaptive' | 'inline' | 'thread'

/** So many changes take the event loop some 5 ms to write. Fewer are sooner written than sent: two threads wake each other slowly. */
const largeGroup = 256
/** A disk is slow when a commit takes longer than this, on average. */
const slowMs = 2
const quickMs = 1
/** How often the length of the WAL is looked at, in groups. */
const groupsPerLook = 16
/** How long the event loop may wait for another process: what takes longer waits in the thread, or between its turns. */
const shortTimeoutMs = 50
const retryMs = 5

export class Writer {
  readonly transactions: Transactions
  readonly #clock: Clock
  readonly #setup: Setup
  readonly #path: WriterPath
  readonly #look: () => void
  readonly #changed: () => boolean
  #thread: Thread | null | undefined
  /** The thread writes the groups of this stretch, the small ones too; and whether there was a reason for that since the last look. */
  #threading = false
  #wanted = false
  /** It has written since the last look, and the loop has not seen it yet. */
  #wrote = false
  /** The thread has a group. What else is to be written waits until it is through with it, and goes before the next. */
  #sent = false
  #waiting: (() => void)[] = []
  /** It may be writing at this moment. */
  #writing = false
  #groups = 0
  #checkpointing = false
  /** The WAL has grown long, because the loop writes faster than the thread checkpoints. */
  #crowded = false

  /** `look` looks for what other processes have written; `changed`: some other connection has written since that was last looked at. */
  constructor(
    db: DatabaseSync,
    clock: Clock,
    setup: Setup,
    path: WriterPath,
    look: () => void,
    changed: () => boolean,
  ) {
    this.#look = look
    this.#changed = changed
    this.#clock = clock
    this.#setup = setup
    this.#path = path
    this.transactions = new Transactions(db, () => clock.monotonic())
    if (path !== 'inline') db.exec(`PRAGMA wal_autocheckpoint = 0; PRAGMA busy_timeout = ${shortTimeoutMs}`)
  }

  write(changes: readonly Change[]): Written[] | Promise<Written[]> {
    if (this.#path === 'inline') return this.transactions.write(changes)
    if (this.#isForThread(changes.length)) return this.#send(changes)
    if (this.#crowded && this.#thread?.ready) return this.#afterCheckpoint(this.#thread, changes)
    return this.#writeHere(changes)
  }

  #writeHere(changes: readonly Change[]): Written[] | Promise<Written[]> {
    let answers: Written[]
    try {
      answers = this.transactions.write(changes)
    } catch (error) {
      if (!isBusy(error)) throw error
      return this.#send(changes)
    }
    if (++this.#groups % groupsPerLook === 0) this.#checkLength()
    return answers
  }

  /** The WAL begins anew when nobody writes while the last of it is moved: so this group waits for that. */
  async #afterCheckpoint(thread: Thread, changes: readonly Change[]): Promise<Written[]> {
    this.#crowded = false
    await thread.ask({ do: 'checkpoint' } satisfies Question).catch(() => {})
    return this.#writeHere(changes)
  }

  /** A write of another kind. While the thread has a group, it waits its turn; while another process writes, it tries again. */
  alone<T>(work: () => T): MaybePromise<T> {
    if (this.#sent) {
      return new Promise<T>((resolve, reject) => {
        this.#waiting.push(() => {
          try {
            resolve(this.alone(work))
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
      return this.#patiently(work)
    }
  }

  /** Whether another process has written, given that some connection other than the loop's has. */
  news(): MaybePromise<boolean> {
    const wrote = this.#wrote || this.#writing
    this.#wrote = false
    if (!wrote || !this.#thread?.ready) return true
    return this.#thread.ask<boolean>({ do: 'news' } satisfies Question).catch(() => true)
  }

  /** Where a sync is cheap, two groups cost hardly more than one. */
  get isQuick(): boolean {
    return this.transactions.commitMs < quickMs
  }

  /** A moment has passed: if nothing was for the thread in it, the loop writes again. */
  rest(): void {
    if (!this.#wanted) this.#threading = false
    this.#wanted = false
  }

  keepAlive(worker: string, { leaseMs, memory }: Heart): void {
    this.#start()?.tell({ do: 'beat', worker, leaseMs, memory } satisfies Question)
  }

  async close(): Promise<void> {
    await this.#thread?.end()
  }

  #isForThread(changes: number): boolean {
    if (this.#path === 'thread') return true
    if (changes >= largeGroup || this.transactions.commitMs > slowMs) this.#wanted = true
    // Nobody waits for it to start.
    return (this.#wanted || this.#threading) && this.#start()?.ready === true
  }

  async #send(changes: readonly Change[]): Promise<Written[]> {
    this.#sent = true
    try {
      return await this.#sendOnce(changes)
    } finally {
      this.#sent = false
      for (const go of this.#waiting.splice(0)) go()
    }
  }

  /** Should the thread end before it answers, nobody knows whether the group is on record: this throws, as group.ts wants it. */
  async #sendOnce(changes: readonly Change[]): Promise<Written[]> {
    const thread = this.#start()
    const isReady = thread?.ready || (await thread?.start())
    if (thread && isReady && !this.#threading) {
      // From here on it knows of what others write; what they wrote before, the loop finds now.
      await thread.ask({ do: 'news' } satisfies Question).catch(() => {})
      this.#look()
      this.#threading = true
    }
    let asked: Promise<WriteAnswer> | undefined
    try {
      this.#writing = isReady === true && thread?.ready === true
      if (this.#writing)
        asked = thread?.ask<WriteAnswer>({ do: 'write', changes, now: this.#clock.monotonic() } satisfies Question)
    } catch {
      this.#writing = false
      // What cannot travel cannot be recorded either, and writing it here says why.
    }
    if (!asked) return this.#patiently(() => this.transactions.write(changes))
    const { answers, commitMs, wal } = await asked.catch(rethrow).finally(() => {
      // The loop may have looked between its commit and its answer, and seen it: then what changes next is another's.
      this.#wrote ||= this.#changed()
      this.#writing = false
    })
    this.transactions.commitMs = commitMs
    this.#crowded = isCrowded(wal)
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

  /** The thread checkpoints what the loop writes, beside it. Should it not keep up, the next group waits for it. */
  #checkLength(): void {
    const wal = this.transactions.wal()
    if (!isLong(wal)) return
    this.#crowded = isCrowded(wal)
    const thread = this.#start()
    if (!thread || (this.#crowded && !thread.ready)) this.transactions.checkpoint()
    else if (thread.ready && !this.#checkpointing) {
      this.#checkpointing = true
      const over = (): void => void (this.#checkpointing = false)
      thread.ask({ do: 'checkpoint' } satisfies Question).then(over, over)
    }
  }
}

const done: Written = { ok: true }
const answerOf = (answer: Written): Written =>
  'failed' in answer ? { failed: errorOf(answer.failed as Told) } : answer
const rethrow = (error: unknown): never => {
  throw 'told' in (error as object) ? errorOf(error as Told) : error
}
