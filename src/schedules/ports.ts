// The ports of schedules, triggers and the scheduler, which extend those of tasks.

import type { KeyedMutex } from '../core/keyed-mutex.ts'
import type { BackgroundHost } from '../tasks/ports.ts'
import type { DueSignal } from './due-signal.ts'
import type { CheckedLimits } from './schedule-limits.ts'

export interface SchedulesHost extends BackgroundHost {
  readonly limits: CheckedLimits
  readonly mutex: KeyedMutex
  readonly due: DueSignal
}
