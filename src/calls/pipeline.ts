// The life of a call. The engine runs this function, and runs it again after a crash: it reads recorded work back and
// does the rest. Every stage returns a value; nothing a tool does makes the pipeline throw.

import type { Drive, Driven } from '../engine/engine.ts'
import { admissionStages, firstEnd } from './admission/admission.ts'
import { runAttempts } from './attempts/attempt-loop.ts'
import { cancelWaits } from './attempts/cancel-waits.ts'
import { withParentMark } from './attempts/outcome-when-stopped.ts'
import { chargeCall } from './authorization/check-budget.ts'
import { CallRun } from './call-run.ts'
import type { CallHost } from './ports.ts'
import { ancestorsOf } from './scheduling/enter-queue.ts'
import { wakeAtEnd } from './task-execution/notice-of-moved-call.ts'
import { openReporter, type TaskReporter } from './task-execution/task-run.ts'

export const callPipeline =
  (host: CallHost): Drive =>
  async (execution) => {
    const learning = host.knownSecrets.ensure(execution.request.position)
    if (learning) await learning
    const run = new CallRun(execution, host)
    setDeciding(run, false) // an earlier execution may have parked for a person
    const task = execution.options.task ? await openReporter(execution, host) : null
    let end: Driven | null = null
    let othersWait = false
    try {
      const admitting = firstEnd(admissionStages, run)
      // Awaited only if it is a promise, so that the body starts in the same tick (decision 0013).
      end = (admitting instanceof Promise ? await admitting : admitting) ?? (await runAttempts(run))
    } finally {
      othersWait = leave(run, end)
    }
    if (hasMoreToWrite(run, task, end)) return await conclude(run, task, end)
    return othersWait ? await letNextCallStart(end) : end
  }

/**
 * Starts or ends the time in which people decide about a nested call; its ancestors do not count it in their total
 * timeout.
 */
function setDeciding({ execution, host }: CallRun, begin: boolean): void {
  if (execution.options.root !== undefined)
    host.queue.nestedCalls.setDeciding(ancestorsOf(execution), execution.request.uid, begin)
}

/** Releases the position in the batch order and the slot. Returns true if other calls were waiting for them. */
function leave({ execution, host, slot }: CallRun, end: Driven | null): boolean {
  const { stopped, request } = execution
  const othersWait = host.queue.hasWaiting
  // The store failed, so the result of this execution is unknown: the call keeps its position and is claimed again.
  if (stopped && 'over' in stopped && stopped.over.code === 'store_unavailable')
    host.queue.batches.executionLost(request.position, slot)
  else host.queue.batches.pipelineDone(request.position, slot, end && 'settle' in end ? end.settle : null)
  return othersWait
}

/** False if only the outcome has to be written. With waking on, a call that no turn waits for may wake its session. */
const hasMoreToWrite = ({ execution, host, cost }: CallRun, task: TaskReporter | null, end: Driven): boolean =>
  task !== null ||
  'park' in end ||
  execution.stopped !== null ||
  cost > 0 ||
  host.budgets.length > 0 ||
  host.wakes.maxConsecutive > 0

/** Takes two microtasks: the next call of the batch starts in them, and its start shares the commit of this outcome. */
async function letNextCallStart(end: Driven): Promise<Driven> {
  await Promise.resolve()
  return end
}

/** Writes what belongs to the end or the park besides the outcome: task state, waits to cancel, cost, notices. */
async function conclude(run: CallRun, task: TaskReporter | null, driven: Driven): Promise<Driven> {
  const { execution, host } = run
  const end = execution.stopped ? withParentMark(execution.stopped, await cancelWaits(execution, host, driven)) : driven
  if ('park' in end) {
    // The cost so far, for the next execution.
    if (run.cost > 0) execution.approvals.amend(null, { cost: run.cost })
    const { asks } = end.park.terms
    if (asks && asks.kind !== 'client') setDeciding(run, true) // a person decides; a client only runs the tool
  }
  // Written before the call parks, because another execution may start as soon as it has parked.
  if (task) await ('park' in end ? task.park() : task.end(end))
  else if (!('park' in end)) await wakeAtEnd(execution, host)
  return chargeCall(run, end)
}
