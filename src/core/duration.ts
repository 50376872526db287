// Durations in options: milliseconds, or a string like '30s', '1.5h' or '3d'.

import { PawlError } from './errors.ts'
import { formatValue } from './format-value.ts'

/** Milliseconds, or a number with a unit: `'250ms'`, `'30s'`, `'5m'`, `'1.5h'`, `'3d'`, `'2w'`. */
export type Duration = number | `${number}${'ms' | 's' | 'm' | 'h' | 'd' | 'w'}`

const unit: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** A hundred years. Keeps every computed instant far within the range of Date and of the databases. */
const maxMs = 3_155_760_000_000

/** The duration in whole milliseconds; undefined if it is negative, not finite, over a hundred years or malformed. */
export function parseDuration(duration: unknown): number | undefined {
  if (typeof duration === 'number') {
    if (duration >= 0 && duration <= maxMs) return Math.ceil(duration)
  } else if (typeof duration === 'string') {
    const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)$/.exec(duration)
    const ms = match ? Number(match[1]) * (unit[match[2] as string] as number) : Infinity
    if (ms <= maxMs) return Math.ceil(ms)
  }
  return undefined
}

/** An error message without its full stop, for callers that throw the error themselves. */
export const notADuration = (duration: unknown, name: string): string =>
  `${name} is ${formatValue(duration)}; it must be a duration: milliseconds, or a string like '500ms', '30s', '5m', '2h' or '3d'`

/** The duration in whole milliseconds. Throws config_invalid with the name of the option. */
export function milliseconds(duration: unknown, name: string): number {
  const ms = parseDuration(duration)
  if (ms === undefined) throw new PawlError('config_invalid', `${notADuration(duration, name)}.`)
  return ms
}

/**
 * Parses a duration that is only known at run time, for example from a configuration file. Returns milliseconds; throws
 * `config_invalid` if the text is not a duration.
 *
 * @example
 * tool({ …, timeout: duration(process.env.TOOL_TIMEOUT ?? '30s') })
 */
export const duration = (text: string): number => milliseconds(text, 'The duration')
