// One execution of the body. Whatever it does becomes a value: an outcome, or the wait to park on.

import type { Driven, Invocation } from '../engine/engine.ts'
import { encode, type Json } from '../kernel/value.ts'
import { onCrashOf } from '../tool/hints.ts'
import type { Tool } from '../tool/tool.ts'
import { type Context, contextOf, waitOf } from './context.ts'
import type { CallHost } from './host.ts'
import { settleThrown } from './settle.ts'

export async function attempt(invocation: Invocation, tool: Tool, args: Json, host: CallHost): Promise<Driven> {
  // DUR-2: a body that must not run twice waits until its start is on disk; one that may rerun need not.
  const durable = onCrashOf(tool) === 'stop' || invocation.interrupted !== null
  let context: Context | undefined
  try {
    const returned = await invocation.begin({ durable }, () => {
      context = contextOf(invocation, tool, host)
      return (tool.execute as (input: Json, ctx: unknown) => unknown)(args, context.ctx)
    })
    const wait = waitOf(returned)
    if (wait) return { park: wait }
    encode(returned) // refuses what has no recorded form while the body can still be blamed
    return { settle: { status: 'success', value: (returned ?? null) as Json } }
  } catch (error) {
    return { settle: settleThrown(error, invocation, host) }
  } finally {
    context?.end()
  }
}
