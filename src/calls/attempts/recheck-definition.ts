// The last look before the body (POL-9): while a call waited for its turn, the source of its tool may have changed what the tool is. What is
// not accepted does not run, with whatever contract the call was let in. Own tools, and those whose source has not changed, cost nothing here.

import type { Driven, ToSettle } from '../../engine/engine.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import type { RemoteEntry } from '../../tools/toolset.ts'
import type { ValidatedInput } from '../admission/validated-input.ts'
import type { Asking } from '../host-callback.ts'
import { attempt, type Full, type Lacks } from './execute-attempt.ts'
import { notGiven, untilStopped } from '../admission/resolve-tool.ts'
import type { CallCost } from './call-cost.ts'
import type { Slot } from '../scheduling/slot.ts'

/** Refused: nothing of this attempt has begun. */
type Held = { readonly held: ToSettle }

export function begin(
  asking: Asking,
  accepted: ValidatedInput,
  slot: Slot,
  bill: CallCost,
): MaybePromise<Driven | Full | Lacks | Held> {
  const { execution, tool, host } = asking
  const { request } = execution
  const remote = tool.remote && host.toolsOf(request).recorded(request.tool)?.remote
  const looking = remote?.accepted()
  if (remote && looking instanceof Promise)
    return looked(asking, remote, looking, () => attempt(execution, tool, accepted, slot, host, bill))
  return attempt(execution, tool, accepted, slot, host, bill)
}

async function looked<T>(
  { execution, tool }: Asking,
  remote: RemoteEntry,
  looking: Promise<unknown>,
  run: () => T,
): Promise<Awaited<T> | Held> {
  const got = await untilStopped(execution, looking)
  // Who was stopped meanwhile hears of it from the attempt, which then does not begin.
  if ('failed' in got && !execution.stopped) return { held: notGiven(tool.name, remote, execution, got.failed) }
  return await run()
}
