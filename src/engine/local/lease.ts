// A worker's lease: one row that protects all it owns (DUR-7). Renewed in good time; when renewal comes too late (a stopped
// process, a stalled disk), `fresh` says so and the invocations ask before they start anything.

import type { Clock } from '../../kernel/time.ts'
import type { Logger } from '../../tool/context.ts'
import type { Store } from '../../store/store.ts'

export class Lease {
  readonly worker: string
  readonly ms: number
  readonly #store: Store
  readonly #clock: Clock
  readonly #logger: Logger
  #until = Number.NEGATIVE_INFINITY
  /** How often the lease had run out before it was renewed: each time, others may have taken what we held. */
  lapses = 0
  /** How many workers lived when it was last renewed. */
  workers = 1
  #callOff: (() => void) | null = null

  constructor(options: { worker: string; ms: number; store: Store; clock: Clock; logger: Logger }) {
    this.worker = options.worker
    this.ms = options.ms
    this.#store = options.store
    this.#clock = options.clock
    this.#logger = options.logger
  }

  /** Whether the store surely still counts this worker as alive. */
  fresh(): boolean {
    return this.#clock.monotonic() < this.#until
  }

  async renew(): Promise<void> {
    // Measured before the store does: our idea of the end is never later than the store's.
    const from = this.#clock.monotonic()
    this.workers = await this.#store.renew(this.worker, this.ms)
    if (this.#clock.monotonic() >= this.#until) this.lapses++
    this.#until = from + this.ms
  }

  /** Renews three times per lease, and calls `tick` each time: the moment to look for work that others left. */
  keep(tick: () => void): void {
    this.#callOff = this.#clock.every(this.ms / 3, () => {
      this.renew().then(tick, (cause: Error) => this.#logger.warn('The lease could not be renewed', { cause: cause.message }))
    })
  }

  stop(): void {
    this.#callOff?.()
  }
}
