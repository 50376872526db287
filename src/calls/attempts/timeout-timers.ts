// Timers for many attempts with few different durations. Timers of the same duration share one bucket, ordered by due
// time, and one clock timer per bucket.

import type { Clock } from '../../core/clock.ts'

export interface TimeoutTimer {
  /** Monotonic time; set by TimeoutTimers. */
  due: number
  fire(): void
}

interface Bucket {
  readonly timers: Set<TimeoutTimer>
  cancel: () => void
}

export class TimeoutTimers {
  readonly #clock: Clock
  readonly #buckets = new Map<number, Bucket>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  set(ms: number, timer: TimeoutTimer): void {
    timer.due = this.#clock.monotonic() + ms
    const bucket = this.#buckets.get(ms)
    if (bucket) bucket.timers.add(timer)
    else this.#buckets.set(ms, { timers: new Set([timer]), cancel: this.#clock.timer(ms, () => this.#fireDue(ms)) })
  }

  clear(ms: number, timer: TimeoutTimer): void {
    const bucket = this.#buckets.get(ms)
    if (!bucket?.timers.delete(timer) || bucket.timers.size > 0) return
    bucket.cancel()
    this.#buckets.delete(ms)
  }

  #fireDue(ms: number): void {
    const bucket = this.#buckets.get(ms)
    if (!bucket) return
    const now = this.#clock.monotonic()
    for (const timer of bucket.timers) {
      if (timer.due > now) {
        bucket.cancel = this.#clock.timer(timer.due - now, () => this.#fireDue(ms))
        return
      }
      bucket.timers.delete(timer)
      timer.fire()
    }
    // A fired timer may have emptied this bucket and created another for the same duration.
    if (this.#buckets.get(ms) === bucket && bucket.timers.size === 0) this.#buckets.delete(ms)
  }
}
