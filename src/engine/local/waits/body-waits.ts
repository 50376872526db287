// The waits and sleeps a body is in, and how long it has been in them.

import type { Clock } from '../../../core/clock.ts'
import type { LeasedCall } from '../leases/leased-call.ts'

export class BodyWaits {
  readonly #clock: Clock
  readonly #opened: () => void
  #open = 0
  /** Of those, what the body asked for itself, and since when there has been any. */
  #asked = 0
  #since = 0
  #ms = 0

  constructor(clock: Clock, opened: () => void) {
    this.#clock = clock
    this.#opened = opened
  }

  get open(): boolean {
    return this.#open > 0
  }

  /** Milliseconds spent in what the body asked to wait for, since they were last taken. */
  get ms(): number {
    return this.#ms
  }

  taken(): number {
    const ms = this.#ms
    this.#ms = 0
    return ms
  }

  /** What the body asked to wait for. Several at once are the same time. */
  async asked<T>(wait: () => Promise<T>): Promise<T> {
    if (this.#asked++ === 0) this.#since = this.#clock.now()
    try {
      return await this.until(wait)
    } finally {
      if (--this.#asked === 0) this.#ms += this.#clock.now() - this.#since
    }
  }

  /** What is left of a delay, or until the call is stopped. */
  async delay(until: number, held: LeasedCall): Promise<void> {
    const abort = new AbortController()
    const forget = held.onStop((why) => abort.abort(why))
    try {
      await this.until(() => held.host.timers.sleep(until, abort.signal))
    } catch (error) {
      if (!held.stopped) throw error
    } finally {
      forget()
    }
    held.check()
  }

  async until<T>(wait: () => Promise<T>): Promise<T> {
    this.#open++
    this.#opened()
    try {
      return await wait()
    } finally {
      this.#open--
    }
  }
}
