// One execution of the body. Whatever it does becomes a value: an outcome, or the wait to park on.

import type { Driven, Invocation } from '../engine/engine.ts'
import { encode, type Json } from '../kernel/value.ts'
import { onCrashOf } from '../tool/hints.ts'
import type { Tool } from '../tool/tool.ts'
import { contextOf, waitOf } from './context.ts'
import type { CallHost } from './host.ts'
import { settleThrown } from './settle.ts'

export async function attempt(invocation: Invocation, tool: Tool, args: Json, host: CallHost): Promise<Driven> {
  // DUR-2: a body that must not run twice waits until its start is on disk; one that may rerun need not.
  await invocation.begin({ durable: onCrashOf(tool) === 'stop' || invocation.interrupted !== null })
  const context = contextOf(invocation, tool, host)
  try {
    const execute = tool.execute as (input: Json, ctx: unknown) => unknown
    const returned = await execute(args, context.ctx)
    const wait = waitOf(returned)
    if (wait) return { park: wait }
    encode(returned) // refuses what has no recorded form while the body can still be blamed
    return { settle: { status: 'success', value: (returned ?? null) as Json } }
  } catch (error) {
    return { settle: settleThrown(error, invocation, host) }
  } finally {
    context.end()
  }
}
