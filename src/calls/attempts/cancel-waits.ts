// Cancels the open waits of a cancelled call and runs the tool's `cancel`, so that the external service that holds the
// key can be stopped. Runs before the outcome is settled and again after a crash, so `cancel` is called at least once.
// It never changes the outcome and has a short timeout.

import type { Driven, Execution, Wait } from '../../engine/engine.ts'
import { decode, type Json } from '../../core/tool-value.ts'
import type { CancelledWait, ToolContext } from '../../tools/context/tool-context.ts'
import { outcomeOf } from '../../store/records/wait-resolution.ts'
import { type StageContext, CallbackAbandoned } from '../run-host-callback.ts'
import { runCallbackInContext } from '../context/context-for-callbacks.ts'
import type { CallHost } from '../ports.ts'
import { resolveTool } from '../admission/resolve-tool.ts'

const callbackTimeoutMs = 5_000

export function cancelWaits(execution: Execution, host: CallHost, driven: Driven): Driven | Promise<Driven> {
  const { stopped, attempt } = execution
  if (!stopped || !('cancel' in stopped) || (attempt === 0 && !('park' in driven) && !execution.approvals.any))
    return driven
  // A cancelled call must not park, or it would wait until an answer arrives.
  const end: Driven = 'park' in driven ? { settle: outcomeOf({ cancelled: stopped.cancel }) } : driven
  const { status } = end.settle
  return status === 'cancelled' || status === 'unknown' ? notifyTool(execution, host, end) : end
}

async function notifyTool(execution: Execution, host: CallHost, end: Driven): Promise<Driven> {
  const waits = (await execution.cancelWaits()).filter(({ terms }) => terms.onCancel !== 'ignore')
  if (waits.length === 0) return end
  const resolved = await resolveTool(execution, host)
  if ('settle' in resolved) return end
  const { tool } = resolved
  if (tool.cancel) await Promise.all(waits.map((wait) => runCancelCallback({ execution, tool, host }, wait)))
  return end
}

async function runCancelCallback(stage: StageContext, { key, name }: Wait): Promise<void> {
  const { execution, tool, host } = stage
  const cancel = tool.cancel as (wait: CancelledWait<Json>, ctx: ToolContext) => unknown
  const input = decode(execution.args as string)
  try {
    await runCallbackInContext('cancel', stage, (ctx) => cancel({ key, name, input }, ctx), {
      step: 'cancel',
      ms: callbackTimeoutMs,
    })
  } catch (error) {
    if (error instanceof CallbackAbandoned && typeof error.reason === 'object' && 'over' in error.reason)
      throw error.reason.over
    const what = error instanceof CallbackAbandoned ? 'did not return in time' : 'threw'
    host.logger.error(`The \`cancel\` of a tool ${what}; the external work may continue`, {
      tool: tool.name,
      callId: execution.callId,
      wait: name,
      error,
    })
  }
}
