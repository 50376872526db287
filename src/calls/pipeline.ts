// CALL: the life of a call on one screen (CALL-1). An engine drives it, and drives it again after a crash: what is recorded is
// not done twice, what is not recorded is done now. Every stage answers with a value; nothing a tool does makes this throw.

import type { Drive, Driven, Execution, Stop, Wait } from '../engine/engine.ts'
import { accept } from './admission/validate-input.ts'
import { noteOfEdit } from './authorization/approval-request.ts'
import { maySay, notStarted, stillRunning } from './attempts/stop-outcome.ts'
import { begin } from './attempts/recheck-definition.ts'
import { CallCost } from './attempts/call-cost.ts'
import { isPast, tooLateAt } from './attempts/timeouts.ts'
import { bounded } from './output/limit-outcome-size.ts'
import { cancelledOutside } from './attempts/cancel-waits.ts'
import { aboveOf, enterAgain, enterQueue, followed, parkedAhead } from './scheduling/enter-queue.ts'
import { isUnanswered } from '../store/records/approval-request.ts'
import { asksWhenUnknown, orAsked, unlessUnknown } from './authorization/resolve-unknown.ts'
import { endedBy } from './task-execution/emit-task-event.ts'
import { finish } from './attempts/complete.ts'
import { connecting } from './authorization/connection.ts'
import type { CallHost } from './ports.ts'
import { outcomeOf } from '../store/records/resolution.ts'
import { mayRun, noted } from './authorization/authorize.ts'
import { movedEnds } from './task-execution/moved-to-background.ts'
import { overAlready } from './authorization/already-decided.ts'
import { afterInterruption, poisoned } from './admission/recover.ts'
import { openRun, type RunOfTask } from './task-execution/task-run.ts'
import { inItsForm, resolveTool } from './admission/resolve-tool.ts'
import { afterFailure } from './attempts/retry.ts'
import type { Slot } from './scheduling/slot.ts'
import { charged, withinBudget } from './authorization/check-budget.ts'

export const callPipeline =
  (host: CallHost): Drive =>
  async (execution) => {
    const bill = new CallCost(execution.claimed ? execution.terms?.cost : undefined)
    deciding(execution, host, false)
    const task = execution.options.task ? await openRun(execution, host) : null
    const ending = cancelledOutside(execution, host, await life(execution, host, bill)) // a cancelled call's waits end with it
    const end = ending instanceof Promise ? await ending : ending
    if ('park' in end) parks(execution, host, bill, end.park)
    if (task) await tells(task, end) // what its runner had to tell goes on record with the end
    else if (!('park' in end)) await movedEnds(execution, host)
    return charged(execution, host, bill, end)
  }

/** The store was away: how this execution went nobody knows, and the call is taken up again. */
const isLost = (stopped: Stop | null): boolean =>
  stopped !== null && 'over' in stopped && stopped.over.code === 'store_unavailable'

/** People decide about it from now on, or have decided: what it runs under counts that out of its own time. */
function deciding({ request, options }: Execution, { queue }: CallHost, begin: boolean): void {
  if (options.root !== undefined) queue.families.deciding(aboveOf({ options }), request.uid, begin)
}

/** What its next execution must know. */
function parks(execution: Execution, host: CallHost, { cost }: CallCost, { terms: { asks } }: Wait): void {
  if (cost > 0) execution.asks.amend(null, { cost })
  if (asks && asks.kind !== 'client') deciding(execution, host, true)
}

/** Before it parks: should its answer be there already, it is taken up anew. */
async function tells(task: RunOfTask, end: Driven): Promise<void> {
  if ('park' in end) return task.parks()
  const ending = task.end(end)
  if (ending instanceof Promise) await ending
}

async function life(execution: Execution, host: CallHost, bill: CallCost): Promise<Driven> {
  const { request } = execution
  let slot: Slot | null = null
  let end: Driven | null = null
  try {
    // Told to stop before a crash, and nothing of it had begun: then nothing begins (TIME-3).
    if (execution.stopped && !execution.interrupted && !execution.landed)
      return (end = unlessUnknown(execution, notStarted(execution.stopped)))
    const over = execution.claimed ? overAlready(execution) : null // people have said no, or nobody said anything
    if (over) return (end = over)
    const resolving = resolveTool(execution, host) // tool_unavailable
    const resolved = resolving instanceof Promise ? await resolving : resolving
    if ('settle' in resolved) return (end = resolved)
    const tool = inItsForm(resolved.tool, execution) // a task is run by the tool as it is in the background
    if ('settle' in tool) return (end = tool)
    const asking = { execution, tool, host }
    const poison = poisoned(asking) // too many workers died over it
    if (poison && !asksWhenUnknown(asking, poison)) return (end = poison)
    const accepting = accept(asking) // before hooks, validate, prepare; recorded arguments are used as they are
    const accepted = accepting instanceof Promise ? await accepting : accepting
    if ('settle' in accepted) return (end = bounded(accepted, execution, host))
    const said = endedBy(execution) // a task that has told its end itself, and whose worker died
    if (said) return (end = await finish(asking, accepted, said))
    // Nobody answered a question before the call itself was too late.
    if (execution.landed && isUnanswered(execution.landed) && isPast(execution, host))
      return (end = notStarted('total'))
    if (execution.landed)
      return (end = noted(
        await finish(asking, accepted, { settle: outcomeOf(execution.landed) }),
        noteOfEdit(asking, accepted),
      ))
    const following = followed(asking) // a run that waits for the ones before it
    const tooLate = following instanceof Promise ? await following : following
    if (tooLate) return (end = tooLate)
    const deciding = poison ?? afterInterruption(asking, accepted) // null: run it; else settled by reconcile, or unknown
    const decided = deciding instanceof Promise ? await deciding : deciding
    // What people have said, the policy, and people where it asks them (POL-2): what waits for them leaves the line.
    const permitting = mayRun(asking, accepted, decided)
    const permitted = permitting instanceof Promise ? await permitting : permitting
    if ('park' in permitted) return (parkedAhead(asking), permitted)
    if ('settle' in permitted) return (end = permitted)
    const { go, note } = permitted
    const counting = execution.stopped ? null : withinBudget(asking) // from here on it counts
    const overBudget = counting instanceof Promise ? await counting : counting
    if (overBudget) return (end = overBudget)
    const lateAt = (): number => tooLateAt(execution, tool.clocks) ?? Infinity
    // Whether something of it may still run: an attempt that was given up, or one whose worker died until the next one has told more.
    let givenUp = false
    let still = execution.interrupted !== null
    // Attempts until one is final. Between them it keeps its turn in the batch and holds nothing else.
    for (let fresh = go; ; fresh = go.anew()) {
      const delay = execution.delayed() // what is left of a retry's delay after a recovery
      if (delay) await delay
      const { stopped } = execution
      if (stopped) return (end = notStarted(stopped, still))
      if (host.clock.now() >= lateAt()) return (end = notStarted('total', still))
      const entering = enterQueue(asking, fresh.args) // turn in the batch, keys, limits
      const entered = entering instanceof Promise ? await entering : entering
      if ('settle' in entered) return (end = still ? stillRunning(entered) : entered)
      slot = entered.slot
      const trying = begin(asking, fresh, slot, bill) // the body, unless its definition has changed meanwhile
      let given = trying instanceof Promise ? await trying : trying
      while ('full' in given) {
        const again = await enterAgain(asking, slot, given.full) // other workers have what it needs
        if ('settle' in again) return (end = still ? stillRunning(again) : again)
        slot = again.slot
        given = await begin(asking, fresh, slot, bill)
      }
      if ('held' in given) return (end = still ? stillRunning(given.held) : given.held)
      if ('lacks' in given) {
        const next = await connecting(asking, go, given.lacks, given.seen) // a person connects it, and the body runs again
        slot.parked()
        if (next === 'again') continue
        if ('park' in next) return next
        return (end = noted(next, note))
      }
      if ('park' in given) {
        slot.parked()
        return given
      }
      given = endedBy(execution) ?? given // a task that has told its end, and was cancelled then
      const verdict = afterFailure(execution, tool, given.settle)
      givenUp ||= maySay(given)
      still = givenUp
      if ('settle' in verdict) {
        const last = verdict.settle === given.settle ? given : verdict
        const settling = orAsked(asking, go, last) // what nobody knows, a person may find out
        const ending = settling instanceof Promise ? await settling : settling
        if ('park' in ending) return ending
        return (end = noted(await finish(asking, go, still ? stillRunning(ending) : ending), note)) // after hooks, check output
      }
      if (host.clock.now() + verdict.again >= lateAt()) return (end = notStarted('total', still))
      slot.done()
      await execution.again(verdict.again, given.settle.status === 'failure' ? given.settle.failure.code : '')
    }
  } finally {
    host.queue.lastChances.left(request.uid)
    if (isLost(execution.stopped)) host.queue.turns.lost(request.position, slot)
    else host.queue.turns.through(request.position, slot, end && 'settle' in end ? end.settle : null)
  }
}
