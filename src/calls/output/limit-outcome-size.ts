// The size of an outcome (VAL-8): what is too large for the record is a failure that says so, whoever made it.

import type { Execution, ToSettle } from '../../engine/engine.ts'
import { failure, type Outcome } from '../../core/outcome.ts'
import { bytesIn, fits, startOf } from '../../core/size-limits.ts'
import { encode } from '../../core/value.ts'
import { grouped } from './text-size.ts'
import type { CallHost } from '../ports.ts'

/** The same with its recorded form, which is made once for this and for the record; or a smaller one in its place. */
export function bounded(given: ToSettle, execution: Execution, host: CallHost): ToSettle {
  const text = given.text ?? recordedForm(given.settle)
  const most = host.sizes.result
  if (text === null) return given
  if (fits(text, most)) return given.text === undefined ? { settle: given.settle, text } : given
  const bytes = bytesIn(text)
  host.logger.error(
    'The outcome of a tool is too large for the record: return less, or keep it with ctx.attachments.create',
    {
      tool: execution.options.name ?? execution.request.tool,
      callId: execution.callId,
      bytes,
      most,
    },
  )
  return { settle: smaller(given.settle, bytes, most) }
}

function smaller(outcome: Outcome, bytes: number, most: number): Outcome {
  if (outcome.status !== 'success') return shortened(outcome, most)
  const message =
    `The tool ran, but its result is too large to keep (${grouped(bytes)} bytes; at most ${grouped(most)}). ` +
    'Ask for less at once: a page, a range, a narrower question. (A tool that must return this much keeps it with ctx.attachments.create.)'
  return failure({ class: 'resource_limit', code: 'result_too_large', message })
}

/** Null if it has none: then the engine says so. */
function recordedForm(outcome: Outcome): string | null {
  try {
    return encode(outcome)
  } catch {
    return null
  }
}

/** It still ended the way it did: only its words are cut, and what was kept beside them for people is left out. */
function shortened(outcome: Exclude<Outcome, { status: 'success' }>, most: number): Outcome {
  // An escaped character has up to six times the bytes.
  const short = (text: string): string => `${startOf(text, Math.floor(most / 8))} […]`
  switch (outcome.status) {
    case 'failure': {
      const { raw: _, ...about } = outcome.failure
      return { status: 'failure', failure: { ...about, code: startOf(about.code, 200), message: short(about.message) } }
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
