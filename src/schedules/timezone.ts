// What the clock on the wall shows in a zone, and when it is changed. All of it is asked of Intl: no tables to grow old.

import { PawlError } from '../core/errors.ts'

/** A change of the clock: at instant `at` the difference to UTC goes from `before` to `after` (milliseconds). */
export interface Change {
  readonly at: number
  readonly before: number
  readonly after: number
}

const day = 86_400_000

/** Formatters are dear to make and to keep. */
const most = 64
const formatters = new Map<string, Intl.DateTimeFormat>()

function formatterOf(zone: string): Intl.DateTimeFormat {
  let formatter = formatters.get(zone)
  if (!formatter) {
    formatter = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
    const [oldest] = formatters.keys()
    if (formatters.size >= most && oldest !== undefined) formatters.delete(oldest)
    formatters.set(zone, formatter)
  }
  return formatter
}

/** The name of a zone as it may be used; an offset like '+02:00' is none, because it knows no daylight saving. */
export function checkZone(zone: string): string {
  const unknown = (): never => {
    const shown = typeof zone === 'string' ? JSON.stringify(zone.slice(0, 60)) : typeof zone
    throw new PawlError(
      'schedule_invalid',
      `The timezone ${shown} is not known; give an IANA name like 'Europe/Berlin' or 'UTC'.`,
      {
        details: { field: 'timezone' },
      },
    )
  }
  if (typeof zone !== 'string' || !/^[A-Za-z][A-Za-z0-9+_/-]{0,63}$/.test(zone)) return unknown()
  try {
    formatterOf(zone)
    return zone
  } catch {
    return unknown()
  }
}

/** How far the clock on the wall is ahead of UTC at an instant, in milliseconds. */
export function offsetAt(zone: string, at: number): number {
  if (zone === 'UTC') return 0
  // '1/31/2026, GMT+05:30'; 'GMT' alone is zero; seconds appear in zones of long ago.
  const match = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(formatterOf(zone).format(at))
  if (!match?.[1]) return 0
  const seconds = Number(match[2]) * 3600 + Number(match[3]) * 60 + Number(match[4] ?? 0)
  return (match[1] === '-' ? -seconds : seconds) * 1000
}

/** The first change in (from, to], or none. A look a day: no zone changes its clock and back within one. Meant for spans of some days. */
export function firstChange(zone: string, from: number, to: number): Change | undefined {
  if (zone === 'UTC') return undefined
  const before = offsetAt(zone, from)
  for (let low = from; low < to; low += day) {
    let high = Math.min(low + day, to)
    if (offsetAt(zone, high) === before) continue
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2)
      if (offsetAt(zone, middle) === before) low = middle
      else high = middle
    }
    return { at: high, before, after: offsetAt(zone, high) }
  }
  return undefined
}
