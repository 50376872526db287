// The calls that a tool body makes with ctx.call and ctx.run. Called by Batches.runNested.

import type { AttemptControl, NestedCalls } from '../calls/scheduling/nested-calls.ts'
import type { Queue } from '../calls/scheduling/queue.ts'
import type { Execution } from '../engine/engine.ts'
import { isSealedUid } from '../store/records/call-record.ts'
import { isStoreOrLeaseLost } from '../core/errors.ts'
import type { NestedOutcome } from '../tools/context/tool-context.ts'
import { type CallAsk, type CallOutcome, checkCalls, nestedBatch } from './call-request.ts'
import { type Caller, inheritedOptions } from './build-call-request.ts'
import { type Batch, type BatchOptions, Cancel } from './collect-outcomes.ts'
import type { PinnedToolsets } from '../tools/pinned-toolsets.ts'
import type { Cancellation, Outcome } from '../core/outcome.ts'

interface NestedRunPorts {
  readonly start: (caller: Caller, calls: readonly CallAsk[], options: BatchOptions) => Batch
  readonly queue: Queue
  readonly toolsets: PinnedToolsets
}

/**
 * Runs the calls as a batch of their own. Its name is derived from the parent call and the position in the body, so a
 * rerun of the body finds the same calls.
 */
export async function runNestedCalls(
  { start, queue, toolsets }: NestedRunPorts,
  parent: Execution,
  calls: readonly CallAsk[],
  { name, control, signal }: { name: string; control: AttemptControl | null; signal: AbortSignal },
): Promise<NestedOutcome[]> {
  checkCalls(calls)
  const { position, principal, uid } = parent.request
  const { root, above = [], turn, task, inTask = task?.id } = parent.options
  const abort = new AbortController()
  const onParentStop = (): void => {
    const { stopped } = parent
    if (!stopped) abort.abort(new Cancel('The attempt of the parent call was abandoned', null, true))
    // A lost execution is resumed by another worker, which joins the nested calls, so they are not cancelled.
    else if ('cancel' in stopped) abort.abort(new Cancel(stopped.cancel, stopped.by))
  }
  if (signal.aborted) onParentStop()
  signal.addEventListener('abort', onParentStop, { once: true })
  const group = control && queue.nestedCalls.of(uid, control)
  try {
    const ready = group?.bringBack()
    if (ready) await ready
    const caller = {
      tenant: position.tenant,
      session: position.session,
      principal,
      ...inheritedOptions(parent.options),
    }
    const run = (subset: readonly CallAsk[], batchName: string): Promise<CallOutcome[]> => {
      group?.addCalls(subset.length)
      return startNested(start, group, caller, subset, {
        tools: toolsets.toolsetFor(parent.request),
        batch: nestedBatch(position, batchName),
        onFailure: 'continue',
        signal: abort.signal,
        root: root ?? uid,
        // Nested arguments may contain the parent's sealed arguments.
        sealed: isSealedUid(uid),
        ...(root === undefined ? {} : { above: [...above, uid] }),
        ...(turn === undefined ? {} : { turn }),
        ...(inTask === undefined ? {} : { inTask }),
        ...(group ? { nestedCalls: group } : {}),
      }).outcomes
    }
    const outcomes = await run(calls, name)
    // Calls cancelled together with an earlier attempt of the body are run again under a new batch name.
    for (let round = 1; round <= parent.retries && !signal.aborted; round++) {
      const orders = outcomes.flatMap((outcome, order) => (wasCancelledWithParent(outcome) ? [order] : []))
      if (orders.length === 0) break
      const fresh = await run(
        orders.map((order) => calls[order] as CallAsk),
        `${name}@${round}`,
      )
      for (const [index, order] of orders.entries()) outcomes[order] = fresh[index] as CallOutcome
    }
    await group?.bringBack()
    return outcomes
  } catch (error) {
    // The outcomes are unknown here, so the parent execution ends without deciding the parent call, whatever its
    // body does.
    if (isStoreOrLeaseLost(error)) parent.end(error)
    throw error
  } finally {
    signal.removeEventListener('abort', onParentStop)
    if (group) queue.nestedCalls.releaseIfEmpty(uid, group)
  }
}

/** Starts the batch. If the whole batch is rejected, its calls are no longer counted as expected. */
function startNested(
  start: NestedRunPorts['start'],
  group: NestedCalls | null,
  caller: Caller,
  calls: readonly CallAsk[],
  options: BatchOptions,
): Batch {
  try {
    return start(caller, calls, options)
  } catch (error) {
    group?.addCalls(-calls.length)
    throw error
  }
}

const wasCancelledWithParent = (outcome: Outcome): boolean =>
  outcome.status === 'cancelled' && (outcome.cancellation.withParent === true || hasOldParentMark(outcome.cancellation))

/** Stores written before the field existed mark these cancellations only by their message. */
const oldParentMark = 'The call above it was stopped'
const hasOldParentMark = ({ message, source }: Cancellation): boolean =>
  source === 'cancellation' && (message === oldParentMark || message.startsWith(`${oldParentMark};`))
