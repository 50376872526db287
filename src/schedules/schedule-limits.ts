// The runtime option `schedules`: limits on the number of schedules, their interval and their lateness.

import { option, type OptionTable } from '../core/check-options.ts'
import { type Duration, milliseconds } from '../core/duration.ts'

/** Limits on schedules of a session. */
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

export const scheduleLimitsOption = option.nested({
  active: option.wholeNumber(0),
  apart: option.duration,
  tolerance: option.duration,
} satisfies OptionTable<ScheduleLimits>)

export function scheduleLimits({ active = 5, apart = '60s', tolerance = '60s' }: ScheduleLimits = {}): CheckedLimits {
  return {
    active,
    leastMs: milliseconds(apart, 'schedules.apart'),
    toleranceMs: milliseconds(tolerance, 'schedules.tolerance'),
  }
}
