// When a schedule is due: checks what was asked for, and gives the instants. Pure: it reads no clock.
//
// croner finds the next time of an expression on a clock that is never changed; what daylight saving makes of it is decided
// here, by the rule of ISC cron (docs/decisions/0024):
//   - an expression for certain times (neither minute nor hour begins with '*') runs once for each of them: times that the
//     clock skips are made up for at the end of the gap, times that it shows twice count the first time;
//   - all others run whenever the clock on the wall matches, so hourly is hourly by elapsed time.

import { Cron } from 'croner'
import { PawlError } from '../core/errors.ts'
import { type Expression, readExpression } from './cron-expression.ts'
import { instantOf } from './instant.ts'
import { checkZone, firstChange, offsetAt } from './timezone.ts'

/** What is kept of a schedule's times; plain JSON. */
export type Timing =
  | { readonly kind: 'cron'; readonly cron: string; readonly timezone: string }
  | { readonly kind: 'at'; readonly at: number; readonly timezone: string }

export interface TimingRequest {
  /** Five fields: minute, hour, day of month, month, day of week; or an alias like '@daily'. */
  readonly cron?: string | undefined
  /** One instant: RFC 3339 with an offset or Z, milliseconds since 1970, or a Date. */
  readonly at?: string | number | Date | undefined
  /** An IANA name; 'UTC' unless given. */
  readonly timezone?: string | undefined
}

const minute = 60_000
const day = 86_400_000

interface Compiled extends Expression {
  /** The next time after another on a clock that is never changed, where both are given as if they were UTC. */
  next(after: number): number | undefined
}

/** Bounded, because a model may give any number of expressions. */
const most = 500
const compiled = new Map<string, Compiled>()

function compile(text: string): Compiled {
  let found = compiled.get(text)
  if (!found) {
    const expression = readExpression(text)
    found = { ...expression, next: searchOf(expression) }
    const [oldest] = compiled.keys()
    if (compiled.size >= most && oldest !== undefined) compiled.delete(oldest)
    compiled.set(text, found)
  }
  return found
}

function searchOf({ plain, months }: Expression): Compiled['next'] {
  // Offset 0 and not a zone: on this clock there is no daylight saving.
  const cron = new Cron(plain, { utcOffset: 0, paused: true, mode: '5-part' })
  const ask = (after: number): number | undefined => cron.nextRun(new Date(after))?.getTime()
  if (!months.includes(2) || !months.includes(3)) return ask
  // croner 11.0.0 takes 30 February for 2 March and goes on from there: what is due on the 1st is lost. So it is asked anew
  // from each 1 March on that it went past; with March among the months that is one or two at most.
  return (after) => {
    let year = new Date(after).getUTCFullYear()
    if (after >= Date.UTC(year, 2, 1) - 1) year++
    let next = ask(after)
    for (; next !== undefined && next > Date.UTC(year, 2, 1); year++) next = ask(Date.UTC(year, 2, 1) - 1)
    return next
  }
}

/** Checks a schedule's times and gives what to keep of them. `leastMs` is how close together two runs may be. */
export function timingOf(request: TimingRequest, now: number, options: { readonly leastMs?: number } = {}): Timing {
  const { cron, at } = request
  if ((cron === undefined) === (at === undefined)) {
    throw new PawlError(
      'schedule_invalid',
      cron === undefined
        ? 'It has neither cron nor at; give exactly one.'
        : 'It has both cron and at; give exactly one.',
    )
  }
  const timezone = checkZone(request.timezone ?? 'UTC')
  if (cron === undefined) {
    const instant = instantOf(at as string | number | Date)
    if (instant > now) return { kind: 'at', at: instant, timezone }
    throw new PawlError(
      'schedule_invalid',
      `The instant ${new Date(instant).toISOString()} is not in the future; it is ${new Date(now).toISOString()} now.`,
    )
  }
  const expression = compile(cron)
  const timing: Timing = { kind: 'cron', cron: expression.text, timezone }
  if (!expression.matchesSomeDay || nextAfter(timing, now) === null) {
    throw new PawlError(
      'schedule_invalid',
      `The cron expression ${JSON.stringify(expression.text)} never matches: no month it names has such a day.`,
    )
  }
  const leastMs = options.leastMs ?? minute
  const closest = closestRuns(expression, leastMs)
  if (closest >= leastMs) return timing
  throw new PawlError(
    'schedule_invalid',
    `The cron expression ${JSON.stringify(expression.text)} fires every ${closest / 1000} seconds at its closest; at least ${leastMs / 1000} seconds must lie between two runs.`,
  )
}

/**
 * How close together an expression runs, in milliseconds, by the clock on the wall; exact where it is less than `enough`.
 * That a change of the clock brings two runs closer on one night is not counted: a daily job is a daily job.
 */
function closestRuns({ minutes, hours, next }: Compiled, enough: number): number {
  // Two runs of one day: neighbours of the day's list of times.
  const times = hours.flatMap((hour) => minutes.map((at) => (hour * 60 + at) * minute))
  let closest = Infinity
  for (let at = 1; at < times.length; at++)
    closest = Math.min(closest, (times[at] as number) - (times[at - 1] as number))
  // The last run of a day and the first of the next one that has any.
  const overnight = (times[0] as number) - (times.at(-1) as number)
  if (Math.min(closest, overnight + day) >= enough) return Math.min(closest, overnight + day)
  return Math.min(closest, overnight + daysApart(next) * day)
}

/**
 * The least number of days from one day with runs to the next. 28 years show every pair of neighbouring years; only what is
 * rarer than once a year is looked for in the whole 400 after which the calendar repeats.
 */
function daysApart(nextOf: Compiled['next']): number {
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

/** The first instant strictly after another at which the schedule is due; null when there is none. */
export function nextAfter(timing: Timing, after: number): number | null {
  if (timing.kind === 'at') return timing.at > after ? timing.at : null
  const { fixed, next } = compile(timing.cron)
  const zone = timing.timezone
  let from = after
  let offset = offsetAt(zone, from)
  // What the clock on the wall showed last; the next time is after it.
  let wall = from + offset
  if (fixed) {
    // In the second of two equal hours: what the clock showed the first time has been.
    const change = firstChange(zone, from - 2 * day, from)
    if (change && change.after < change.before) wall = Math.max(wall, change.at + change.before - 1)
  }
  for (;;) {
    const shown = next(wall)
    if (shown === undefined) return null
    // Far away: the clock can show an earlier time again only soon after now, and `shown` only soon before it is due. In
    // between it may be changed as often as it likes, so those changes need not be looked for.
    let due = shown - offset
    const near = due - from > 6 * day ? firstChange(zone, from, from + 2 * day) : undefined
    if (due - from > 6 * day && !near) {
      from = due - 3 * day
      offset = offsetAt(zone, from)
      due = shown - offset
    }
    const change = near ?? firstChange(zone, from, due)
    if (!change) return due
    // The clock is changed before the time comes: go on from there, with the clock as it is then.
    from = change.at
    offset = change.after
    if (!fixed) wall = from + offset - 1
    else if (shown >= change.at + change.before && shown < change.at + change.after) return change.at
    else wall = Math.max(wall, change.at + change.before - 1, change.at + change.after - 1)
  }
}

/** The next `count` instants strictly after another. */
export const nextTimes = (timing: Timing, after: number, count: number): number[] =>
  slotsBetween(timing, after, Infinity, count)

/** The first `most` instants in (from, to]. */
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

/** The last `most` instants in (from, to], in order. What it costs depends on `most`, not on how long the span is. */
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

/** The last instant in (from, to]: steps back, ever wider, until one lies in between, then halves what is left. */
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
