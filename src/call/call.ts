// CALL: the life of a call on one screen (CALL-1). An engine drives it, and drives it again after a crash: what is recorded is
// not done twice, what is not recorded is done now. Every stage answers with a value; nothing a tool does makes this throw.

import type { Drive, Driven, Invocation, ToSettle } from '../engine/engine.ts'
import type { Soon } from '../kernel/soon.ts'
import type { Json } from '../kernel/value.ts'
import type { Tool } from '../tool/tool.ts'
import { accept, type Accepted } from './accept.ts'
import { attempt, outcomeOfStop } from './attempt.ts'
import { checkOutput } from './check-output.ts'
import { tooLateAt } from './clocks.ts'
import { enterQueue } from './enter.ts'
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
    const order = invocation.options.order ?? 0
    try {
      const found = resolveTool(invocation, host) // tool_unavailable
      if ('settle' in found) return found
      const { tool } = found
      const accepting = accept(invocation, tool, host) // before hooks, validate, prepare; recorded arguments are used as they are
      const accepted = accepting instanceof Promise ? await accepting : accepting
      if ('settle' in accepted) return accepted
      if (invocation.landed) return await finish(invocation, tool, accepted.args, { settle: outcomeOf(invocation.landed) }, host)
      const permitting = permit(invocation, tool, accepted.args, host) // policy; approvals will wait here (POL-2)
      const refused = permitting instanceof Promise ? await permitting : permitting
      if (refused) return refused
      const decided = await afterInterruption(invocation, tool, accepted.args, host) // null: run it; else settled by reconcile, or unknown
      if (decided) return decided
      const driven = await tries(invocation, tool, accepted, host)
      // Who parks waits for the outside: it has left the order of its batch.
      if ('park' in driven) host.queue.left(invocation.request.position, order)
      return driven
    } finally {
      host.queue.through(invocation.request.position, order)
    }
  }

/** Attempts until one is final. Between them it keeps its turn in the batch and holds nothing else. */
async function tries(invocation: Invocation, tool: Tool, accepted: Accepted, host: CallHost): Promise<Driven> {
  const lateAt = tooLateAt(invocation.request.createdAt, invocation.options, tool.clocks)
  const tooLate = (at: number): boolean => lateAt !== undefined && at >= lateAt
  for (;;) {
    const delay = invocation.delayed() // what is left of a retry's delay after a recovery
    if (delay) await delay
    const { stopped } = invocation
    if (stopped) return 'over' in stopped ? Promise.reject(stopped.over) : outcomeOfStop(stopped, false)
    if (tooLate(host.clock.now())) return outcomeOfStop('total', false)
    const entering = enterQueue(invocation, tool, accepted.args, host) // turn in the batch, locks, limits
    const entered = entering instanceof Promise ? await entering : entering
    if ('settle' in entered) return entered
    let given: Driven
    const began = host.clock.now()
    try {
      const trying = attempt(invocation, tool, accepted, entered.slot, host)
      given = trying instanceof Promise ? await trying : trying
    } finally {
      entered.slot.done()
    }
    if ('park' in given) return given
    host.usage.settled(invocation.request, host.clock.now() - began, given.settle)
    const verdict = afterFailure(invocation, tool, given.settle)
    if ('settle' in verdict) return finish(invocation, tool, accepted.args, verdict.settle === given.settle ? given : verdict, host)
    if (tooLate(host.clock.now() + verdict.again)) return outcomeOfStop('total', false)
    await invocation.again(verdict.again, given.settle.status === 'failure' ? given.settle.failure.code : '')
  }
}

/** After hooks, check output. The engine settles it, once; project.ts shows it to the model; the feed tells. */
function finish(invocation: Invocation, tool: Tool, args: Json, given: ToSettle, host: CallHost): Soon<ToSettle> {
  const hooked = afterHooks(invocation, args, given.settle, host)
  if (hooked instanceof Promise) return hooked.then((outcome) => checkOutput(invocation, tool, { settle: outcome }, host))
  return checkOutput(invocation, tool, given, host)
}
