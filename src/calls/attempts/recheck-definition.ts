// The last look before the body (POL-9): while a call waited for its turn, the source of its tool may have changed what the tool is. What is
// not accepted does not run, with whatever contract the call was let in. Own tools, and those whose source has not changed, cost nothing here.

import type { Driven, ToSettle } from '../../engine/engine.ts'
import type { Soon } from '../../core/maybe-promise.ts'
import type { RemoteEntry } from '../../tools/toolset.ts'
import type { Accepted } from '../admission/validated-input.ts'
import type { Asking } from '../host-callback.ts'
import { attempt, type Full, type Lacks } from './execute-attempt.ts'
import { notGiven, untilStopped } from '../admission/resolve-tool.ts'
import type { Bill } from './call-cost.ts'
import type { Slot } from '../scheduling/slot.ts'

/** Refused: nothing of this attempt has begun. */
type Held = { readonly held: ToSettle }

export function begin(asking: Asking, accepted: Accepted, slot: Slot, bill: Bill): Soon<Driven | Full | Lacks | Held> {
  const { invocation, tool, host } = asking
  const { request } = invocation
  const remote = tool.remote && host.toolsOf(request).recorded(request.tool)?.remote
  const looking = remote?.accepted()
  if (remote && looking instanceof Promise)
    return looked(asking, remote, looking, () => attempt(invocation, tool, accepted, slot, host, bill))
  return attempt(invocation, tool, accepted, slot, host, bill)
}

async function looked<T>(
  { invocation, tool }: Asking,
  remote: RemoteEntry,
  looking: Promise<unknown>,
  run: () => T,
): Promise<Awaited<T> | Held> {
  const got = await untilStopped(invocation, looking)
  // Who was stopped meanwhile hears of it from the attempt, which then does not begin.
  if ('failed' in got && !invocation.stopped) return { held: notGiven(tool.name, remote, invocation, got.failed) }
  return await run()
}
