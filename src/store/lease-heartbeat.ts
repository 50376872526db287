// What the event loop and a thread beside it know of a lease, in memory they share. The loop renews as long as it can. When a tool blocks
// it, the thread renews in its place (DUR-7), but not for ever: a loop that is silent for long will hardly come back.

import type { MaybePromise } from '../core/maybe-promise.ts'
import { systemClock } from '../core/clock.ts'

/** How many leases long the event loop may be silent. After that the lease runs out. */
const patience = 3

// The end of the lease and the last sign of life, in monotonic milliseconds; then what is counted.
const instants = { until: 0, sign: 1 } as const
const counts = { lapses: 4, renewals: 5 } as const

export class Heart {
  readonly leaseMs: number
  readonly memory: SharedArrayBuffer
  readonly #instants: BigInt64Array
  readonly #counts: Int32Array

  constructor(leaseMs: number, memory: SharedArrayBuffer = new SharedArrayBuffer(24)) {
    this.leaseMs = leaseMs
    this.memory = memory
    this.#instants = new BigInt64Array(memory)
    this.#counts = new Int32Array(memory)
  }

  /** Until when the store surely counts the worker as alive. Asked before `lapses`, it tells of no renewal that came too late. */
  get until(): number {
    return Number(Atomics.load(this.#instants, instants.until))
  }

  /** How often the lease had run out before it was renewed: each time, others may have taken what we held. */
  get lapses(): number {
    return Atomics.load(this.#counts, counts.lapses)
  }

  /** How often the thread had to step in. */
  get renewals(): number {
    return Atomics.load(this.#counts, counts.renewals)
  }

  /** The event loop turns. */
  sign(now: number): void {
    Atomics.store(this.#instants, instants.sign, BigInt(Math.floor(now)))
  }

  /** The store has renewed the lease, between `from` and `now`. */
  renewed(from: number, now: number, by?: 'by the thread'): void {
    if (by) Atomics.add(this.#counts, counts.renewals, 1)
    let known = Atomics.load(this.#instants, instants.until)
    // Counted before the new end can be seen: who sees the lease as fresh again also sees that it was not.
    if (BigInt(Math.floor(now)) >= known) Atomics.add(this.#counts, counts.lapses, 1)
    const until = BigInt(Math.floor(from + this.leaseMs))
    while (until > known) {
      const found = Atomics.compareExchange(this.#instants, instants.until, known, until)
      if (found === known) return
      known = found
    }
  }

  /** Whether the thread must renew now: half of the lease is gone, so the loop is late, and it is not late for too long. */
  isWanted(now: number): boolean {
    return (
      now > this.until - this.leaseMs / 2 &&
      now - Number(Atomics.load(this.#instants, instants.sign)) < patience * this.leaseMs
    )
  }
}

/** In the thread: looks six times per lease whether `renew` is wanted. That says whether the worker has a lease that could be renewed. */
export function beat(heart: Heart, renew: () => MaybePromise<boolean>): void {
  let busy = false
  const look = async (): Promise<void> => {
    const from = systemClock.monotonic()
    if (busy || !heart.isWanted(from)) return
    busy = true
    try {
      if (await renew()) heart.renewed(from, systemClock.monotonic(), 'by the thread')
    } catch {
      // the store is away: the next look tries again
    } finally {
      busy = false
    }
  }
  systemClock.every(heart.leaseMs / 6, () => void look())
}
