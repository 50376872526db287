// WORDS: a length of time, as milliseconds or as a string like '30s', '1.5h', '3d'.

import { PawlError } from './errors.ts'
import { formatValue } from './format-value.ts'

export type Duration = number | string

const unit: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** A hundred years: instants stay far below what a clock and a database can hold. */
const longest = 3_155_760_000_000

/** Whole milliseconds of a duration, as instants are; refuses what is negative, not finite, longer than a hundred years or not understood. */
export function milliseconds(duration: Duration, what: string): number {
  if (typeof duration === 'number') {
    if (duration >= 0 && duration <= longest) return Math.ceil(duration)
  } else if (typeof duration === 'string') {
    const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)$/.exec(duration)
    const ms = match ? Number(match[1]) * (unit[match[2] as string] as number) : Infinity
    if (ms <= longest) return Math.ceil(ms)
  }
  throw new PawlError(
    'config_invalid',
    `${what} is ${formatValue(duration)}, which is not a duration: give milliseconds or a string like '500ms', '30s', '5m', '2h', '3d'.`,
  )
}
