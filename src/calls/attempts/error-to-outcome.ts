// Converts a thrown error into an outcome. fail() and an uncaught wait error carry their outcome; an unknown step makes
// the call unknown; everything else is an internal error, with causes for operators only (calls/record-diagnostics.ts).

import type { Execution } from '../../engine/engine.ts'
import { PawlError } from '../../core/errors.ts'
import {
  EffectUnknown,
  type Failure,
  failure,
  internalErrorMessage,
  type Outcome,
  ToolFailure,
  type Unknown,
} from '../../core/outcome.ts'
import { encode } from '../../core/tool-value.ts'
import { WaitError } from '../../store/records/wait-resolution.ts'
import type { CallHost } from '../ports.ts'
import { recordDiagnostics } from '../record-diagnostics.ts'

export function outcomeOfThrown(error: unknown, execution: Execution, host: CallHost): Outcome {
  // A lost store, lease or runtime is not an outcome of the tool, whatever the body threw because of it. The engine
  // handles it.
  const { stopped } = execution
  if (stopped && 'over' in stopped) throw stopped.over
  const { uid, tool } = execution.request
  const about = { tool, callId: execution.callId, call: uid, attempt: execution.attempt }
  let code = 'internal_error'
  try {
    if (error instanceof ToolFailure) {
      const { failure: declared, cost } = error
      return {
        status: 'failure',
        failure: withEncodableRaw(declared, host, about),
        ...(cost === undefined ? {} : { cost }),
      }
    }
    if (error instanceof EffectUnknown) return { status: 'unknown', unknown: withEncodableEvidence(error.unknown) }
    if (error instanceof WaitError) return error.outcome
    if (error instanceof PawlError) {
      if (error.code === 'step_unknown') return unknownStep(error)
      code = error.code
    }
  } catch {
    // The thrown object has getters that throw.
  }
  host.logger.error('A tool threw', { ...about, causes: recordDiagnostics('A tool threw', error, execution, host) })
  return failure({ class: 'internal', code, message: internalErrorMessage })
}

/** Drops evidence without a recorded form, so that the outcome is still recorded. */
function withEncodableEvidence(unknown: Unknown): Unknown {
  try {
    encode(unknown)
    return unknown
  } catch {
    return { ...unknown, evidence: null }
  }
}

/** Drops a `raw` without a recorded form, so that the declared failure is still reported. */
function withEncodableRaw(declared: Failure, host: CallHost, about: object): Failure {
  try {
    encode(declared)
    return declared
  } catch (error) {
    host.logger.error('The `raw` of a failure cannot be recorded and was left out', { ...about, error })
    const { raw: _, ...rest } = declared
    return rest
  }
}

function unknownStep(error: PawlError): Outcome {
  const { step, startedAt } = error.details as { step: string; startedAt: number }
  const message = `The worker stopped during step '${step}', which must not run twice, so it is not known whether it took effect. Check before asking for it again.`
  return { status: 'unknown', unknown: { message, startedAt, evidence: { step } } }
}
