// What wakes a waiting call on this worker: an answer, or the clock. One sleeper serves all deadlines, and a wait costs a map
// entry only while a body stands in it.

import { PawlError } from '../../../core/errors.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Resolution, WaitRecord } from '../../../store/records/call-record.ts'
import { isUnreadable } from '../../../security/seal.ts'
import type { Store } from '../../../store/store.ts'
import type { Logger } from '../../../tools/context/context.ts'
import { decodeResolution } from '../../../store/records/resolution.ts'

/** Bodies that stand in `await later.value`. */
export class Waiters {
  readonly #store: Store
  readonly #waiting = new Map<string, Set<(resolution: Resolution) => void>>()
  /** Waits whose answer may be on record although its writer, or its reader, heard of a failure. */
  readonly #doubted = new Set<string>()

  constructor(store: Store) {
    this.#store = store
  }

  async answer(wait: string, signal: AbortSignal): Promise<Resolution> {
    return new Promise<Resolution>((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error)
      const waiting = this.#waiting.get(wait) ?? new Set()
      this.#waiting.set(wait, waiting)
      const forget = (): void => {
        signal.removeEventListener('abort', aborted)
        waiting.delete(deliver)
        if (waiting.size === 0) this.#waiting.delete(wait)
      }
      const deliver = (resolution: Resolution): void => {
        forget()
        resolve(resolution)
      }
      const aborted = (): void => {
        forget()
        reject(signal.reason as Error)
      }
      waiting.add(deliver)
      signal.addEventListener('abort', aborted, { once: true })
      // It listens first and looks second, so an answer that comes in between is not missed.
      this.#look(wait).then(
        (there) => {
          if (there) return
          forget()
          reject(new PawlError('store_unavailable', 'A wait is no longer on record.'))
        },
        // The store was away for a moment. That says nothing about the wait, and nothing to the body: it is looked at again.
        (error: unknown) => {
          if (!isUnreadable(error)) return this.doubted(wait)
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

  /** Another process answered it. */
  async answered(wait: string): Promise<void> {
    if (this.#waiting.has(wait)) await this.#look(wait)
  }

  /** Another process may have answered any of them. */
  async lookAtAll(): Promise<void> {
    await Promise.all([...this.#waiting.keys()].map((wait) => this.#look(wait)))
  }

  doubted(wait: string): void {
    if (this.#waiting.has(wait)) this.#doubted.add(wait)
  }

  async lookAtDoubted(): Promise<void> {
    for (const wait of this.#doubted) {
      await this.#look(wait)
      this.#doubted.delete(wait)
    }
  }

  /** Whether it is on record. */
  async #look(wait: string): Promise<boolean> {
    const record = await this.#store.wait(wait)
    if (record && record.resolution !== null) this.deliver(wait, decodeResolution(record.resolution))
    return record !== undefined
  }
}

const retryMs = 1_000
const unreadableMs = 60_000

/** The one sleeper for all deadlines. */
export class Timers {
  readonly #store: Store
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #expire: (wait: WaitRecord) => Promise<boolean>
  #armedFor = Number.POSITIVE_INFINITY
  #callOff: (() => void) | null = null
  #stopped = false

  constructor(options: { store: Store; clock: Clock; logger: Logger; expire: (wait: WaitRecord) => Promise<boolean> }) {
    this.#store = options.store
    this.#clock = options.clock
    this.#logger = options.logger
    this.#expire = options.expire
  }

  /** Something is due at `deadline`: wake then, if nothing wakes us sooner. */
  soon(deadline: number): void {
    if (this.#stopped || deadline >= this.#armedFor) return
    this.#callOff?.()
    this.#armedFor = deadline
    this.#callOff = this.#clock.timer(deadline - this.#clock.now(), () => {
      this.sweep().catch((error: unknown) => {
        this.#logger.warn('Deadlines could not be looked at; trying again soon', { error })
        this.soon(this.#clock.now() + retryMs)
      })
    })
  }

  /** Expires what is due, then sleeps until the next deadline on record. */
  async sweep(): Promise<void> {
    if (this.#stopped) return
    this.#callOff?.()
    this.#armedFor = Number.POSITIVE_INFINITY
    const page = 100
    // Those that cannot be read stay due: they are passed over, and must neither keep the sleeper awake nor hide what comes after them.
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
      const coming = (await this.#store.dueWaits(later, unreadable.size + 1)).find(({ id }) => !unreadable.has(id))
      return this.soon(coming?.deadline ?? later)
    }
    const next = await this.#store.nextDeadline()
    if (next !== undefined) this.soon(next)
  }

  /** Until an instant, or until the signal says it is no longer wanted. */
  sleep(until: number, signal: AbortSignal): Promise<void> {
    const left = until - this.#clock.now()
    if (left <= 0) return Promise.resolve()
    return new Promise<void>((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error)
      const aborted = (): void => {
        callOff()
        reject(signal.reason as Error)
      }
      const callOff = this.#clock.timer(left, () => {
        signal.removeEventListener('abort', aborted)
        resolve()
      })
      signal.addEventListener('abort', aborted, { once: true })
    })
  }

  stop(): void {
    this.#stopped = true
    this.#callOff?.()
  }
}
