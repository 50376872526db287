// Validates the reason of a cancellation. Called by tasks.cancel, calls.cancel and session.end.

import { PawlError } from '../core/errors.ts'
import type { CancelReason } from '../engine/engine.ts'
import type { BackgroundHost } from './ports.ts'

/** Truncates both strings: they are recorded in an event and in the outcome of the cancelled call. */
export function checkCancelReason(
  { sizes }: Pick<BackgroundHost, 'sizes'>,
  reason: unknown,
  by: unknown,
): CancelReason {
  if (typeof reason !== 'string' || (by !== undefined && by !== null && typeof by !== 'string'))
    throw new PawlError('task_invalid', '`reason` and `by` must be strings.')
  return {
    reason: reason.slice(0, sizes.event).toWellFormed(),
    by: by?.slice(0, sizes.event).toWellFormed() ?? null,
  }
}
