// TOOL-7: output with a schema is checked; a mismatch is an internal failure of the tool, not the model's.

import type { Invocation } from '../engine/engine.ts'
import { failure, internalErrorMessage, type Outcome } from '../kernel/outcome.ts'
import { decode, encode } from '../kernel/value.ts'
import type { Tool } from '../tool/tool.ts'
import type { CallHost } from './host.ts'

export async function checkOutput(invocation: Invocation, tool: Tool, outcome: Outcome, host: CallHost): Promise<Outcome> {
  if (outcome.status !== 'success' || !tool.output) return outcome
  const checked = await tool.output.check(decode(encode(outcome.value)))
  if (checked.ok) return outcome
  host.logger.error('A tool returned something its output schema does not allow', {
    tool: tool.name,
    callId: invocation.callId,
    problems: checked.problems,
  })
  return failure({ class: 'internal', code: 'invalid_output', message: internalErrorMessage })
}
