// Limits the size of an outcome before it is recorded: an oversized success becomes a failure, and other outcomes are
// shortened. Called for every outcome, whether it comes from the body, a hook or a person.

import type { Execution, ToSettle } from '../../engine/engine.ts'
import { failure, type Outcome } from '../../core/outcome.ts'
import { utf8Bytes, fits, truncateToBytes } from '../../core/size-limits.ts'
import { encode } from '../../core/tool-value.ts'
import { formatCount } from './text-size.ts'
import type { CallHost } from '../ports.ts'

/** Returns the outcome with its recorded form (encoded once and reused for the commit), or a smaller replacement. */
export function limitOutcomeSize(given: ToSettle, execution: Execution, host: CallHost): ToSettle {
  const text = given.text ?? recordedForm(given.settle)
  const most = host.sizes.result
  if (text === null) return given
  if (fits(text, most)) return given.text === undefined ? { settle: given.settle, text } : given
  const bytes = utf8Bytes(text)
  host.logger.error(
    'The outcome of a tool exceeds sizes.result. Return less, or store it with ctx.attachments.create',
    {
      tool: execution.options.name ?? execution.request.tool,
      callId: execution.callId,
      bytes,
      most,
    },
  )
  return { settle: oversizedOutcome(given.settle, bytes, most) }
}

function oversizedOutcome(outcome: Outcome, bytes: number, most: number): Outcome {
  if (outcome.status !== 'success') return shortened(outcome, most)
  const message =
    `The tool ran, but its result is too large to keep (${formatCount(bytes)} bytes; at most ${formatCount(most)}). ` +
    'Ask for less at once: a page, a range, a narrower question. (A tool that must return this much keeps it with ctx.attachments.create.)'
  return failure({ class: 'resource_limit', code: 'result_too_large', message })
}

/** Null if the outcome cannot be encoded; the engine reports that when it settles the call. */
function recordedForm(outcome: Outcome): string | null {
  try {
    return encode(outcome)
  } catch {
    return null
  }
}

/** Keeps the status: shortens the message and drops `raw` and `evidence`. */
function shortened(outcome: Exclude<Outcome, { status: 'success' }>, most: number): Outcome {
  // JSON escaping can multiply the bytes of a character by six.
  const short = (text: string): string => `${truncateToBytes(text, Math.floor(most / 8))} […]`
  switch (outcome.status) {
    case 'failure': {
      const { raw: _, ...about } = outcome.failure
      return {
        status: 'failure',
        failure: { ...about, code: truncateToBytes(about.code, 200), message: short(about.message) },
      }
    }
    case 'cancelled': {
      const { raw: _, ...about } = outcome.cancellation
      return { status: 'cancelled', cancellation: { ...about, message: short(about.message) } }
    }
    case 'unknown':
      return {
        status: 'unknown',
        unknown: { ...outcome.unknown, message: short(outcome.unknown.message), evidence: null },
      }
  }
}
