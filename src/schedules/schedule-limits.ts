// How many schedules a session may have, how close together they run, and how late a slot may be.

import { type Duration, milliseconds } from '../core/duration.ts'
import { PawlError } from '../core/errors.ts'

export interface ScheduleLimits {
  /** How many of a session may be active (default 5). */
  readonly active?: number
  /** How close together two runs of one may be (default 60 s). */
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
  if (typeof given !== 'object' || given === null) throw new PawlError('config_invalid', 'schedules is not an object.')
  for (const field of Object.keys(given))
    if (!fields.includes(field))
      throw new PawlError('config_invalid', `There is no option 'schedules.${field}'; there are ${fields.join(', ')}.`)
  const { active = 5, apart = '60s', tolerance = '60s' } = given
  if (!Number.isSafeInteger(active) || active < 0)
    throw new PawlError('config_invalid', `schedules.active is ${String(active)}; it must be a whole number from 0 on.`)
  return {
    active,
    leastMs: milliseconds(apart, 'schedules.apart'),
    toleranceMs: milliseconds(tolerance, 'schedules.tolerance'),
  }
}
