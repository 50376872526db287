// Terms of a call that is a task.

import type { WakePolicy } from '../../core/task-state.ts'

/** Recorded with the call, so that a recovery knows them. */
export interface TaskTerms {
  readonly id: string
  /** The task that started it, if any. */
  readonly parent?: string
  readonly wake: WakePolicy
  /** Tasks that must settle first: until then this task does nothing and does not request approvals. */
  readonly after?: readonly string[]
}
