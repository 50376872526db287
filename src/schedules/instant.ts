// An instant as a caller gives it: RFC 3339 with its offset, milliseconds, or a Date. What the calendar does not have is refused.

import { PawlError } from '../core/errors.ts'

const shape = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(\.\d{1,9})?(?:[Zz]|([+-])(\d\d):(\d\d))$/
const latest = Date.UTC(9999, 11, 31)

function refuse(given: unknown, why: string): never {
  const shown = typeof given === 'string' ? JSON.stringify(given.slice(0, 60)) : String(given)
  throw new PawlError('schedule_invalid', `The instant ${shown} ${why}.`, { details: { field: 'at' } })
}

export function instantOf(given: string | number | Date): number {
  if (typeof given === 'string') return fromText(given)
  const ms = given instanceof Date ? given.getTime() : given
  if (!Number.isSafeInteger(ms) || ms < 0 || ms > latest)
    refuse(given, 'is not a whole number of milliseconds since 1970, up to the year 9999')
  return ms
}

function fromText(text: string): number {
  const match = shape.exec(text)
  if (!match) refuse(text, 'is not of RFC 3339 with an offset, like 2027-03-01T09:00:00+01:00 or 2027-03-01T08:00:00Z')
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  if (hour > 23 || minute > 59 || second > 59) refuse(text, 'has a time that no clock shows')
  const wall = Date.UTC(year, month - 1, day, hour, minute, second)
  const back = new Date(wall)
  // Date.UTC turns 30 February into 2 March, and the year 0026 into 1926.
  if (back.getUTCFullYear() !== year || back.getUTCMonth() !== month - 1 || back.getUTCDate() !== day)
    refuse(text, 'names a day that the calendar does not have')
  const ahead = Number(match[9] ?? 0) * 60 + Number(match[10] ?? 0)
  if (Number(match[9] ?? 0) > 23 || Number(match[10] ?? 0) > 59) refuse(text, 'has an offset that does not exist')
  const fraction = Math.floor(Number(match[7] ?? 0) * 1000)
  return wall + fraction - (match[8] === '-' ? -1 : 1) * ahead * 60_000
}
