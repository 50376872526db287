// Parses an instant: RFC 3339 with an offset, milliseconds since 1970, or a Date. Rejects dates that do not exist.

import { PawlError } from '../core/errors.ts'

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(\.\d{1,9})?(?:[Zz]|([+-])(\d\d):(\d\d))$/
const maxInstant = Date.UTC(9999, 11, 31)

function refuse(input: unknown, why: string): never {
  const quoted = typeof input === 'string' ? JSON.stringify(input.slice(0, 60)) : String(input)
  throw new PawlError('schedule_invalid', `The instant ${quoted} ${why}.`, { details: { field: 'at' } })
}

export function parseInstant(input: string | number | Date): number {
  if (typeof input === 'string') return parseText(input)
  const ms = input instanceof Date ? input.getTime() : input
  if (!Number.isSafeInteger(ms) || ms < 0 || ms > maxInstant)
    refuse(input, 'is not an integer number of milliseconds since 1970, up to the year 9999')
  return ms
}

function parseText(text: string): number {
  const match = rfc3339.exec(text)
  if (!match)
    refuse(text, 'is not in RFC 3339 format with an offset, like 2027-03-01T09:00:00+01:00 or 2027-03-01T08:00:00Z')
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  if (hour > 23 || minute > 59 || second > 59) refuse(text, 'has an invalid time of day')
  const wall = Date.UTC(year, month - 1, day, hour, minute, second)
  const back = new Date(wall)
  // Date.UTC normalizes 30 February to 2 March, and the year 0026 to 1926.
  if (back.getUTCFullYear() !== year || back.getUTCMonth() !== month - 1 || back.getUTCDate() !== day)
    refuse(text, 'has a date that is not in the calendar')
  const ahead = Number(match[9] ?? 0) * 60 + Number(match[10] ?? 0)
  if (Number(match[9] ?? 0) > 23 || Number(match[10] ?? 0) > 59) refuse(text, 'has an invalid offset')
  const fraction = Math.floor(Number(match[7] ?? 0) * 1000)
  return wall + fraction - (match[8] === '-' ? -1 : 1) * ahead * 60_000
}
