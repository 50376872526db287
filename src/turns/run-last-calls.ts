// The stage of a turn that runs the calls of the last answer and applies a control result (finish, fail or switch
// frame). Called by turn-loop.ts.

import type { Control, Outcome } from '../core/outcome.ts'
import { callsIn } from '../models/message.ts'
import { openingMessages } from './conversation/user-message.ts'
import { type CallsResult, runCalls } from './run-calls.ts'
import type { TurnRun } from './running-turn.ts'
import { tooManyInvalidCalls } from './turn-failures.ts'

/** With toolChoice 'none' the calls of a model that makes some all the same are refused. */
const noTools: readonly string[] = []

export async function runLastCalls(run: TurnRun): Promise<Outcome | null> {
  const { last, frame, tools } = run
  if (last?.message.role === 'tool' && last.control !== undefined) return applyControl(run, last.control as Control)
  const calls = last?.message.role === 'assistant' ? callsIn(last.message) : []
  if (!last || calls.length === 0) return null
  const result = await runCalls(run.host, run.execution, {
    step: last.step,
    calls,
    tools: tools.forFrame(run.request.toolChoice === 'none' ? noTools : frame.tools).set,
    within: tools.restrictedTo(frame.tools),
    parallel: frame.parallel,
    frame: frame.name,
    backgroundMs: run.request.backgroundMs,
    signal: run.stop.calls,
  })
  appendResults(run, result)
  if (run.stop.outcome) return run.stop.outcome
  if (result.control) return applyControl(run, result.control)
  if (result.handedOver) return run.success('handed_over', null)
  const { consecutiveInvalid } = run
  return consecutiveInvalid < run.limits.invalid ? null : tooManyInvalidCalls(consecutiveInvalid)
}

function appendResults(
  run: TurnRun,
  { results, owed, control, unheard, invalid, invalidArguments }: CallsResult,
): void {
  if (unheard.length > 0)
    run.host.logger.warn('Several calls returned a control result; only the first was applied', {
      turn: run.id,
      others: unheard,
    })
  run.append({ role: 'tool', results }, run.tools.reveal(run.frame.tools, invalidArguments), {
    ...(unheard.length > 0 ? { unheard } : {}),
    ...(control ? { control } : {}),
    ...(invalid ? { invalid: run.consecutiveInvalid + 1 } : {}),
  })
  run.recordOwed(owed)
}

function applyControl(run: TurnRun, control: Control): Outcome | null {
  if ('finish' in control) return run.success('finish', control.finish)
  if ('fail' in control) return { status: 'failure', failure: control.fail }
  // The control was applied if the next frame has started.
  if (run.history.last?.message.role !== 'tool') return null
  const failed = run.switchFrame(control.switchFrame.frame)
  if (failed) return failed
  const opening = openingMessages(control.switchFrame, run.history)
  run.append({ role: 'frame', frame: control.switchFrame.frame })
  for (const { message, secret } of opening) run.append(message, [], secret ? { secret } : {})
  return null
}
