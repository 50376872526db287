// A worker's lease: one row that protects all it owns (DUR-7). Renewed in good time; when renewal comes too late (a stopped
// process, a stalled disk), `fresh` says so and the executions ask before they start anything. While a tool blocks the event loop,
// a thread of the store renews in its place, if the store has one.

import { type Clock, systemClock } from '../../../core/clock.ts'
import { Heart } from '../../../store/lease-heartbeat.ts'
import type { Logger } from '../../../tools/context/context.ts'
import type { Store } from '../../../store/store.ts'

/** A program that is over sooner starts no thread for its lease. */
const longestWithoutThreadMs = 500

export class Lease {
  readonly worker: string
  readonly ms: number
  readonly #store: Store
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #heart: Heart
  /** As far as this thread has renewed it, so that mostly nothing shared need be asked. */
  #until = Number.NEGATIVE_INFINITY
  /** How many workers lived when it was last renewed. */
  workers = 1
  #renewals = 0
  #callOffs: (() => void)[] = []

  constructor(options: { worker: string; ms: number; store: Store; clock: Clock; logger: Logger }) {
    this.worker = options.worker
    this.ms = options.ms
    this.#store = options.store
    this.#clock = options.clock
    this.#logger = options.logger
    this.#heart = new Heart(options.ms)
  }

  /** How often the lease had run out before it was renewed: each time, others may have taken what we held. Asked after `fresh`. */
  get lapses(): number {
    return this.#heart.lapses
  }

  /** Whether the store surely still counts this worker as alive. */
  fresh(): boolean {
    const now = this.#clock.monotonic()
    return now < this.#until || now < this.#heart.until
  }

  async renew(): Promise<void> {
    // Measured before the store does: our idea of the end is never later than the store's.
    const from = this.#clock.monotonic()
    this.workers = await this.#store.renew(this.worker, this.ms)
    this.#heart.renewed(from, this.#clock.monotonic())
    this.#until = from + this.ms
  }

  /** Renews three times per lease, and calls `tick` each time: the moment to look for work that others left. */
  keep(tick: () => void): void {
    const beat = (): void => {
      this.#heart.sign(this.#clock.monotonic())
      this.#tellOfThread()
      this.renew().then(tick, (cause: Error) =>
        this.#logger.warn('The lease could not be renewed', { cause: cause.message }),
      )
    }
    this.#heart.sign(this.#clock.monotonic())
    this.#callOffs.push(this.#clock.every(this.ms / 3, beat))
    if (this.#clock !== systemClock) return
    const later = Math.min(this.ms / 10, longestWithoutThreadMs)
    this.#callOffs.push(this.#clock.timer(later, () => this.#store.keepAlive?.(this.worker, this.#heart)))
  }

  stop(): void {
    for (const callOff of this.#callOffs) callOff()
  }

  #tellOfThread(): void {
    const { renewals } = this.#heart
    if (renewals === this.#renewals) return
    this.#renewals = renewals
    this.#logger.warn('The event loop was blocked; a thread kept the lease. Move long computations out of it', {
      lease: this.ms,
    })
  }
}
