import { PawlError } from '../core/errors.ts'
import type { BackgroundHost } from './ports.ts'

/** Why something is called off, and by whom, as it goes on record: a reason is told in an event and stands in the outcome. */
export function whyOf(
  { longestReason }: BackgroundHost,
  reason: unknown,
  by: unknown,
): { reason: string; by: string | null } {
  if (typeof reason !== 'string' || (by !== undefined && by !== null && typeof by !== 'string'))
    throw new PawlError('task_invalid', 'A reason is a text, and so is who gives it.')
  return {
    reason: reason.slice(0, longestReason).toWellFormed(),
    by: by?.slice(0, longestReason).toWellFormed() ?? null,
  }
}
