// Validates the times of a schedule and computes its slots. Pure: it reads no clock.
//
// croner finds the next match of an expression on a clock without daylight saving; the effect of daylight saving is
// decided here, by the rule of ISC cron (docs/decisions/0024):
//   - an expression for fixed times (neither minute nor hour begins with '*') runs once for each of them: skipped times
//     run at the end of the gap, repeated times run only the first time;
//   - all others run whenever the wall clock matches, so an hourly job runs once per elapsed hour.

import { Cron } from 'croner'
import { PawlError } from '../core/errors.ts'
import { type Expression, parseExpression } from './cron-expression.ts'
import { parseInstant } from './parse-instant.ts'
import { checkTimezone, firstOffsetChange, offsetAt } from './timezone.ts'

/** The stored times of a schedule; plain JSON. */
export type Timing =
  | { readonly kind: 'cron'; readonly cron: string; readonly timezone: string }
  | { readonly kind: 'at'; readonly at: number; readonly timezone: string }

export interface TimingRequest {
  /** Five fields: minute, hour, day of month, month, day of week; or an alias like '@daily'. */
  readonly cron?: string | undefined
  /** One instant: RFC 3339 with an offset or Z, milliseconds since 1970, or a Date. */
  readonly at?: string | number | Date | undefined
  /** An IANA time zone name (default 'UTC'). */
  readonly timezone?: string | undefined
}

const minute = 60_000
const day = 86_400_000

interface Compiled extends Expression {
  /** The next match strictly after a time; both are wall clock times encoded as if they were UTC. */
  next(after: number): number | undefined
}

/** Bounded, because a model may use any number of expressions. */
const maxCompiled = 500
const compiled = new Map<string, Compiled>()

function compile(text: string): Compiled {
  let found = compiled.get(text)
  if (!found) {
    const expression = parseExpression(text)
    found = { ...expression, next: nextTimeFinder(expression) }
    const [oldest] = compiled.keys()
    if (compiled.size >= maxCompiled && oldest !== undefined) compiled.delete(oldest)
    compiled.set(text, found)
  }
  return found
}

function nextTimeFinder({ plain, months }: Expression): Compiled['next'] {
  // A fixed offset of 0 instead of a zone: this clock has no daylight saving.
  const cron = new Cron(plain, { utcOffset: 0, paused: true, mode: '5-part' })
  const nextRun = (after: number): number | undefined => cron.nextRun(new Date(after))?.getTime()
  if (!months.includes(2) || !months.includes(3)) return nextRun
  // croner 11.0.0 normalizes 30 February to 2 March and continues from there, so matches on 1 March are lost. Search
  // again from each 1 March that it skipped; with March among the months that is one or two at most.
  return (after) => {
    let year = new Date(after).getUTCFullYear()
    if (after >= Date.UTC(year, 2, 1) - 1) year++
    let next = nextRun(after)
    for (; next !== undefined && next > Date.UTC(year, 2, 1); year++) next = nextRun(Date.UTC(year, 2, 1) - 1)
    return next
  }
}

/** Validates the times of a schedule. `leastMs` is the minimum interval between two runs. */
export function checkTiming(request: TimingRequest, now: number, options: { readonly leastMs?: number } = {}): Timing {
  const { cron, at } = request
  if ((cron === undefined) === (at === undefined)) {
    throw new PawlError(
      'schedule_invalid',
      cron === undefined
        ? 'The schedule has neither cron nor at; give exactly one.'
        : 'The schedule has both cron and at; give exactly one.',
    )
  }
  const timezone = checkTimezone(request.timezone ?? 'UTC')
  if (cron === undefined) {
    const instant = parseInstant(at as string | number | Date)
    if (instant > now) return { kind: 'at', at: instant, timezone }
    throw new PawlError(
      'schedule_invalid',
      `The instant ${new Date(instant).toISOString()} is not in the future; the time is ${new Date(now).toISOString()}.`,
    )
  }
  const expression = compile(cron)
  const timing: Timing = { kind: 'cron', cron: expression.text, timezone }
  if (!expression.matchesSomeDay || nextAfter(timing, now) === null) {
    throw new PawlError(
      'schedule_invalid',
      `The cron expression ${JSON.stringify(expression.text)} never matches: none of its months has such a day.`,
    )
  }
  const leastMs = options.leastMs ?? minute
  const closest = shortestInterval(expression, leastMs)
  if (closest >= leastMs) return timing
  throw new PawlError(
    'schedule_invalid',
    `The cron expression ${JSON.stringify(expression.text)} fires every ${closest / 1000} seconds at its closest; at least ${leastMs / 1000} seconds must lie between two runs.`,
  )
}

/**
 * The shortest interval between two runs, in milliseconds of wall clock time; exact if it is less than `enough`. A
 * daylight saving transition that brings two runs closer on one night does not count: a daily job stays valid.
 */
function shortestInterval({ minutes, hours, next }: Compiled, enough: number): number {
  // Two runs on the same day are neighbours in the day's list of times.
  const times = hours.flatMap((hour) => minutes.map((at) => (hour * 60 + at) * minute))
  let closest = Infinity
  for (let at = 1; at < times.length; at++)
    closest = Math.min(closest, (times[at] as number) - (times[at - 1] as number))
  // The last run of a day and the first run of the next day with runs.
  const overnight = (times[0] as number) - (times.at(-1) as number)
  if (Math.min(closest, overnight + day) >= enough) return Math.min(closest, overnight + day)
  return Math.min(closest, overnight + minDayGap(next) * day)
}

/**
 * The minimum number of days from one day with runs to the next. 28 years contain every pair of neighbouring years;
 * only expressions rarer than once a year need all 400 years after which the calendar repeats.
 */
function minDayGap(nextOf: Compiled['next']): number {
  let last: number | undefined
  let least = Infinity
  for (let from = Date.UTC(2000, 0, 1) - 1; least > 1 && from < Date.UTC(least > 366 ? 2400 : 2028, 0, 1);) {
    const next = nextOf(from)
    if (next === undefined) break
    const at = Math.floor(next / day)
    if (last !== undefined) least = Math.min(least, at - last)
    last = at
    from = (at + 1) * day - 1
  }
  return least
}

/** The first slot strictly after an instant; null if there is none. */
export function nextAfter(timing: Timing, after: number): number | null {
  if (timing.kind === 'at') return timing.at > after ? timing.at : null
  const { fixed, next } = compile(timing.cron)
  const zone = timing.timezone
  let from = after
  let offset = offsetAt(zone, from)
  // The last wall clock time already covered; the next match is after it.
  let wall = from + offset
  if (fixed) {
    // Within a repeated hour: its times already ran the first time.
    const change = firstOffsetChange(zone, from - 2 * day, from)
    if (change && change.after < change.before) wall = Math.max(wall, change.at + change.before - 1)
  }
  for (;;) {
    const match = next(wall)
    if (match === undefined) return null
    // For a distant match only transitions soon after `from` (a repeated hour) and shortly before `match` matter; those
    // in between have no effect and are skipped.
    let due = match - offset
    const near = due - from > 6 * day ? firstOffsetChange(zone, from, from + 2 * day) : undefined
    if (due - from > 6 * day && !near) {
      from = due - 3 * day
      offset = offsetAt(zone, from)
      due = match - offset
    }
    const change = near ?? firstOffsetChange(zone, from, due)
    if (!change) return due
    // A transition comes before the match: continue from it with the new offset.
    from = change.at
    offset = change.after
    if (!fixed) wall = from + offset - 1
    else if (match >= change.at + change.before && match < change.at + change.after) return change.at
    else wall = Math.max(wall, change.at + change.before - 1, change.at + change.after - 1)
  }
}

/** The next `count` slots strictly after an instant. */
export const nextTimes = (timing: Timing, after: number, count: number): number[] =>
  slotsBetween(timing, after, Infinity, count)

/** The first `most` slots in (from, to]. */
export function slotsBetween(timing: Timing, from: number, to: number, most: number): number[] {
  const slots: number[] = []
  for (let at = from; slots.length < most;) {
    const next = nextAfter(timing, at)
    if (next === null || next > to) break
    slots.push(next)
    at = next
  }
  return slots
}

/** The last `most` slots in (from, to], in order. The cost depends on `most`, not on the length of the span. */
export function lastSlots(timing: Timing, from: number, to: number, most: number): number[] {
  const slots: number[] = []
  for (let until = to; slots.length < most;) {
    const slot = lastSlot(timing, from, until)
    if (slot === null) break
    slots.push(slot)
    until = slot - 1
  }
  return slots.toReversed()
}

/** The last slot in (from, to]: steps back with doubling distance until a slot is found, then bisects. */
function lastSlot(timing: Timing, from: number, to: number): number | null {
  const inside = (after: number): number | null => {
    const next = nextAfter(timing, after)
    return next !== null && next <= to ? next : null
  }
  let found: number | null = null
  for (let step = minute, low = to; found === null; step *= 2) {
    if (low <= from) return null
    low = Math.max(from, to - step)
    found = inside(low)
  }
  for (let last = found, high = to; ;) {
    const later = inside(last)
    if (later === null) return last
    const middle = Math.floor((later + high) / 2)
    const farther = inside(middle)
    if (farther === null) high = middle
    last = farther ?? later
  }
}
