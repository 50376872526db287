// Wakes waiting calls on this worker: by an answer (Waiters) or by the clock (Timers). One timer serves all deadlines,
// and a wait has a map entry only while a body waits for it.

import { PawlError } from '../../../core/errors.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Resolution, WaitRecord } from '../../../store/records/call-record.ts'
import { isUnreadable } from '../../../security/seal.ts'
import type { Store } from '../../../store/store.ts'
import type { Logger } from '../../../tools/context/tool-context.ts'
import { decodeResolution } from '../../../store/records/wait-resolution.ts'

/** Bodies that are in `await later.value`. */
export class Waiters {
  readonly #store: Store
  readonly #waiting = new Map<string, Set<(resolution: Resolution) => void>>()
  /** Waits whose answer may be recorded although its write or read failed. */
  readonly #uncertain = new Set<string>()

  constructor(store: Store) {
    this.#store = store
  }

  async answer(wait: string, signal: AbortSignal): Promise<Resolution> {
    return new Promise<Resolution>((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error)
      const waiting = this.#waiting.get(wait) ?? new Set()
      this.#waiting.set(wait, waiting)
      const forget = (): void => {
        signal.removeEventListener('abort', onAbort)
        waiting.delete(deliver)
        if (waiting.size === 0) this.#waiting.delete(wait)
      }
      const deliver = (resolution: Resolution): void => {
        forget()
        resolve(resolution)
      }
      const onAbort = (): void => {
        forget()
        reject(signal.reason as Error)
      }
      waiting.add(deliver)
      signal.addEventListener('abort', onAbort, { once: true })
      // Subscribed first, read second, so that an answer in between is not missed.
      this.#check(wait).then(
        (isRecorded) => {
          if (isRecorded) return
          forget()
          reject(new PawlError('store_unavailable', 'The wait is no longer recorded.'))
        },
        // A store outage must not fail the body: the wait is checked again later.
        (error: unknown) => {
          if (!isUnreadable(error)) return this.markUncertain(wait)
          forget()
          reject(error)
        },
      )
    })
  }

  deliver(wait: string, resolution: Resolution): void {
    for (const deliver of this.#waiting.get(wait) ?? []) deliver(resolution)
  }

  get count(): number {
    return this.#waiting.size
  }

  async onRemoteAnswer(wait: string): Promise<void> {
    if (this.#waiting.has(wait)) await this.#check(wait)
  }

  async checkAll(): Promise<void> {
    await Promise.all([...this.#waiting.keys()].map((wait) => this.#check(wait)))
  }

  markUncertain(wait: string): void {
    if (this.#waiting.has(wait)) this.#uncertain.add(wait)
  }

  async checkUncertain(): Promise<void> {
    for (const wait of this.#uncertain) {
      await this.#check(wait)
      this.#uncertain.delete(wait)
    }
  }

  /** Delivers a recorded answer. Returns false if the wait no longer exists. */
  async #check(wait: string): Promise<boolean> {
    const record = await this.#store.wait(wait)
    if (record && record.resolution !== null) this.deliver(wait, decodeResolution(record.resolution))
    return record !== undefined
  }
}

const retryMs = 1_000
const unreadableMs = 60_000

/** One timer for all deadlines. */
export class Timers {
  readonly #store: Store
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #expire: (wait: WaitRecord) => Promise<boolean>
  #armedFor = Number.POSITIVE_INFINITY
  #stopTimer: (() => void) | null = null
  #stopped = false

  constructor(options: { store: Store; clock: Clock; logger: Logger; expire: (wait: WaitRecord) => Promise<boolean> }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#logger = options.logger
    this.#expire = options.expire
  }

  /** Sets the timer to `deadline` unless it is already set to an earlier time. */
  wakeAt(deadline: number): void {
    if (this.#stopped || deadline >= this.#armedFor) return
    this.#stopTimer?.()
    this.#armedFor = deadline
    this.#stopTimer = this.#clock.timer(deadline - this.#clock.now(), () => {
      this.sweep().catch((error: unknown) => {
        this.#logger.warn('Deadlines could not be checked; retrying in 1 s', { error })
        this.wakeAt(this.#clock.now() + retryMs)
      })
    })
  }

  /** Expires due waits, then sets the timer to the next recorded deadline. */
  async sweep(): Promise<void> {
    if (this.#stopped) return
    this.#stopTimer?.()
    this.#armedFor = Number.POSITIVE_INFINITY
    const page = 100
    // Unreadable waits stay due. They are skipped: they must neither keep the timer firing nor hide later waits.
    const unreadable = new Set<string>()
    for (;;) {
      const limit = page + unreadable.size
      const due = await this.#store.dueWaits(this.#clock.now(), limit)
      const open = due.filter(({ id }) => !unreadable.has(id))
      const expired = await Promise.all(open.map((wait) => this.#expire(wait)))
      for (const [index, { id }] of open.entries()) if (!expired[index]) unreadable.add(id)
      if (due.length < limit) break
    }
    if (unreadable.size > 0) {
      const later = this.#clock.now() + unreadableMs
      const nextReadable = (await this.#store.dueWaits(later, unreadable.size + 1)).find(
        ({ id }) => !unreadable.has(id),
      )
      return this.wakeAt(nextReadable?.deadline ?? later)
    }
    const next = await this.#store.nextDeadline()
    if (next !== undefined) this.wakeAt(next)
  }

  /** Sleeps until an instant, or rejects when the signal aborts. */
  sleep(until: number, signal: AbortSignal): Promise<void> {
    const left = until - this.#clock.now()
    if (left <= 0) return Promise.resolve()
    return new Promise<void>((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error)
      const onAbort = (): void => {
        stopTimer()
        reject(signal.reason as Error)
      }
      const stopTimer = this.#clock.timer(left, () => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      })
      signal.addEventListener('abort', onAbort, { once: true })
    })
  }

  stop(): void {
    this.#stopped = true
    this.#stopTimer?.()
  }
}
