// What a thrown thing means. fail() and an uncaught wait say it themselves; a step whose fate is unknown makes the call unknown;
// everything else is internal: operators get the causes (calls/diagnostics.ts), everyone else one fixed sentence (VAL-4).

import type { Execution } from '../../engine/engine.ts'
import { PawlError } from '../../core/errors.ts'
import { type Failure, failure, internalErrorMessage, type Outcome, ToolFailure } from '../../core/outcome.ts'
import { encode } from '../../core/value.ts'
import { WaitError } from '../../store/records/resolution.ts'
import type { CallHost } from '../ports.ts'
import { recordDiagnostics } from '../diagnostics.ts'

export function settleThrown(error: unknown, execution: Execution, host: CallHost): Outcome {
  // Losing the store, the lease or the runtime is no outcome of the tool, whatever the body made of it: the engine deals with it.
  const { stopped } = execution
  if (stopped && 'over' in stopped) throw stopped.over
  const { uid, tool } = execution.request
  const about = { tool, callId: execution.callId, call: uid, attempt: execution.attempt }
  let code = 'internal_error'
  try {
    if (error instanceof ToolFailure) {
      const { failure: declared, cost } = error
      return { status: 'failure', failure: recordable(declared, host, about), ...(cost === undefined ? {} : { cost }) }
    }
    if (error instanceof WaitError) return error.outcome
    if (error instanceof PawlError) {
      if (error.code === 'step_unknown') return unknownStep(error)
      code = error.code
    }
  } catch {
    // An object that throws when it is asked what it is.
  }
  host.logger.error('A tool threw', { ...about, causes: recordDiagnostics('A tool threw', error, execution, host) })
  return failure({ class: 'internal', code, message: internalErrorMessage })
}

/** What a tool declares is told, whatever it put beside it. */
function recordable(declared: Failure, host: CallHost, about: object): Failure {
  try {
    encode(declared)
    return declared
  } catch (error) {
    host.logger.error('The raw of a failure has no recorded form and was left out', { ...about, error })
    const { raw: _, ...rest } = declared
    return rest
  }
}

function unknownStep(error: PawlError): Outcome {
  const { step, startedAt } = error.details as { step: string; startedAt: number }
  const message = `The worker stopped during step '${step}', which must not run twice, so it is not known whether it took effect. Check before asking for it again.`
  return { status: 'unknown', unknown: { message, startedAt, evidence: { step } } }
}
