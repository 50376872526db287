// Random cron expressions whose matching times are known without parsing, with the time zones and clock changes to try
// them in.

export type Chance = () => number

/** mulberry32: the same numbers for the same seed on every machine. */
export function chanceOf(seed: number): Chance {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const below = (chance: Chance, count: number): number => Math.floor(chance() * count)
export const pick = <T>(chance: Chance, list: readonly T[]): T => list[below(chance, list.length)] as T

export interface Field {
  readonly text: string
  readonly values: ReadonlySet<number>
  readonly star: boolean
}

export interface Meaning {
  readonly text: string
  readonly minute: Field
  readonly hour: Field
  readonly day: Field
  readonly month: Field
  readonly weekday: Field
  /** Neither minute nor hour begins with '*'. */
  readonly certain: boolean
}

const monthNames = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const dayNames = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

function fieldOf(chance: Chance, least: number, most: number, stars: number, names?: readonly string[]): Field {
  if (chance() < stars)
    return { text: '*', values: new Set(Array.from({ length: most - least + 1 }, (_, at) => least + at)), star: true }
  const name = (value: number): string =>
    names && chance() < 0.3
      ? pick(chance, [names[value - least] as string, (names[value - least] as string).toLowerCase()])
      : String(value)
  const values = new Set<number>()
  const part = (): string => {
    const kind = chance()
    let [from, to, by, text] = [least, most, 1, '']
    if (kind < 0.5) {
      from = to = least + below(chance, most - least + 1)
      text = name(from)
    } else if (kind < 0.65) {
      by = 1 + below(chance, most - least + 1)
      text = `*/${by}`
    } else {
      const two = [least + below(chance, most - least + 1), least + below(chance, most - least + 1)].toSorted(
        (a, b) => a - b,
      )
      ;[from, to] = two as [number, number]
      text = `${name(from)}-${names === dayNames ? to : name(to)}`
      if (kind < 0.8) text += `/${(by = 1 + below(chance, 12 > most - least ? 6 : 12))}`
    }
    for (let value = from; value <= to; value += by) values.add(value)
    return text
  }
  const text = Array.from({ length: chance() < 0.7 ? 1 : 2 + below(chance, 3) }, part).join(',')
  return { text, values, star: false }
}

export function expressionOf(chance: Chance): Meaning {
  const minute = fieldOf(chance, 0, 59, 0.15)
  const hour = fieldOf(chance, 0, 23, 0.3)
  const day = fieldOf(chance, 1, 31, 0.55)
  const month = fieldOf(chance, 1, 12, 0.65, monthNames)
  const weekday = fieldOf(chance, 0, 6, 0.6, dayNames)
  return meaningOf(minute, hour, day, month, weekday)
}

export const meaningOf = (minute: Field, hour: Field, day: Field, month: Field, weekday: Field): Meaning => ({
  text: [minute, hour, day, month, weekday].map(({ text }) => text).join(' '),
  minute,
  hour,
  day,
  month,
  weekday,
  certain: !minute.text.startsWith('*') && !hour.text.startsWith('*'),
})

/** Whether the expression matches this wall-clock time, given as if it were UTC. */
export function shows({ minute, hour, day, month, weekday }: Meaning, wall: number): boolean {
  const at = new Date(wall)
  if (
    !minute.values.has(at.getUTCMinutes()) ||
    !hour.values.has(at.getUTCHours()) ||
    !month.values.has(at.getUTCMonth() + 1)
  )
    return false
  const [inDays, inWeek] = [day.values.has(at.getUTCDate()), weekday.values.has(at.getUTCDay())]
  return day.star || weekday.star ? inDays && inWeek : inDays || inWeek
}

export const zones = [
  'UTC',
  'Europe/Berlin',
  'Europe/London',
  'Europe/Dublin',
  'Europe/Chisinau',
  'America/New_York',
  'America/Los_Angeles',
  'America/St_Johns',
  'America/Havana',
  'America/Santiago',
  'America/Asuncion',
  'America/Nuuk',
  'America/Sao_Paulo',
  'America/Mexico_City',
  'Africa/Casablanca',
  'Africa/Cairo',
  'Asia/Beirut',
  'Asia/Jerusalem',
  'Asia/Gaza',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Australia/Sydney',
  'Australia/Lord_Howe',
  'Pacific/Auckland',
  'Pacific/Chatham',
  'Antarctica/Troll',
] as const

export interface Change {
  readonly at: number
  readonly before: number
  readonly after: number
}

const parts = new Map<string, Intl.DateTimeFormat>()

/** Offset of the zone from UTC, computed from the formatted time: independent of the code under test. */
export function ahead(zone: string, at: number): number {
  let format = parts.get(zone)
  if (!format) {
    format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
    parts.set(zone, format)
  }
  return Date.parse(`${format.format(at).replace(' ', 'T')}Z`) - Math.floor(at / 1000) * 1000
}

/** All clock changes in a span, found by six-hour steps and bisection. */
export function changesOf(zone: string, from: number, to: number): Change[] {
  const found: Change[] = []
  const step = 6 * 3_600_000
  for (let low = from; low < to; low += step) {
    const before = ahead(zone, low)
    if (ahead(zone, low + step) === before) continue
    let [left, right] = [low, low + step]
    while (right - left > 1000) {
      const middle = Math.floor((left + right) / 2000) * 1000
      if (ahead(zone, middle) === before) left = middle
      else right = middle
    }
    found.push({ at: right, before, after: ahead(zone, right) })
  }
  return found
}
