// Limits on requests and open streams, per token or address.

import type { Clock } from '../../core/clock.ts'

interface Bucket {
  left: number
  at: number
}

/** Buckets that are full again say nothing; above this number they are removed. */
const maxBuckets = 10_000

/** A token bucket per key: `perSecond` on average, and `burst` at once. */
export class RateLimit {
  readonly #buckets = new Map<string, Bucket>()
  readonly #perSecond: number
  readonly #burst: number
  readonly #clock: Pick<Clock, 'monotonic'>

  constructor(perSecond: number, burst: number, clock: Pick<Clock, 'monotonic'>) {
    this.#perSecond = perSecond
    this.#burst = burst
    this.#clock = clock
  }

  /** 0 if the request may go on; otherwise the seconds after which it may be repeated. */
  take(key: string): number {
    if (this.#perSecond === Infinity) return 0
    const bucket = this.#refilled(key)
    if (bucket.left < 1) return Math.max(1, Math.ceil((1 - bucket.left) / this.#perSecond))
    bucket.left -= 1
    return 0
  }

  /** Whether the next request would be refused. Takes nothing. */
  isEmpty(key: string): boolean {
    return this.#perSecond !== Infinity && this.#buckets.has(key) && this.#refilled(key).left < 1
  }

  #refilled(key: string): Bucket {
    const now = this.#clock.monotonic()
    const bucket = this.#buckets.get(key) ?? { left: this.#burst, at: now }
    bucket.left = Math.min(this.#burst, bucket.left + ((now - bucket.at) / 1_000) * this.#perSecond)
    bucket.at = now
    if (this.#buckets.size >= maxBuckets && !this.#buckets.has(key)) this.#removeFull(now)
    this.#buckets.set(key, bucket)
    return bucket
  }

  #removeFull(now: number): void {
    for (const [key, { left, at }] of this.#buckets)
      if (left + ((now - at) / 1_000) * this.#perSecond >= this.#burst) this.#buckets.delete(key)
    // More active keys than buckets: the oldest start anew.
    for (const key of this.#buckets.keys()) {
      if (this.#buckets.size < maxBuckets) break
      this.#buckets.delete(key)
    }
  }
}
