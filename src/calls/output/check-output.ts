// Validates the result of a body against the output schema of its tool. A mismatch is an internal failure of the tool,
// not of the model; so is a schema that throws or does not return in time, because the body has already run.

import type { ToSettle } from '../../engine/engine.ts'
import { failure, internalErrorMessage } from '../../core/outcome.ts'
import { chainCatch, chain, type MaybePromise } from '../../core/maybe-promise.ts'
import { decode, encode } from '../../core/tool-value.ts'
import type { CheckResult } from '../../tools/schema.ts'
import { runCallback, type StageContext, CallbackAbandoned } from '../run-host-callback.ts'
import { recordDiagnostics } from '../record-diagnostics.ts'

export function checkOutput(given: ToSettle, stage: StageContext): MaybePromise<ToSettle> {
  const { output } = stage.tool
  const { settle: outcome } = given
  if (outcome.status !== 'success' || !output) return given
  const toOutcome = (found: CheckResult): ToSettle =>
    found.ok
      ? given
      : invalidOutput(stage, 'A tool returned something its output schema does not allow', { problems: found.problems })
  const failed = (error: unknown): ToSettle => {
    // The lease or the store was lost: this worker must not settle the call.
    if (error instanceof CallbackAbandoned && typeof error.reason === 'object' && 'over' in error.reason)
      throw error.reason.over
    return invalidOutput(
      stage,
      error instanceof CallbackAbandoned ? 'An output schema did not answer' : 'An output schema threw',
      { error },
    )
  }
  const check = (): MaybePromise<CheckResult> => output.check(decode(encode(outcome.value)))
  return chainCatch(() => chain(runCallback('An output schema', stage, check), toOutcome), failed)
}

function invalidOutput({ execution, tool, host }: StageContext, what: string, more: object): ToSettle {
  host.logger.error(what, { tool: tool.name, callId: execution.callId, ...more })
  recordDiagnostics(what, 'error' in more ? more.error : more, execution, host)
  return { settle: failure({ class: 'internal', code: 'invalid_output', message: internalErrorMessage }) }
}
