// Decides which slot of a schedule to fire and which ones were missed. A pure function of the schedule and the time;
// called by fire-schedule.ts.

import { lastSlots, nextAfter, type Timing } from './next-cron-times.ts'

/** For slots that no worker fired in time: no run, one run for all of them, or one run for each of the last few. */
export type CatchUp = 'skip' | 'once' | 'all'

export interface CatchUpPolicy {
  readonly timing: Timing
  readonly catchUp: CatchUp
  /** Maximum number of missed slots that `all` runs late. */
  readonly cap: number
}

export interface Plan {
  /** The most recent past slots that start no run, at most as many as the history holds. */
  readonly missed: readonly number[]
  /** The slot to fire; null: none. */
  readonly fire: number | null
  /** The next slot; null: there is none. */
  readonly nextAt: number | null
}

/** Slots in the history of a schedule. */
export const maxHistory = 50

/** Maximum of `cap`, and of queued runs of one schedule. */
export const maxCatchUp = 100

/** `slot` is the first slot not yet fired; it is not after `now`. */
export function planSlots(
  { timing, catchUp, cap }: CatchUpPolicy,
  slot: number,
  now: number,
  toleranceMs: number,
): Plan {
  if (now - slot <= toleranceMs) return { missed: [], fire: slot, nextAt: nextAfter(timing, slot) }
  const before = slot - 1
  const past = (until: number): number[] => lastSlots(timing, before, until, maxHistory)
  const from = (fire: number): Plan => ({ missed: past(fire - 1), fire, nextAt: nextAfter(timing, fire) })
  const inTime = now - toleranceMs
  if (catchUp === 'once') return from(lastSlots(timing, before, now, 1)[0] ?? slot)
  if (catchUp === 'all') return from(lastSlots(timing, before, inTime - 1, cap)[0] ?? slot)
  const next = nextAfter(timing, inTime - 1)
  return next !== null && next <= now ? from(next) : { missed: past(inTime - 1), fire: null, nextAt: next }
}
