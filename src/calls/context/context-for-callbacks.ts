// Runs the host callbacks that get a ctx: prepare, reconcile and cancel. calls/run-host-callback.ts runs the others.

import { isThenable } from '../../core/maybe-promise.ts'
import type { ToolContext } from '../../tools/context/tool-context.ts'
import { scopeOf, awaitCallback, type StageContext } from '../run-host-callback.ts'
import { timeoutMs } from '../attempts/attempt-timeouts.ts'
import { withoutUsedSecrets } from '../authorization/used-connections.ts'
import { Context } from './context.ts'
import { scope } from '../async-context.ts'

/**
 * Like a body, the callback has the timeout of an attempt (or `ms`), is aborted through its signal, and then has a
 * grace period. With `step` it counts as the body of a step, so it cannot use recorded operations.
 */
export async function runCallbackInContext<T>(
  who: string,
  stage: StageContext,
  run: (ctx: ToolContext) => T | PromiseLike<T>,
  { step, ms }: { readonly step?: string; readonly ms?: number } = {},
): Promise<T> {
  const { execution, tool, host } = stage
  const context = new Context(execution, tool, host)
  const about = step === undefined ? scopeOf(who, stage) : { ...scopeOf(who, stage), step }
  try {
    const given = scope.run(about, () => context.runWithApp(run))
    if (!isThenable(given)) return withoutUsedSecrets(given, context.usedConnections)
    const limitMs = (ms ?? timeoutMs('attempt', execution.options, tool.clocks)) as number
    return withoutUsedSecrets(
      await awaitCallback(given, {
        who,
        stage,
        clock: 'attempt',
        ms: limitMs,
        abort: (reason) => context.abort(reason),
      }),
      context.usedConnections,
    )
  } finally {
    context.end()
  }
}
