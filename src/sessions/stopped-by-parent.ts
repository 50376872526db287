// Marks nested calls that were cancelled because the attempt of their parent's body was abandoned. Used by
// run-batch.ts.

import type { Outcome } from '../core/outcome.ts'

/** Recorded as the cancellation message; the next attempt of the body recognizes it. */
export const parentStoppedReason = 'The call above it was stopped'
export const wasStoppedByParent = (outcome: Outcome): boolean =>
  outcome.status === 'cancelled' &&
  (outcome.cancellation.message === parentStoppedReason ||
    outcome.cancellation.message.startsWith(`${parentStoppedReason};`))
