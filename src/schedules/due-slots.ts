// Which slot of a schedule is to be fired, and which are past (CRON-2). Pure: what a worker finds when it looks late depends on nothing else.

import { lastSlots, nextAfter, type Timing } from './cron.ts'

/** Of slots that nobody fired in time: none is made up for; one run for all of them; or one run for each of the last few. */
export type CatchUp = 'skip' | 'once' | 'all'

export interface Due {
  readonly timing: Timing
  readonly catchUp: CatchUp
  /** With `all`: how many of them. */
  readonly cap: number
}

export interface Plan {
  /** Slots that are past and start nothing: the last of them, as many as a history holds. */
  readonly missed: readonly number[]
  /** The slot that is due. */
  readonly fire: number | null
  /** The slot after it; null: there is none. */
  readonly nextAt: number | null
}

/** How many slots a schedule remembers. */
export const longestHistory = 50

/** How many slots are made up for at most, and how many runs of one schedule may stand in line. */
export const mostCap = 100

/** `slot` is the first that nobody has fired, and not after `now`. */
export function planOf({ timing, catchUp, cap }: Due, slot: number, now: number, toleranceMs: number): Plan {
  if (now - slot <= toleranceMs) return { missed: [], fire: slot, nextAt: nextAfter(timing, slot) }
  const before = slot - 1
  const past = (until: number): number[] => lastSlots(timing, before, until, longestHistory)
  const from = (fire: number): Plan => ({ missed: past(fire - 1), fire, nextAt: nextAfter(timing, fire) })
  const inTime = now - toleranceMs
  if (catchUp === 'once') return from(lastSlots(timing, before, now, 1)[0] ?? slot)
  if (catchUp === 'all') return from(lastSlots(timing, before, inTime - 1, cap)[0] ?? slot)
  const next = nextAfter(timing, inTime - 1)
  return next !== null && next <= now ? from(next) : { missed: past(inTime - 1), fire: null, nextAt: next }
}
