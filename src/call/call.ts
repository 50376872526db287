// CALL: the life of a call on one screen (CALL-1). An engine drives it, and drives it again after a crash: what is recorded is
// not done twice, what is not recorded is done now. Every stage answers with a value; nothing a tool does makes this throw.

import type { Drive, Driven, Invocation, ToSettle } from '../engine/engine.ts'
import type { Soon } from '../kernel/soon.ts'
import type { Tool } from '../tool/tool.ts'
import { accept, type Accepted } from './accept.ts'
import { attempt, notStarted } from './attempt.ts'
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
import type { Slot } from './slot.ts'

export const callPipeline =
  (host: CallHost): Drive =>
  async (invocation) => {
    const { request, options } = invocation
    let slot: Slot | null = null
    let end: Driven | null = null
    try {
      const resolving = resolveTool(invocation, host) // tool_unavailable
      const found = resolving instanceof Promise ? await resolving : resolving
      if ('settle' in found) return (end = found)
      const { tool } = found
      const accepting = accept(invocation, tool, host) // before hooks, validate, prepare; recorded arguments are used as they are
      const accepted = accepting instanceof Promise ? await accepting : accepting
      if ('settle' in accepted) return (end = accepted)
      if (invocation.landed) return (end = await finish(invocation, tool, accepted, { settle: outcomeOf(invocation.landed) }, host))
      const permitting = permit(invocation, tool, accepted.args, host) // policy; approvals will wait here (POL-2)
      const refused = permitting instanceof Promise ? await permitting : permitting
      if (refused) return (end = refused)
      const deciding = afterInterruption(invocation, tool, accepted.args, host) // null: run it; else settled by reconcile, or unknown
      const decided = deciding instanceof Promise ? await deciding : deciding
      if (decided) return (end = decided)
      const lateAt = tooLateAt(request.createdAt, options, tool.clocks) ?? Infinity
      // Attempts until one is final. Between them it keeps its turn in the batch and holds nothing else.
      for (let fresh = accepted; ; fresh = accepted.anew()) {
        const delay = invocation.delayed() // what is left of a retry's delay after a recovery
        if (delay) await delay
        const { stopped } = invocation
        if (stopped) return notStarted(stopped)
        if (host.clock.now() >= lateAt) return (end = notStarted('total'))
        const entering = enterQueue(invocation, tool, fresh.args, host) // turn in the batch, locks, limits
        const entered = entering instanceof Promise ? await entering : entering
        if ('settle' in entered) return (end = entered)
        slot = entered.slot
        const trying = attempt(invocation, tool, fresh, slot, host) // the body
        const given = trying instanceof Promise ? await trying : trying
        if ('park' in given) {
          slot.parked()
          return given
        }
        const verdict = afterFailure(invocation, tool, given.settle)
        if ('settle' in verdict)
          return (end = await finish(invocation, tool, accepted, verdict.settle === given.settle ? given : verdict, host))
        if (host.clock.now() + verdict.again >= lateAt) return (end = notStarted('total'))
        slot.done()
        await invocation.again(verdict.again, given.settle.status === 'failure' ? given.settle.failure.code : '')
      }
    } finally {
      host.queue.through(request.position, slot, end && 'settle' in end ? end.settle : null)
    }
  }

/** After hooks, check output. The engine settles it, once; show.ts shows it to the model; the feed tells. */
function finish(invocation: Invocation, tool: Tool, accepted: Accepted, given: ToSettle, host: CallHost): Soon<ToSettle> {
  const hooked = afterHooks(invocation, tool, accepted, given.settle, host)
  if (hooked instanceof Promise) return hooked.then((outcome) => checkOutput(invocation, tool, { settle: outcome }, host))
  return checkOutput(invocation, tool, given, host)
}
