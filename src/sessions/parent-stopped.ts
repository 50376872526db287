// A call that ends because the attempt of the body that made it was given up.

import type { Outcome } from '../core/outcome.ts'

/** Why: on record, so that the next attempt knows. */
export const takenDown = 'The call above it was stopped'
export const wasTakenDown = (outcome: Outcome): boolean =>
  outcome.status === 'cancelled' &&
  (outcome.cancellation.message === takenDown || outcome.cancellation.message.startsWith(`${takenDown};`))
