// A call that was cancelled while it waited for the outside (WAIT-4): its open waits end with it, and the tool's `cancel` is told, so that
// what the keys were handed to can be stopped. This comes before the outcome is settled: after a crash it is done again, so `cancel` is
// called at least once. What it does never changes the outcome, and it is not waited for for long.

import type { Driven, Execution, Wait } from '../../engine/engine.ts'
import { decode, type Json } from '../../core/value.ts'
import type { CancelledWait, ToolContext } from '../../tools/context/context.ts'
import { outcomeOf } from '../../store/records/resolution.ts'
import { type Asking, Unanswered } from '../host-callback.ts'
import { askInContext } from '../context/callback-context.ts'
import type { CallHost } from '../ports.ts'
import { resolveTool } from '../admission/resolve-tool.ts'

const patienceMs = 5_000

export function cancelledOutside(execution: Execution, host: CallHost, driven: Driven): Driven | Promise<Driven> {
  const { stopped, attempt } = execution
  if (!stopped || !('cancel' in stopped) || (attempt === 0 && !('park' in driven) && !execution.asks.any)) return driven
  // A wait is no result that wins over a cancel: parked, the call would go on for as long as nobody answers.
  const end: Driven = 'park' in driven ? { settle: outcomeOf({ cancelled: stopped.cancel }) } : driven
  const { status } = end.settle
  return status === 'cancelled' || status === 'unknown' ? tellTool(execution, host, end) : end
}

async function tellTool(execution: Execution, host: CallHost, end: Driven): Promise<Driven> {
  const waits = (await execution.abandon()).filter(({ terms }) => terms.onCancel !== 'ignore')
  if (waits.length === 0) return end
  const found = await resolveTool(execution, host)
  if ('settle' in found) return end
  const { tool } = found
  if (tool.cancel) await Promise.all(waits.map((wait) => told({ execution, tool, host }, wait)))
  return end
}

async function told(asking: Asking, { key, name }: Wait): Promise<void> {
  const { execution, tool, host } = asking
  const cancel = tool.cancel as (wait: CancelledWait<Json>, ctx: ToolContext) => unknown
  const input = decode(execution.args as string)
  try {
    await askInContext('cancel', asking, (ctx) => cancel({ key, name, input }, ctx), { step: 'cancel', ms: patienceMs })
  } catch (error) {
    if (error instanceof Unanswered && typeof error.why === 'object' && 'over' in error.why) throw error.why.over
    const what = error instanceof Unanswered ? 'did not answer' : 'threw'
    host.logger.error(`The cancel of a tool ${what}; the outside may go on`, {
      tool: tool.name,
      callId: execution.callId,
      wait: name,
      error,
    })
  }
}
