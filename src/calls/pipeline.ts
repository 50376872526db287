// All stages of a call, in order. The engine runs this function, and runs it again after a crash: recorded work is read
// back, the rest is done now. Every stage returns a value; nothing a tool does makes the pipeline throw.

import type { Drive, Driven, Execution, Stop, Wait } from '../engine/engine.ts'
import { validateInput } from './admission/validate-input.ts'
import { noteOfEdit } from './authorization/approval-request.ts'
import { mayStillBeRunning, notStarted, withMayStillRun } from './attempts/outcome-when-stopped.ts'
import { startAttempt } from './attempts/recheck-tool-definition.ts'
import { CallCost } from './attempts/call-cost.ts'
import { isPastDeadline, effectiveDeadline } from './attempts/attempt-timeouts.ts'
import { limitOutcomeSize } from './output/limit-outcome-size.ts'
import { cancelWaits } from './attempts/cancel-waits.ts'
import { ancestorsOf, enterAgain, enterQueue, awaitPredecessors, markAwayBeforeSlot } from './scheduling/enter-queue.ts'
import { isUnanswered } from '../store/records/approval-request.ts'
import { shouldAskAboutUnknown, askIfUnknown, keepUnknown } from './authorization/ask-about-unknown-outcome.ts'
import { emittedEnd } from './task-execution/emit-task-event.ts'
import { complete } from './attempts/complete-call.ts'
import { requestConnection } from './authorization/request-connection.ts'
import type { CallHost } from './ports.ts'
import { outcomeOf } from '../store/records/wait-resolution.ts'
import { authorize, withNote } from './authorization/authorize.ts'
import { noteMovedEnd } from './task-execution/notice-of-moved-call.ts'
import { priorDecision } from './authorization/prior-decision.ts'
import { recoverInterrupted, checkPoisoned } from './admission/recover-after-crash.ts'
import { openReporter, type TaskReporter } from './task-execution/task-run.ts'
import { toolForRun, resolveTool } from './admission/resolve-tool.ts'
import { decideRetry } from './attempts/retry.ts'
import type { Slot } from './scheduling/slot.ts'
import { chargeCall, checkCallBudget } from './authorization/check-budget.ts'

export const callPipeline =
  (host: CallHost): Drive =>
  async (execution) => {
    const callCost = new CallCost(execution.claimed ? execution.terms?.cost : undefined)
    markDeciding(execution, host, false)
    const task = execution.options.task ? await openReporter(execution, host) : null
    const ending = cancelWaits(execution, host, await runStages(execution, host, callCost))
    const end = ending instanceof Promise ? await ending : ending
    if ('park' in end) recordPark(execution, host, callCost, end.park)
    if (task) await writeTaskEnd(task, end)
    else if (!('park' in end)) await noteMovedEnd(execution, host)
    return chargeCall(execution, host, callCost, end)
  }

/** The store was unavailable: the result of this execution is not known, and the call will be claimed again. */
const lostTheStore = (stopped: Stop | null): boolean =>
  stopped !== null && 'over' in stopped && stopped.over.code === 'store_unavailable'

/**
 * Starts or ends the time in which people decide about a nested call; its ancestors do not count it in their total
 * timeout.
 */
function markDeciding({ request, options }: Execution, { queue }: CallHost, begin: boolean): void {
  if (options.root !== undefined) queue.nestedCalls.setDeciding(ancestorsOf({ options }), request.uid, begin)
}

/** Records the cost so far for the next execution, and marks the call as waiting for people. */
function recordPark(execution: Execution, host: CallHost, { cost }: CallCost, { terms: { asks } }: Wait): void {
  if (cost > 0) execution.approvals.amend(null, { cost })
  if (asks && asks.kind !== 'client') markDeciding(execution, host, true)
}

/** Runs before the call parks, because another execution may start as soon as it has parked. */
async function writeTaskEnd(task: TaskReporter, end: Driven): Promise<void> {
  if ('park' in end) return task.park()
  const ending = task.end(end)
  if (ending instanceof Promise) await ending
}

async function runStages(execution: Execution, host: CallHost, callCost: CallCost): Promise<Driven> {
  const { request } = execution
  let slot: Slot | null = null
  let end: Driven | null = null
  try {
    // Cancelled before the body began: it never runs.
    if (execution.stopped && !execution.interrupted && !execution.landed)
      return (end = keepUnknown(execution, notStarted(execution.stopped)))
    const prior = execution.claimed ? priorDecision(execution) : null // denied, or expired without a decision
    if (prior) return (end = prior)
    const resolving = resolveTool(execution, host)
    const resolved = resolving instanceof Promise ? await resolving : resolving
    if ('settle' in resolved) return (end = resolved)
    const tool = toolForRun(resolved.tool, execution) // a task runs the tool's background form
    if ('settle' in tool) return (end = tool)
    const stage = { execution, tool, host }
    const poison = checkPoisoned(stage) // too many workers died while running it
    if (poison && !shouldAskAboutUnknown(stage, poison)) return (end = poison)
    const validating = validateInput(stage) // before hooks, schema, prepare; or the recorded input
    const validated = validating instanceof Promise ? await validating : validating
    if ('settle' in validated) return (end = limitOutcomeSize(validated, execution, host))
    const emitted = emittedEnd(execution) // the task emitted its end and then its worker died
    if (emitted) return (end = await complete(stage, validated, emitted))
    // A question expired because the call reached its own deadline.
    if (execution.landed && isUnanswered(execution.landed) && isPastDeadline(execution, host))
      return (end = notStarted('total'))
    if (execution.landed)
      return (end = withNote(
        await complete(stage, validated, { settle: outcomeOf(execution.landed) }),
        noteOfEdit(stage, validated),
      ))
    const following = awaitPredecessors(stage) // waits for the tasks that must end before this one starts
    const tooLate = following instanceof Promise ? await following : following
    if (tooLate) return (end = tooLate)
    const recovering = poison ?? recoverInterrupted(stage, validated) // null: run the body
    const recovered = recovering instanceof Promise ? await recovering : recovering
    // Decisions of people so far, then the policy, then an approval request. A call that waits for people leaves the
    // batch order.
    const authorizing = authorize(stage, validated, recovered)
    const permit = authorizing instanceof Promise ? await authorizing : authorizing
    if ('park' in permit) return (markAwayBeforeSlot(stage), permit)
    if ('settle' in permit) return (end = permit)
    const { input, note } = permit
    const counting = execution.stopped ? null : checkCallBudget(stage) // counts the call
    const overBudget = counting instanceof Promise ? await counting : counting
    if (overBudget) return (end = overBudget)
    const deadline = (): number => effectiveDeadline(execution, tool.clocks) ?? Infinity
    // `mayStillRun`: an abandoned attempt, or the interrupted attempt of a dead worker until the next attempt has
    // ended.
    let givenUp = false
    let mayStillRun = execution.interrupted !== null
    // Runs attempts until one is final. Between attempts the call keeps only its position in the batch order.
    for (let attemptInput = input; ; attemptInput = input.copy()) {
      const delay = execution.awaitRetryDelay() // the remaining retry delay, after a recovery
      if (delay) await delay
      const { stopped } = execution
      if (stopped) return (end = notStarted(stopped, mayStillRun))
      if (host.clock.now() >= deadline()) return (end = notStarted('total', mayStillRun))
      const entering = enterQueue(stage, attemptInput.args) // batch order, keys, limits
      const entered = entering instanceof Promise ? await entering : entering
      if ('settle' in entered) return (end = mayStillRun ? withMayStillRun(entered) : entered)
      slot = entered.slot
      const starting = startAttempt(stage, attemptInput, slot, callCost) // the body, unless its definition has changed
      let result = starting instanceof Promise ? await starting : starting
      while ('noRoom' in result) {
        const again = await enterAgain(stage, slot, result.noRoom) // other workers hold the slots
        if ('settle' in again) return (end = mayStillRun ? withMayStillRun(again) : again)
        slot = again.slot
        result = await startAttempt(stage, attemptInput, slot, callCost)
      }
      if ('rejected' in result) return (end = mayStillRun ? withMayStillRun(result.rejected) : result.rejected)
      if ('missing' in result) {
        // A person connects the provider, then the body runs again.
        const next = await requestConnection(stage, input, result.missing, result.seen)
        slot.parked()
        if (next === 'again') continue
        if ('park' in next) return next
        return (end = withNote(next, note))
      }
      if ('park' in result) {
        slot.parked()
        return result
      }
      result = emittedEnd(execution) ?? result // an emitted end wins over a later cancel
      const retry = decideRetry(execution, tool, result.settle)
      givenUp ||= mayStillBeRunning(result)
      mayStillRun = givenUp
      if ('settle' in retry) {
        const last = retry.settle === result.settle ? result : retry
        const settling = askIfUnknown(stage, input, last)
        const ending = settling instanceof Promise ? await settling : settling
        if ('park' in ending) return ending
        return (end = withNote(await complete(stage, input, mayStillRun ? withMayStillRun(ending) : ending), note))
      }
      if (host.clock.now() + retry.delayMs >= deadline()) return (end = notStarted('total', mayStillRun))
      slot.release()
      await execution.scheduleRetry(retry.delayMs, result.settle.status === 'failure' ? result.settle.failure.code : '')
    }
  } finally {
    host.queue.poisonSuspects.leave(request.uid)
    if (lostTheStore(execution.stopped)) host.queue.batches.executionLost(request.position, slot)
    else host.queue.batches.pipelineDone(request.position, slot, end && 'settle' in end ? end.settle : null)
  }
}
