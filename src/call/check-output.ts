// TOOL-7: output with a schema is checked; a mismatch is an internal failure of the tool, not the model's.

import type { Invocation, ToSettle } from '../engine/engine.ts'
import { failure, internalErrorMessage, type Outcome } from '../kernel/outcome.ts'
import { decode, encode } from '../kernel/value.ts'
import type { Soon } from '../kernel/soon.ts'
import type { Checked } from '../tool/schema.ts'
import type { Tool } from '../tool/tool.ts'
import type { CallHost } from './host.ts'

export function checkOutput(invocation: Invocation, tool: Tool, given: ToSettle, host: CallHost): Soon<ToSettle> {
  const { settle: outcome } = given
  if (outcome.status !== 'success' || !tool.output) return given
  const checked = tool.output.check(decode(encode(outcome.value)))
  const judge = (found: Checked): ToSettle => (found.ok ? given : { settle: mismatch(found, invocation, tool, host) })
  return checked instanceof Promise ? checked.then(judge) : judge(checked)
}

function mismatch(checked: Extract<Checked, { ok: false }>, invocation: Invocation, tool: Tool, host: CallHost): Outcome {
  host.logger.error('A tool returned something its output schema does not allow', {
    tool: tool.name,
    callId: invocation.callId,
    problems: checked.problems,
  })
  return failure({ class: 'internal', code: 'invalid_output', message: internalErrorMessage })
}
