// JOURNAL: what a call that is a task says of itself.

import type { WakePolicy } from '../../core/task-state.ts'

/** What a call that is a task says of itself. On record with the call, so a recovery knows it. */
export interface TaskTerms {
  readonly id: string
  /** The task that started it, where one did. */
  readonly parent?: string
  readonly wake: WakePolicy
  /** Tasks before it in a line: nothing of it happens, and nobody is asked about it, until they have settled. */
  readonly after?: readonly string[]
}
