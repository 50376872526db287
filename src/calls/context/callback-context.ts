// Code of the host that gets a ctx: prepare, reconcile, cancel. calls/host-callback.ts has the rest.

import { isThenable } from '../../core/maybe-promise.ts'
import type { ToolContext } from '../../tools/context/context.ts'
import { aboutOf, answered, type Asking } from '../host-callback.ts'
import { clockMs } from '../attempts/timeouts.ts'
import { untold } from '../authorization/known-connections.ts'
import { Context } from './context.ts'
import { scope } from '../async-context.ts'

/**
 * The same for prepare, reconcile and cancel, which get a ctx, have the time of an attempt or `ms`, and like a body are told to stop and
 * given a grace. With `step` nothing recorded may be used inside.
 */
export async function askInContext<T>(
  who: string,
  asking: Asking,
  run: (ctx: ToolContext) => T | PromiseLike<T>,
  { step, ms }: { readonly step?: string; readonly ms?: number } = {},
): Promise<T> {
  const { execution, tool, host } = asking
  const context = new Context(execution, tool, host)
  const about = step === undefined ? aboutOf(who, asking) : { ...aboutOf(who, asking), step }
  try {
    const given = scope.run(about, () => context.handed(run))
    if (!isThenable(given)) return untold(given, context.told)
    const patience = (ms ?? clockMs('attempt', execution.options, tool.clocks)) as number
    return untold(
      await answered(given, { who, asking, clock: 'attempt', ms: patience, abort: (reason) => context.abort(reason) }),
      context.told,
    )
  } finally {
    context.end()
  }
}
