// UTC offsets of IANA time zones and their transitions, read from Intl so that there are no tables to maintain.

import { PawlError } from '../core/errors.ts'

/** A transition: at instant `at` the UTC offset changes from `before` to `after` (milliseconds). */
export interface OffsetChange {
  readonly at: number
  readonly before: number
  readonly after: number
}

const day = 86_400_000

/** Formatters are expensive to create and to hold, so a bounded number is cached. */
const maxFormatters = 64
const formatters = new Map<string, Intl.DateTimeFormat>()

function formatterOf(zone: string): Intl.DateTimeFormat {
  let formatter = formatters.get(zone)
  if (!formatter) {
    formatter = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
    const [oldest] = formatters.keys()
    if (formatters.size >= maxFormatters && oldest !== undefined) formatters.delete(oldest)
    formatters.set(zone, formatter)
  }
  return formatter
}

/** Throws unless the name is an IANA zone. An offset like '+02:00' is rejected: it has no daylight saving rules. */
export function checkTimezone(zone: string): string {
  const unknown = (): never => {
    const quoted = typeof zone === 'string' ? JSON.stringify(zone.slice(0, 60)) : typeof zone
    throw new PawlError(
      'schedule_invalid',
      `The timezone ${quoted} is not known; use an IANA name such as 'Europe/Berlin' or 'UTC'.`,
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

/** The UTC offset of a zone at an instant, in milliseconds; positive east of Greenwich. */
export function offsetAt(zone: string, at: number): number {
  if (zone === 'UTC') return 0
  // '1/31/2026, GMT+05:30'; 'GMT' alone is zero; historical offsets may have seconds.
  const match = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/.exec(formatterOf(zone).format(at))
  if (!match?.[1]) return 0
  const seconds = Number(match[2]) * 3600 + Number(match[3]) * 60 + Number(match[4] ?? 0)
  return (match[1] === '-' ? -seconds : seconds) * 1000
}

/**
 * The first transition in (from, to], if any. Samples once a day, because no zone has two opposite transitions within a
 * day, and then bisects. Meant for spans of a few days.
 */
export function firstOffsetChange(zone: string, from: number, to: number): OffsetChange | undefined {
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
