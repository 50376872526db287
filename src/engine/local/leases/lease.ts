// The lease of a worker: one row that protects all calls it owns. When renewal comes too late (a stopped process, a
// stalled disk), `fresh` is false and executions check with the store before they start an effect. While a tool blocks
// the event loop, a thread of the store renews the lease, if the store has one.

import { type Clock, systemClock } from '../../../core/clock.ts'
import { LeaseHeartbeat } from '../../../store/lease-heartbeat.ts'
import type { Logger } from '../../../tools/context/tool-context.ts'
import type { Store } from '../../../store/store.ts'

/** Delay before the renewal thread starts; short programs never start it. */
const longestWithoutThreadMs = 500

export class Lease {
  readonly worker: string
  readonly ms: number
  readonly #store: Store
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #heartbeat: LeaseHeartbeat
  /** End of the lease as renewed by this thread, so that `fresh` rarely reads shared memory. */
  #until = Number.NEGATIVE_INFINITY
  /** Number of live workers at the last renewal. */
  workers = 1
  #seenRenewals = 0
  #stopTimers: (() => void)[] = []

  constructor(options: { worker: string; ms: number; store: Store; clock: Clock; logger: Logger }) {
    this.worker = options.worker
    this.ms = options.ms
    this.#store = options.store
    this.#clock = options.clock
    this.#logger = options.logger
    this.#heartbeat = new LeaseHeartbeat(options.ms)
  }

  /**
   * How often the lease had expired before a renewal. After each lapse other workers may own our calls. Read after
   * `fresh`.
   */
  get lapses(): number {
    return this.#heartbeat.lapses
  }

  /** True if it is certain that the store still counts this worker as alive. */
  fresh(): boolean {
    const now = this.#clock.monotonic()
    return now < this.#until || now < this.#heartbeat.until
  }

  async renew(): Promise<void> {
    // Measured before the store reads its clock, so that our end of the lease is never later than the store's.
    const from = this.#clock.monotonic()
    this.workers = await this.#store.renew(this.worker, this.ms)
    this.#heartbeat.recordRenewal(from, this.#clock.monotonic())
    this.#until = from + this.ms
  }

  /** Renews three times per lease and calls `tick` each time, to look for abandoned work. */
  startRenewing(tick: () => void): void {
    const beat = (): void => {
      this.#heartbeat.recordActivity(this.#clock.monotonic())
      this.#warnIfBlocked()
      this.renew().then(tick, (cause: Error) =>
        this.#logger.warn('The lease could not be renewed', { cause: cause.message }),
      )
    }
    this.#heartbeat.recordActivity(this.#clock.monotonic())
    this.#stopTimers.push(this.#clock.every(this.ms / 3, beat))
    if (this.#clock !== systemClock) return
    const threadDelayMs = Math.min(this.ms / 10, longestWithoutThreadMs)
    this.#stopTimers.push(this.#clock.timer(threadDelayMs, () => this.#store.keepAlive?.(this.worker, this.#heartbeat)))
  }

  stop(): void {
    for (const stopTimer of this.#stopTimers) stopTimer()
  }

  #warnIfBlocked(): void {
    const { renewals } = this.#heartbeat
    if (renewals === this.#seenRenewals) return
    this.#seenRenewals = renewals
    this.#logger.warn(
      'The event loop was blocked; a thread renewed the lease. Move long computations to a worker thread',
      {
        lease: this.ms,
      },
    )
  }
}
