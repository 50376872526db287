// Compares cron times with two other libraries (croner, cron-parser) and with a slow reference rule: random
// expressions at random instants, and every clock change in 25 time zones. Every difference must be of a listed kind;
// docs/decisions/0024-cron-times.md explains them.
//
// PAWL_SEED=n uses another seed. `npm run test:long` runs everything (about three minutes). A failure prints its seed.

import { Cron } from 'croner'
import { CronExpressionParser } from 'cron-parser'
import { expect, test } from 'vitest'
import { nextAfter, slotsBetween, checkTiming } from '../../src/schedules/next-cron-times.ts'
import { long } from '../kit/long-run.ts'
import {
  ahead,
  type Change,
  chanceOf,
  changesOf,
  expressionOf,
  type Field,
  type Meaning,
  meaningOf,
  pick,
  shows,
  zones,
} from './random-cron.ts'

const seed = Number(process.env.PAWL_SEED ?? 20_260_101)
/** Generous: a test takes twelve seconds on a quiet machine, and three minutes in the long run. */
const timeout = 1_200_000
const minute = 60_000
const hour = 3_600_000
const day = 24 * hour
const [begin, end] = [Date.UTC(2024, 0, 1), Date.UTC(2038, 0, 1)]

const known = new Map<string, readonly Change[]>(
  zones.map((zone) => [zone, changesOf(zone, begin - 30 * day, end + 400 * day)]),
)
const changesIn = (zone: string, from: number, to: number): Change[] =>
  (known.get(zone) ?? []).filter(({ at }) => at > from && at <= to)

/** The clock change whose repeated span contains this instant, in its second occurrence. */
const secondPass = (zone: string, at: number): Change | undefined =>
  changesIn(zone, at - day, at).find(
    (change) => change.after < change.before && at + ahead(zone, at) < change.at + change.before,
  )

/** The wall-clock times that this change skips and the expression matches. */
function skipped(meaning: Meaning, change: Change): number[] {
  const found: number[] = []
  for (let wall = change.at + change.before; wall < change.at + change.after; wall += minute)
    if (shows(meaning, wall)) found.push(wall)
  return found
}

/** The reference rule: whether the expression is due at this instant. */
function isDue(meaning: Meaning, zone: string, at: number): boolean {
  if (shows(meaning, at + ahead(zone, at))) return !meaning.certain || secondPass(zone, at) === undefined
  return (
    meaning.certain &&
    changesIn(zone, at - 1, at).some((change) => change.after > change.before && skipped(meaning, change).length > 0)
  )
}

/** The expression names only days that none of its months has, in any year. */
function neverDue({ day: days, month, weekday }: Meaning): boolean {
  if (days.star || !weekday.star) return false
  return ![...month.values].some((at) =>
    [...days.values].some((value) => value <= new Date(Date.UTC(2000, at, 0)).getUTCDate()),
  )
}

type Program = 'croner' | 'cron-parser'

/** Names the known reason why only one of the two programs has this instant; undefined if there is none. */
function kindOf(
  program: Program,
  meaning: Meaning,
  zone: string,
  at: number,
  who: 'only we' | 'only they',
): string | undefined {
  // Whatever the reason, the reference rule must agree with us.
  if (isDue(meaning, zone, at) !== (who === 'only we')) return undefined
  const wall = new Date(at + ahead(zone, at))
  const several = meaning.minute.values.size * meaning.hour.values.size > 1
  const endsGap = changesIn(zone, at - 1, at).find(({ before, after }) => after > before)
  if (who === 'only we') {
    if (endsGap && meaning.certain && !shows(meaning, wall.getTime())) {
      if (program === 'croner') {
        const atMidnight = (endsGap.at + endsGap.after) % day === 0
        return several
          ? 'croner skips several certain times of a gap'
          : atMidnight
            ? 'croner skips a certain time in a gap that ends at midnight'
            : undefined
      }
      return 'cron-parser runs a skipped time as long after the gap as it lay in it, or not at all'
    }
    if (program === 'croner') {
      const inMarch = wall.getUTCMonth() === 2 && wall.getUTCDate() <= 2 && meaning.month.values.has(2)
      return inMarch ? 'croner loses the first of March' : undefined
    }
    if (changesIn(zone, at - 2 * day, at + day).length > 0)
      return secondPass(zone, at)
        ? 'cron-parser leaves out the second pass'
        : 'cron-parser loses times within two days of a change'
    return undefined
  }
  if (meaning.certain && secondPass(zone, at)) {
    if (program === 'croner') return several ? 'croner runs several certain times twice' : undefined
    return 'cron-parser runs certain times twice'
  }
  const gap = changesIn(zone, at - day, at).find(({ before, after }) => after > before)
  if (program === 'cron-parser' && gap)
    return 'cron-parser runs a skipped time as long after the gap as it lay in it, or not at all'
  return undefined
}

class Tally {
  readonly kinds = new Map<string, number>()
  readonly unexplained: string[] = []
  compared = 0
  agreed = 0
  note(kind: string | undefined, where: string): void {
    if (kind === undefined) this.unexplained.push(where)
    else this.kinds.set(kind, (this.kinds.get(kind) ?? 0) + 1)
  }
  report(what: string): void {
    console.log(
      `${what}, seed ${seed}: ${this.agreed} of ${this.compared} alike`,
      Object.fromEntries([...this.kinds].toSorted(([a], [b]) => a.localeCompare(b))),
    )
    expect(this.unexplained.slice(0, 10)).toEqual([])
  }
}

const show = (zone: string, at: number | null): string =>
  at === null ? 'never' : `${new Date(at).toISOString()} (${new Date(at + ahead(zone, at)).toISOString().slice(0, 16)})`

/** cron-parser rejects an expression that names a value twice; such a field is given as a plain list. */
function parserOf(meaning: Meaning, zone: string, tally: Tally): (after: number) => number | null {
  const ask = (text: string, after: number): number =>
    CronExpressionParser.parse(text, { currentDate: new Date(after), tz: zone })
      .next()
      .getTime()
  const plain = (field: Field): string => (field.star ? '*' : [...field.values].toSorted((a, b) => a - b).join(','))
  let { text } = meaning
  try {
    CronExpressionParser.parse(text, { tz: zone })
  } catch (error) {
    if (!/duplicate values/.test(String(error))) throw error
    tally.note('cron-parser refuses a value that is named twice (given as a plain list then)', text)
    text = [meaning.minute, meaning.hour, meaning.day, meaning.month, meaning.weekday].map(plain).join(' ')
  }
  return (after) => {
    try {
      return ask(text, after)
    } catch (error) {
      if (/loop limit/.test(String(error))) return null
      throw error
    }
  }
}

test(
  'CRON-1: random expressions agree with croner and cron-parser or differ in a listed way',
  () => {
    const tally = new Tally()
    const chance = chanceOf(seed)
    let refused = 0
    for (let count = 0; count < (long ? 10_000 : 1_200); count++) {
      const meaning = expressionOf(chance)
      const zone = pick(chance, zones)
      const croner = new Cron(meaning.text, { timezone: zone, paused: true })
      if (neverDue(meaning)) {
        // All programs agree that it never matches; another expression is drawn.
        expect(() => checkTiming({ cron: meaning.text, timezone: zone }, begin), meaning.text).toThrow('never matches')
        expect(croner.nextRun(new Date(begin)), meaning.text).toBeNull()
        refused++
        count--
        continue
      }
      const timing = checkTiming({ cron: meaning.text, timezone: zone }, begin)
      const parser = parserOf(meaning, zone, tally)
      for (let each = 0; each < 20; each++) {
        const after = begin + Math.floor(chance() * (end - begin))
        const ours = nextAfter(timing, after)
        const where = `${meaning.text} | ${zone} | after ${show(zone, after)} | we ${show(zone, ours)}`
        if (ours === null || ours <= after || !isDue(meaning, zone, ours)) tally.unexplained.push(`not due: ${where}`)
        else {
          const theirs = { croner: croner.nextRun(new Date(after))?.getTime() ?? null, 'cron-parser': parser(after) }
          for (const program of ['croner', 'cron-parser'] as const) {
            const other = theirs[program]
            tally.compared++
            if (other === ours) tally.agreed++
            else if (other === null)
              tally.note(program === 'cron-parser' ? 'cron-parser gives up on rare days' : undefined, where)
            else
              tally.note(
                kindOf(program, meaning, zone, Math.min(ours, other), ours < other ? 'only we' : 'only they'),
                `${program} ${show(zone, other)} | ${where}`,
              )
          }
        }
      }
    }
    expect(tally.compared).toBe((long ? 10_000 : 1_200) * 40)
    tally.report(`random, and ${refused} that never match`)
  },
  timeout,
)

/** Expressions in and around the times that a clock change skips or repeats. */
function aroundChange({ at, before, after }: Change): Meaning[] {
  const list = (...values: number[]): Field => ({ text: values.join(','), values: new Set(values), star: false })
  const all = (least: number, most: number): Field => ({
    text: '*',
    values: new Set(Array.from({ length: most - least + 1 }, (_, index) => least + index)),
    star: true,
  })
  const step = (by: number, most: number): Field => ({
    text: `*/${by}`,
    values: new Set(Array.from({ length: Math.floor(most / by) + 1 }, (_, index) => index * by)),
    star: false,
  })
  // The wall-clock times between these two are skipped or repeated.
  const [low, high] = [Math.min(at + before, at + after), Math.max(at + before, at + after)]
  const inside = new Date(low)
  const middle = new Date(Math.floor((low + high) / 2 / minute) * minute + 7 * minute)
  const edge = new Date(high)
  const next = (inside.getUTCHours() + 1) % 24
  const any = [all(1, 31), all(1, 12), all(0, 6)] as const
  const onTheDay = [list(inside.getUTCDate()), list(inside.getUTCMonth() + 1), all(0, 6)] as const
  return [
    meaningOf(list(inside.getUTCMinutes()), list(inside.getUTCHours()), ...any),
    meaningOf(list(middle.getUTCMinutes()), list(middle.getUTCHours()), ...any),
    meaningOf(list(edge.getUTCMinutes()), list(edge.getUTCHours()), ...any),
    meaningOf(list(5, 35, 50), list(inside.getUTCHours()), ...any),
    meaningOf(list(0), list(...[inside.getUTCHours(), next].toSorted((a, b) => a - b)), ...any),
    meaningOf(list(20, 40), list(...[inside.getUTCHours(), next].toSorted((a, b) => a - b)), ...onTheDay),
    meaningOf(step(15, 59), list(inside.getUTCHours()), ...any),
    meaningOf(step(30, 59), list(inside.getUTCHours()), ...onTheDay),
    meaningOf(list(30), all(0, 23), ...any),
    meaningOf(list(10), step(2, 23), ...any),
    meaningOf(step(20, 59), all(0, 23), ...any),
  ]
}

test(
  'CRON-1: slots around every clock change in 25 zones follow the reference rule',
  () => {
    const tally = new Tally()
    const chance = chanceOf(seed + 1)
    let [changes, slots] = [0, 0]
    for (const zone of zones) {
      for (const change of changesIn(zone, begin, end)) {
        if (!long && chance() > 0.1) continue
        changes++
        const [from, to] = [change.at - 30 * hour, change.at + 30 * hour]
        const walls = Array.from({ length: (to - from) / minute }, (_, index) => from + (index + 1) * minute).map(
          (at) => at + ahead(zone, at),
        )
        for (const meaning of aroundChange(change)) {
          const where = `${meaning.text} | ${zone} | ${show(zone, change.at)}`
          const timing = checkTiming({ cron: meaning.text, timezone: zone }, begin)
          const ours = slotsBetween(timing, from, to, 10_000)
          const law: number[] = []
          for (const [index, wall] of walls.entries()) {
            const at = from + (index + 1) * minute
            if ((shows(meaning, wall) || at === change.at) && isDue(meaning, zone, at)) law.push(at)
          }
          if (ours.join() !== law.join())
            tally.unexplained.push(
              `not the law: ${where} | ${ours
                .filter((at) => !law.includes(at))
                .map((at) => show(zone, at))
                .join()} | ${law
                .filter((at) => !ours.includes(at))
                .map((at) => show(zone, at))
                .join()}`,
            )
          slots += ours.length
          const croner = new Cron(meaning.text, { timezone: zone, paused: true })
          const nexts = {
            croner: (after: number) => croner.nextRun(new Date(after))?.getTime() ?? null,
            'cron-parser': parserOf(meaning, zone, tally),
          }
          for (const program of ['croner', 'cron-parser'] as const) {
            const theirs: number[] = []
            for (let at: number | null = nexts[program](from); at !== null && at <= to; at = nexts[program](at)) {
              if (at <= (theirs.at(-1) ?? from)) throw new Error(`${program} goes back: ${where}`)
              theirs.push(at)
            }
            tally.compared += ours.length
            const [mine, others] = [new Set(ours), new Set(theirs)]
            tally.agreed += ours.filter((at) => others.has(at)).length
            for (const at of ours)
              if (!others.has(at))
                tally.note(
                  kindOf(program, meaning, zone, at, 'only we'),
                  `${program} has not ${show(zone, at)} | ${where}`,
                )
            for (const at of theirs)
              if (!mine.has(at))
                tally.note(
                  kindOf(program, meaning, zone, at, 'only they'),
                  `${program} has ${show(zone, at)} | ${where}`,
                )
          }
        }
      }
    }
    expect(changes).toBeGreaterThan(long ? 500 : 10)
    tally.report(`${changes} changes, ${slots} slots`)
  },
  timeout,
)
