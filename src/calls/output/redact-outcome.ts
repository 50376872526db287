// What is shown of an outcome, without secrets (DUR-12). The outcome itself stays as it is: code gets the value.

import type { Outcome } from '../../core/outcome.ts'
import type { Redactor } from '../../security/redact.ts'
import { encode } from '../../core/value.ts'
import { clean } from './truncate.ts'

/**
 * All of it, for a model. The recorded form tells quickly that there is nothing to do. Terminal codes, which are escaped there, are cleaned
 * first: without them a text may spell what it did not spell with them.
 */
export function withoutSecrets(outcome: Outcome, text: string | undefined, redact: Redactor): Outcome {
  const recorded = text ?? encode(outcome)
  if (recorded.includes('\\')) return redact.deep(clean(outcome))
  return redact.text(recorded) === recorded ? outcome : redact.deep(outcome)
}

/** Its words alone: what a program is given as value, raw or evidence is what the tool gave. */
export function wordsWithoutSecrets(given: Outcome, redact: Redactor): Outcome {
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
