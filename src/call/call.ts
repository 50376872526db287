// CALL: the life of a call on one screen (CALL-1). An engine drives it, and drives it again after a crash: what is recorded is
// not done twice, what is not recorded is done now. Every stage answers with a value; nothing a tool does makes this throw.

import type { Drive, Driven, Invocation } from '../engine/engine.ts'
import type { Outcome } from '../kernel/outcome.ts'
import type { Json } from '../kernel/value.ts'
import type { Tool } from '../tool/tool.ts'
import { accept, type Accepted } from './accept.ts'
import { attempt, outcomeOfStop } from './attempt.ts'
import { checkOutput } from './check-output.ts'
import { tooLateAt } from './clocks.ts'
import { bounded } from './bound.ts'
import { batchOf, enterQueue } from './enter.ts'
import { afterHooks } from './hooks.ts'
import type { CallHost } from './host.ts'
import { outcomeOf } from '../wait/resolution.ts'
import { permit } from './permit.ts'
import { afterInterruption } from './recover.ts'
import { resolveTool } from './resolve.ts'
import { afterFailure } from './retry.ts'

export const callPipeline =
  (host: CallHost): Drive =>
  async (invocation) => {
    const place = [batchOf(invocation.request.position), invocation.options.order ?? 0] as const
    try {
      const driven = await stages(invocation, host)
      // Who parks waits for the outside: it has left the order of its batch.
      if ('park' in driven) host.queue.left(...place)
      return 'park' in driven ? driven : { settle: bounded(driven.settle, invocation, host) } // VAL-8
    } finally {
      host.queue.through(...place)
    }
  }

async function stages(invocation: Invocation, host: CallHost): Promise<Driven> {
  const found = resolveTool(invocation, host) // tool_unavailable
  if ('settle' in found) return found
  const { tool } = found
  const accepted = await accept(invocation, tool, host) // before hooks, validate, prepare; recorded arguments are used as they are
  if ('settle' in accepted) return accepted
  if (invocation.landed) return finish(invocation, tool, accepted.args, outcomeOf(invocation.landed), host)
  const permitted = await permit(invocation, tool, accepted.args, host) // policy; approvals will wait here (POL-2)
  if (permitted) return permitted
  const decided = await afterInterruption(invocation, tool, accepted.args, host) // null: run it; else settled by reconcile, or unknown
  if (decided) return decided
  return tries(invocation, tool, accepted, host)
}

/** Attempts until one is final. Between them it keeps its turn in the batch and holds nothing else. */
async function tries(invocation: Invocation, tool: Tool, accepted: Accepted, host: CallHost): Promise<Driven> {
  const lateAt = tooLateAt(invocation.request.createdAt, invocation.options, tool.clocks)
  const tooLate = (at: number): boolean => lateAt !== undefined && at >= lateAt
  for (;;) {
    await invocation.delayed() // what is left of a retry's delay after a recovery
    const { stopped } = invocation
    if (stopped) return 'over' in stopped ? Promise.reject(stopped.over) : outcomeOfStop(stopped, false)
    if (tooLate(host.clock.now())) return outcomeOfStop('total', false)
    const entered = await enterQueue(invocation, tool, accepted.args, host) // turn in the batch, locks, limits
    if ('settle' in entered) return entered
    let given: Driven
    const began = host.clock.now()
    try {
      given = await attempt(invocation, tool, { ...accepted, slot: entered.slot }, host)
    } finally {
      entered.slot.done()
    }
    if ('park' in given) return given
    host.usage.settled(invocation.request, host.clock.now() - began, given.settle)
    const verdict = afterFailure(invocation, tool, given.settle)
    if ('settle' in verdict) return finish(invocation, tool, accepted.args, verdict.settle, host)
    if (tooLate(host.clock.now() + verdict.again)) return outcomeOfStop('total', false)
    await invocation.again(verdict.again, given.settle.status === 'failure' ? given.settle.failure.code : '')
  }
}

/** After hooks, check output. The engine settles it, once; project.ts shows it to the model; the feed tells. */
async function finish(invocation: Invocation, tool: Tool, args: Json, outcome: Outcome, host: CallHost): Promise<Driven> {
  const hooked = await afterHooks(invocation, args, outcome, host)
  return { settle: await checkOutput(invocation, tool, hooked, host) }
}
