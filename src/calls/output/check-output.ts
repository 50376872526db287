// TOOL-7: output with a schema is checked; a mismatch is an internal failure of the tool, not the model's. So is a schema that throws or does
// not answer: what it would have said is not known, and the body has run.

import type { ToSettle } from '../../engine/engine.ts'
import { failure, internalErrorMessage } from '../../core/outcome.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import { decode, encode } from '../../core/value.ts'
import type { Checked } from '../../tools/schema.ts'
import { ask, type Asking, Unanswered } from '../host-callback.ts'
import { recordDiagnostics } from '../diagnostics.ts'

export function checkOutput(asking: Asking, given: ToSettle): MaybePromise<ToSettle> {
  const { output } = asking.tool
  const { settle: outcome } = given
  if (outcome.status !== 'success' || !output) return given
  const judge = (found: Checked): ToSettle =>
    found.ok
      ? given
      : mismatch(asking, 'A tool returned something its output schema does not allow', { problems: found.problems })
  const failed = (error: unknown): ToSettle => {
    // Lost, not late: then it is nobody's to settle here.
    if (error instanceof Unanswered && typeof error.why === 'object' && 'over' in error.why) throw error.why.over
    return mismatch(
      asking,
      error instanceof Unanswered ? 'An output schema did not answer' : 'An output schema threw',
      { error },
    )
  }
  try {
    const checked = ask('An output schema', asking, () => output.check(decode(encode(outcome.value))))
    return checked instanceof Promise ? checked.then(judge, failed) : judge(checked)
  } catch (error) {
    return failed(error)
  }
}

function mismatch({ execution, tool, host }: Asking, what: string, more: object): ToSettle {
  host.logger.error(what, { tool: tool.name, callId: execution.callId, ...more })
  recordDiagnostics(what, 'error' in more ? more.error : more, execution, host)
  return { settle: failure({ class: 'internal', code: 'invalid_output', message: internalErrorMessage }) }
}
