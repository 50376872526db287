// A clock for tests: time moves only when advance() is called, and due timers fire in order.

import { type Duration, milliseconds } from '../core/duration.ts'
import type { Clock } from '../core/clock.ts'

/** A clock that only a test moves. */
export interface ManualClock extends Clock {
  /** Moves time forward, fires due timers in order, each at its instant, and lets the woken code run. */
  advance(by: Duration): Promise<void>
  /** Number of timers that are set. */
  readonly pending: number
}

/** Lets pending promises and a few rounds of the event loop run. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/**
 * A clock that only moves when a test advances it: timeouts, sleeps and schedules need no real time.
 *
 * @example
 * const clock = manualClock()
 * const runtime = await createRuntime({ store: 'memory:', clock })
 * await clock.advance('1h')
 */
export function manualClock(start = Date.UTC(2026, 0, 1)): ManualClock {
  let now = start
  let order = 0
  const timers = new Map<number, { at: number; fire: () => void }>()
  const chores = new Map<number, { ms: number; last: number; chore: () => void }>()
  return {
    now: () => now,
    monotonic: () => now - start + 1_000,
    timer(ms, fire) {
      const id = ++order
      // now() has whole milliseconds, as a database column does, so a fractional delay is rounded up.
      timers.set(id, { at: now + Math.max(0, Math.ceil(ms)), fire })
      return () => void timers.delete(id)
    },
    every(ms, chore) {
      const id = ++order
      chores.set(id, { ms, last: now, chore })
      return () => void chores.delete(id)
    },
    hold: () => () => {},
    async advance(by) {
      const until = now + milliseconds(by, 'advance')
      await settle()
      for (;;) {
        const due = [...timers]
          .filter(([, timer]) => timer.at <= until)
          .toSorted((a, b) => a[1].at - b[1].at || a[0] - b[0])[0]
        if (!due) break
        const [id, timer] = due
        timers.delete(id)
        now = Math.max(now, timer.at)
        timer.fire()
        await settle()
      }
      now = until
      // A due interval runs once, however far time moved.
      for (const each of chores.values()) {
        if (now - each.last < each.ms) continue
        each.last = now
        each.chore()
      }
      await settle()
    },
    get pending() {
      return timers.size
    },
  }
}
