// Lease state in memory shared by the event loop and the store's thread. The loop renews the lease as long as it runs.
// While a tool blocks the loop, the thread renews instead, but only for a limited time: a loop that has been silent for
// several leases is unlikely to come back.

import type { MaybePromise } from '../core/maybe-promise.ts'
import { systemClock } from '../core/clock.ts'

/** If the event loop is silent for this many lease periods, the thread stops renewing and the lease expires. */
const maxSilentLeases = 3

// Indexes into the shared memory: lease end and last event-loop activity in monotonic milliseconds, then two
// counters.
const instants = { until: 0, sign: 1 } as const
const counts = { lapses: 4, renewals: 5 } as const

export class LeaseHeartbeat {
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

  /**
   * Until when the store certainly counts the worker as alive. Read this before `lapses`: a late renewal then shows
   * in `lapses`.
   */
  get until(): number {
    return Number(Atomics.load(this.#instants, instants.until))
  }

  /**
   * How often the lease had already expired when it was renewed. Each time, other workers may have claimed our calls.
   */
  get lapses(): number {
    return Atomics.load(this.#counts, counts.lapses)
  }

  /** How often the thread renewed the lease. */
  get renewals(): number {
    return Atomics.load(this.#counts, counts.renewals)
  }

  /** Records that the event loop is running. */
  recordActivity(now: number): void {
    Atomics.store(this.#instants, instants.sign, BigInt(Math.floor(now)))
  }

  /** Records a renewal that started at `from` and was confirmed at `now`. */
  recordRenewal(from: number, now: number, by?: 'by the thread'): void {
    if (by) Atomics.add(this.#counts, counts.renewals, 1)
    let current = Atomics.load(this.#instants, instants.until)
    // The lapse is counted before the new end is published: a reader that sees the renewed lease also sees the lapse.
    if (BigInt(Math.floor(now)) >= current) Atomics.add(this.#counts, counts.lapses, 1)
    const newEnd = BigInt(Math.floor(from + this.leaseMs))
    while (newEnd > current) {
      const found = Atomics.compareExchange(this.#instants, instants.until, current, newEnd)
      if (found === current) return
      current = found
    }
  }

  /**
   * True if the thread must renew now: half of the lease has passed without a renewal, and the event loop has not
   * been silent for too long.
   */
  needsRenewal(now: number): boolean {
    return (
      now > this.until - this.leaseMs / 2 &&
      now - Number(Atomics.load(this.#instants, instants.sign)) < maxSilentLeases * this.leaseMs
    )
  }
}

/**
 * Runs in the thread: checks six times per lease whether a renewal is needed. `renew` returns false if the worker no
 * longer has a lease to renew.
 */
export function startHeartbeat(heart: LeaseHeartbeat, renew: () => MaybePromise<boolean>): void {
  let busy = false
  const check = async (): Promise<void> => {
    const from = systemClock.monotonic()
    if (busy || !heart.needsRenewal(from)) return
    busy = true
    try {
      if (await renew()) heart.recordRenewal(from, systemClock.monotonic(), 'by the thread')
    } catch {
      // The store is unreachable: the next check tries again.
    } finally {
      busy = false
    }
  }
  systemClock.every(heart.leaseMs / 6, () => void check())
}
