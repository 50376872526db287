// Tracks the waits and sleeps a body is in, and the time spent in them.

import type { Clock } from '../../../core/clock.ts'
import type { LeasedCall } from '../leases/leased-call.ts'

export class BodyWaits {
  readonly #clock: Clock
  readonly #onOpen: () => void
  #openCount = 0
  /** Number of open waits that the body itself requested, and the time since which at least one is open. */
  #timedCount = 0
  #since = 0
  #ms = 0

  constructor(clock: Clock, onOpen: () => void) {
    this.#clock = clock
    this.#onOpen = onOpen
  }

  get open(): boolean {
    return this.#openCount > 0
  }

  /** Milliseconds spent in waits that the body requested, since the last takeMs(). */
  get ms(): number {
    return this.#ms
  }

  takeMs(): number {
    const ms = this.#ms
    this.#ms = 0
    return ms
  }

  /** Runs a wait that the body requested. Overlapping waits count once. */
  async timed<T>(wait: () => Promise<T>): Promise<T> {
    if (this.#timedCount++ === 0) this.#since = this.#clock.now()
    try {
      return await this.during(wait)
    } finally {
      if (--this.#timedCount === 0) this.#ms += this.#clock.now() - this.#since
    }
  }

  /** Waits for the rest of a delay, or until the call is stopped. */
  async delay(until: number, leased: LeasedCall): Promise<void> {
    const abort = new AbortController()
    const forget = leased.onStop((why) => abort.abort(why))
    try {
      await this.during(() => leased.host.timers.sleep(until, abort.signal))
    } catch (error) {
      if (!leased.stopped) throw error
    } finally {
      forget()
    }
    leased.check()
  }

  async during<T>(wait: () => Promise<T>): Promise<T> {
    this.#openCount++
    this.#onOpen()
    try {
      return await wait()
    } finally {
      this.#openCount--
    }
  }
}
