// Validates the runtime option `schedules`: limits on the number of schedules, their interval and their lateness.

import { type Duration, milliseconds } from '../core/duration.ts'
import { PawlError } from '../core/errors.ts'

export interface ScheduleLimits {
  /** Maximum number of active schedules per session (default 5). */
  readonly active?: number
  /** Minimum interval between two runs of a schedule (default 60 s). */
  readonly apart?: Duration
  /** How late a slot may be fired before it counts as missed (default 60 s). */
  readonly tolerance?: Duration
}

export interface CheckedLimits {
  readonly active: number
  readonly leastMs: number
  readonly toleranceMs: number
}

const fields: readonly string[] = ['active', 'apart', 'tolerance']

export function scheduleLimits(given: ScheduleLimits = {}): CheckedLimits {
  if (typeof given !== 'object' || given === null)
    throw new PawlError('config_invalid', '`schedules` must be an object.')
  for (const field of Object.keys(given))
    if (!fields.includes(field))
      throw new PawlError('config_invalid', `schedules.${field} is unknown; the options are ${fields.join(', ')}.`)
  const { active = 5, apart = '60s', tolerance = '60s' } = given
  if (!Number.isSafeInteger(active) || active < 0)
    throw new PawlError('config_invalid', `schedules.active is ${String(active)}; it must be a non-negative integer.`)
  return {
    active,
    leastMs: milliseconds(apart, 'schedules.apart'),
    toleranceMs: milliseconds(tolerance, 'schedules.tolerance'),
  }
}
