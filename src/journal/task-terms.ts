// JOURNAL: what a call that is a task says of itself.

import type { WakePolicy } from '../kernel/task.ts'

/** What a call that is a task says of itself. On record with the call, so a recovery knows it. */
export interface TaskTerms {
  readonly id: string
  /** The task that started it, where one did. */
  readonly parent?: string
  readonly wake: WakePolicy
  /** Runs of one schedule that follow each other. */
  readonly queue?: string
}
