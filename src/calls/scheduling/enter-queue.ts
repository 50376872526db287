// The queue stage of the pipeline: waits for a slot until the queue timeout expires, and turns a refusal into an
// outcome.

import type { Execution, NoSlotFree, ToSettle } from '../../engine/engine.ts'
import { PawlError } from '../../core/errors.ts'
import { failure } from '../../core/outcome.ts'
import type { CallPosition } from '../../store/records/call-record.ts'
import type { TaskTerms } from '../../store/records/task-terms.ts'
import { chain, type MaybePromise } from '../../core/maybe-promise.ts'
import type { Clock } from '../../core/clock.ts'
import { type Json, toRecordedForm } from '../../core/tool-value.ts'
import type { Tool } from '../../tools/tool.ts'
import { type StageContext, runContained } from '../run-host-callback.ts'
import { notStarted } from '../attempts/outcome-when-stopped.ts'
import { type TimeoutName, timeoutMs, effectiveDeadline } from '../attempts/attempt-timeouts.ts'
import { outcomeOfThrown } from '../attempts/error-to-outcome.ts'
import type { QueueEntry, QueueRefusal, Slot } from './slot.ts'

/** Synchronous if the call may run immediately. */
export function enterQueue(stage: StageContext, args: Json): MaybePromise<{ slot: Slot } | ToSettle> {
  const { execution, tool, host } = stage
  let key: string | null = null
  if (tool.concurrency.kind === 'keyed') {
    const { key: keyOf } = tool.concurrency
    try {
      key = runContained('A key function', stage, () => keyOf(toRecordedForm(args)))
      if (typeof key !== 'string')
        throw new TypeError(`The key function of '${tool.name}' returned ${typeof key}; it must return a string`)
    } catch (error) {
      return { settle: outcomeOfThrown(error, execution, host) }
    }
  }
  const call = new QueuedCall(execution, tool, key, host.clock)
  return chain(host.queue.enter(call), toQueueResult, call)
}

function toQueueResult(
  result: Slot | QueueRefusal,
  { execution, expiredClock }: QueuedCall,
): { slot: Slot } | ToSettle {
  if (typeof result === 'object') return { slot: result }
  if (result === 'batch_failed') return notStarted({ cancel: 'A call before it in its batch failed', by: null })
  if (result !== 'stopped') return { settle: failure({ class: 'resource_limit', ...refusals[result] }) }
  return notStarted(execution.stopped ?? expiredClock ?? 'queue')
}

/**
 * Other workers hold a slot that the call needs. Releases everything, waits for that slot, then enters the queue again.
 */
export async function enterAgain(
  { execution, host }: StageContext,
  slot: Slot,
  missing: NoSlotFree,
): Promise<{ slot: Slot } | ToSettle> {
  const call = slot.entry as QueuedCall
  slot.release()
  if (!host.queue.startWaiting(call)) return toQueueResult('overloaded', call)
  call.admitted = true
  const abort = new AbortController()
  const unsubscribe = call.onStop(() => abort.abort())
  try {
    await execution.semaphores.awaitSlot(slot.slotRequests, missing, abort.signal)
  } catch (error) {
    if (error instanceof PawlError && error.code === 'would_deadlock') return toQueueResult('would_deadlock', call)
    throw error
  } finally {
    unsubscribe()
    host.queue.stopWaiting()
  }
  return abort.signal.aborted ? toQueueResult('stopped', call) : toQueueResult(await host.queue.enter(call), call)
}

/**
 * Waits until the tasks listed in `after` have settled. Before that the task does nothing, not even ask for approval.
 */
export function awaitPredecessors(stage: StageContext): MaybePromise<ToSettle | null> {
  const { options, stopped, attempt } = stage.execution
  const { after } = options.task ?? {}
  return after === undefined || stopped || attempt > 0 ? null : waitForTasks(stage, after)
}

async function waitForTasks(
  { execution, tool, host }: StageContext,
  before: readonly string[],
): Promise<ToSettle | null> {
  const call = new QueuedCall(execution, tool, null, host.clock)
  const abort = new AbortController()
  const unsubscribe = call.onStop(() => abort.abort())
  const tasks = host.tasks(execution)
  try {
    // An erased task counts as settled.
    for (const id of before) if (await tasks.get(id)) await tasks.wait(id, { signal: abort.signal })
  } catch (error) {
    if (abort.signal.aborted) return notStarted(execution.stopped ?? call.expiredClock ?? 'queue')
    // The store or the runtime is unavailable: end without an outcome. The next worker waits again.
    if (error instanceof PawlError) execution.end(error)
    throw error
  } finally {
    unsubscribe()
  }
  return null
}

const none: readonly string[] = []

/** The uids of the calls that this call is nested in, outermost first. */
export function ancestorsOf({ options: { root, above } }: Pick<Execution, 'options'>): readonly string[] {
  return root === undefined ? none : above === undefined ? [root] : [root, ...above]
}

/** Marks a call that waits before it has a slot, for example for a person, so that its ancestors can be paused too. */
export function markAwayBeforeSlot({ execution, host }: Pick<StageContext, 'execution' | 'host'>): void {
  const ancestors = ancestorsOf(execution)
  if (ancestors.length > 0) host.queue.nestedCalls.callAway({ uid: execution.request.uid, ancestors })
}

/** A call in the queue, with its timeouts. */
class QueuedCall implements QueueEntry {
  readonly execution: Execution
  readonly tool: Tool
  readonly key: string | null
  expiredClock: TimeoutName | null = null
  /**
   * True if the body has started before, the call has already waited for another slot, or it is a task. Such a call is
   * never rejected as overloaded.
   */
  admitted: boolean
  readonly #clock: Clock
  /** An instant, because the queue timeout covers all waits of the call together. */
  #queueDeadline: number | undefined

  constructor(execution: Execution, tool: Tool, key: string | null, clock: Clock) {
    this.execution = execution
    this.tool = tool
    this.key = key
    this.#clock = clock
    // A task is already recorded and has no caller that could try again, so it is never rejected as overloaded.
    this.admitted = execution.attempt > 0 || execution.options.task !== undefined
  }

  get uid(): string {
    return this.execution.request.uid
  }
  get position(): CallPosition {
    return this.execution.request.position
  }
  get ancestors(): readonly string[] {
    return ancestorsOf(this.execution)
  }
  get task(): TaskTerms | undefined {
    return this.execution.options.task
  }

  onStop(stop: () => void): () => void {
    const { options } = this.execution
    const { clocks } = this.tool
    this.#queueDeadline ??= this.#clock.now() + (timeoutMs('queue', options, clocks) ?? Infinity)
    const unsubscribes = [this.execution.onStop(stop)]
    const clock = (name: TimeoutName, until: number | undefined): void => {
      if (until === undefined || until === Infinity) return
      unsubscribes.push(
        this.#clock.timer(until - this.#clock.now(), () => {
          this.expiredClock = name
          stop()
        }),
      )
    }
    clock('queue', this.#queueDeadline)
    clock('total', effectiveDeadline(this.execution, clocks))
    return () => {
      for (const each of unsubscribes) each()
    }
  }
}

const refusals = {
  overloaded: { code: 'overloaded', message: 'Too many calls are waiting; this one was not started. Try again later.' },
  would_deadlock: {
    code: 'would_deadlock',
    message: 'This call would deadlock with the calls that hold what it needs. It was not started.',
  },
} as const
