// Redacts secrets from the shown form of an outcome. The recorded outcome is not changed; programs get the full value.

import type { Outcome } from '../../core/outcome.ts'
import type { Redactor } from '../../security/redact.ts'
import { encode } from '../../core/tool-value.ts'
import { cleanOutcome } from './truncate.ts'

/**
 * Redacts the whole outcome, for a model. The recorded form shows quickly whether there is anything to redact. Terminal
 * codes are removed first, because they could split a secret.
 */
export function redactOutcome(outcome: Outcome, text: string | undefined, redact: Redactor): Outcome {
  const recorded = text ?? encode(outcome)
  if (recorded.includes('\\')) return redact.deep(cleanOutcome(outcome))
  return redact.text(recorded) === recorded ? outcome : redact.deep(outcome)
}

/** Redacts only the messages. Programs get value, raw and evidence unchanged. */
export function redactMessages(given: Outcome, redact: Redactor): Outcome {
  if (!redact.active) return given
  const outcome = given.note === undefined ? given : { ...given, note: redact.text(given.note) }
  switch (outcome.status) {
    case 'success':
      return outcome.summary === undefined ? outcome : { ...outcome, summary: redact.text(outcome.summary) }
    case 'failure':
      return { ...outcome, failure: { ...outcome.failure, message: redact.text(outcome.failure.message) } }
    case 'cancelled':
      return {
        ...outcome,
        cancellation: { ...outcome.cancellation, message: redact.text(outcome.cancellation.message) },
      }
    case 'unknown':
      return { ...outcome, unknown: { ...outcome.unknown, message: redact.text(outcome.unknown.message) } }
  }
}
