// A clock you move: nothing happens by itself, and what is due happens in order.

import { type Duration, milliseconds } from '../core/duration.ts'
import type { Clock } from '../core/clock.ts'

export interface ManualClock extends Clock {
  /** Moves time on, firing what falls due on the way, each at its own instant, and lets what it woke run. */
  advance(by: Duration): Promise<void>
  /** How many timers are set. */
  readonly pending: number
}

/** Lets everything that can run now run: promises, then the event loop a few times round. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
}

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
      // Time is told in whole milliseconds, as a machine tells it: what is due in between is due at the next.
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
      // However far time went, a chore that is due is done once.
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
