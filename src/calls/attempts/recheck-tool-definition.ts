// Last check before the body: while the call was queued, the provider may have changed the tool's definition. A
// definition that is not accepted does not run, even if the call was admitted under an earlier one. Local and unchanged
// tools skip the check.

import type { Driven, ToSettle } from '../../engine/engine.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import type { RemoteEntry } from '../../tools/toolset.ts'
import type { ValidatedInput } from '../admission/call-input.ts'
import type { StageContext } from '../run-host-callback.ts'
import { executeAttempt, type NoRoomResult, type MissingConnection } from './execute-attempt.ts'
import { remoteToolUnavailable, untilStopped } from '../admission/resolve-tool.ts'
import type { CallCost } from './call-cost.ts'
import type { Slot } from '../scheduling/slot.ts'

/** The definition is not accepted; the body has not begun. */
type Rejected = { readonly rejected: ToSettle }

export function startAttempt(
  stage: StageContext,
  input: ValidatedInput,
  slot: Slot,
  callCost: CallCost,
): MaybePromise<Driven | NoRoomResult | MissingConnection | Rejected> {
  const { execution, tool, host } = stage
  const { request } = execution
  const remote = tool.remote && host.toolsOf(request).findByKey(request.tool)?.remote
  const checking = remote?.accepted()
  if (remote && checking instanceof Promise)
    return recheckRemote(stage, remote, checking, () => executeAttempt(execution, tool, input, slot, host, callCost))
  return executeAttempt(execution, tool, input, slot, host, callCost)
}

async function recheckRemote<T>(
  { execution, tool }: StageContext,
  remote: RemoteEntry,
  checking: Promise<unknown>,
  run: () => T,
): Promise<Awaited<T> | Rejected> {
  const checked = await untilStopped(execution, checking)
  // If the call was stopped during the check, the attempt reports that and does not begin.
  if ('failed' in checked && !execution.stopped)
    return { rejected: remoteToolUnavailable(tool.name, remote, execution, checked.failed) }
  return await run()
}
