// Runs attempts until one is final: retry delay, queue, body, then an end or another round. Between attempts the call
// keeps only its position in the batch order. Called by the pipeline after admission.

import { backoffMs } from '../../core/backoff.ts'
import type { Driven, ToSettle, Execution } from '../../engine/engine.ts'
import { type MaybePromise, chain, isThenable } from '../../core/maybe-promise.ts'
import { remoteToolUnavailable, untilStopped } from '../admission/resolve-tool.ts'
import { askIfUnknown } from '../authorization/ask-about-unknown-outcome.ts'
import { requestConnection } from '../authorization/request-connection.ts'
import type { CallRun } from '../call-run.ts'
import { enterAgain, enterQueue } from '../scheduling/enter-queue.ts'
import type { Slot } from '../scheduling/slot.ts'
import { emittedEnd } from '../context/emit-event.ts'
import { effectiveDeadline } from './attempt-timeouts.ts'
import { complete, withNote } from './complete-call.ts'
import { executeAttempt, type MissingConnection, type NoRoomResult } from './execute-attempt.ts'
import { mayStillBeRunning, notStarted, withMayStillRun } from './outcome-when-stopped.ts'
import type { Failure, FailureClass, Outcome } from '../../core/outcome.ts'
import { defaultRetry } from '../../tools/tool-options.ts'
import type { Tool } from '../../tools/tool.ts'
import { logFieldsOf } from '../log-fields.ts'
import { stepKeys } from '../../store/journal-keys.ts'

/** `rejected`: the call ends without another attempt. `missing`: the body needs a connection to a provider. */
type AttemptResult = Driven | MissingConnection | { readonly rejected: ToSettle }

/** Synchronous up to the first line of the body, unless it must wait for something before that. */
export async function runAttempts(run: CallRun): Promise<Driven> {
  for (;;) {
    const delay = run.execution.awaitRetryDelay() // the remaining retry delay, after a recovery
    if (delay) await delay
    const starting = begin(run)
    const result = starting instanceof Promise ? await starting : starting
    const classifying = classify(result, run)
    const end = classifying instanceof Promise ? await classifying : classifying
    if (end) return end
    run.attemptInput = run.input.copy()
  }
}

function begin(run: CallRun): MaybePromise<AttemptResult> {
  const { stopped } = run.execution
  if (stopped) return { rejected: notStarted(stopped) }
  if (isLate(run, 0)) return { rejected: notStarted('total') }
  return chain(enterQueue(run, run.attemptInput.args), runInSlot, run)
}

/** True if the call has passed its deadline when the delay ends. */
function isLate({ execution, tool, host }: CallRun, delayMs: number): boolean {
  return host.clock.now() + delayMs >= (effectiveDeadline(execution, tool.clocks) ?? Infinity)
}

function runInSlot(entered: { readonly slot: Slot } | ToSettle, run: CallRun): MaybePromise<AttemptResult> {
  if ('settle' in entered) return { rejected: entered }
  run.slot = entered.slot
  return chain(runAcceptedDefinition(run), waitForRoom, run)
}

/** If other workers hold the slots that the body needs, waits for them and starts the attempt again. */
function waitForRoom(result: AttemptResult | NoRoomResult, run: CallRun): MaybePromise<AttemptResult> {
  if (!('noRoom' in result)) return result
  return chain(enterAgain(run, run.slot as Slot, result.noRoom), runInSlot, run)
}

/**
 * Runs the body. While the call was queued, a provider may have changed the definition of its tool: a definition that
 * is not accepted does not run. Local tools need no check.
 */
function runAcceptedDefinition(run: CallRun): MaybePromise<AttemptResult | NoRoomResult> {
  const { request } = run.execution
  const remote = run.tool.remote && run.host.toolsets.toolsetFor(request).findByKey(request.tool)?.remote
  const checking = remote?.accepted()
  if (!remote || !isThenable(checking)) return executeAttempt(run)
  return untilStopped(run.execution, checking).then((checked) =>
    // If the call was stopped during the check, the attempt reports that and does not begin.
    'failed' in checked && !run.execution.stopped
      ? { rejected: remoteToolUnavailable(run.tool.name, remote, run.execution, checked.failed) }
      : executeAttempt(run),
  )
}

/** The end of the call, or null for another attempt. */
function classify(result: AttemptResult, run: CallRun): MaybePromise<Driven | null> {
  const { execution, tool } = run
  if ('rejected' in result) return withEarlierAttempts(result.rejected, run)
  if ('missing' in result) return awaitConnection(result, run)
  const slot = run.slot as Slot
  if ('park' in result) {
    slot.parked()
    return result
  }
  const emitted = execution.options.task ? emittedEnd(execution) : null
  const last = emitted ?? result // an emitted end wins over a later cancel
  const retry = decideRetry(execution, tool, last.settle)
  if (last.settle.status !== 'success') run.abandoned ||= mayStillBeRunning(last)
  run.mayStillRun = run.abandoned
  if ('settle' in retry) {
    const end = retry.settle === last.settle ? last : retry
    return end.settle.status === 'unknown'
      ? chain(askIfUnknown(run, run.input, end), completeLast, run)
      : completeLast(end, run)
  }
  if (isLate(run, retry.delayMs)) return notStarted('total', run.mayStillRun)
  slot.release()
  const code = last.settle.status === 'failure' ? last.settle.failure.code : ''
  const about = {
    ...logFieldsOf(execution, tool),
    attempt: execution.attempt,
    code,
    delayMs: Math.round(retry.delayMs),
  }
  run.host.logger.info('An attempt failed; the call is retried', about)
  return execution.scheduleRetry(retry.delayMs, code).then(() => null)
}

const withEarlierAttempts = (end: ToSettle, { mayStillRun }: CallRun): ToSettle =>
  mayStillRun ? withMayStillRun(end) : end

/** A person connects the provider, then the body runs again. */
async function awaitConnection({ missing, seen }: MissingConnection, run: CallRun): Promise<Driven | null> {
  const next = await requestConnection(run, run.input, missing, seen)
  run.slot?.parked()
  if (next === 'again') return null
  return 'park' in next ? next : withNote(next, run.note)
}

function completeLast(end: Driven, run: CallRun): MaybePromise<Driven> {
  if ('park' in end) return end
  return chain(complete(run, run.input, withEarlierAttempts(end, run)), addNote, run)
}

const addNote = (end: ToSettle, { note }: CallRun): ToSettle => withNote(end, note)

/** Failure classes that a retry may fix. A failure declared with fail() is final unless it says otherwise. */
const transientClasses = new Set<FailureClass>(['timeout', 'external', 'unavailable', 'internal'])

export type RetryDecision = { readonly delayMs: number } | { readonly settle: Outcome }

/** The delay before the next attempt, or the outcome to settle with. */
export function decideRetry(execution: Execution, tool: Tool, outcome: Outcome): RetryDecision {
  if (outcome.status !== 'failure') return { settle: outcome }
  const { failure } = outcome
  const harmless = tool.hints.readOnly === true || tool.hints.idempotent === true
  const declared = failure.retry.when === 'safe'
  const policy = tool.retry ?? defaultRetry
  const attempts = declared || tool.retry ? policy.attempts : 1
  // A retry after the deadline would be too late as well.
  const isTransient =
    failure.source !== 'tool' && transientClasses.has(failure.class) && failure.code !== 'deadline_exceeded'
  const mayRetry = declared || (harmless && tool.retry !== undefined && isTransient)
  // If the failed attempt may still be running, a second one is started only if running both is harmless.
  if (!mayRetry || (failure.mayStillRun && !harmless)) return { settle: outcome }
  const round = execution.retries + 1
  if (round >= attempts) return { settle: attempts > 1 ? exhausted(failure, round) : outcome }
  if (failure.retry.when === 'safe' && failure.retry.afterMs !== undefined)
    return { delayMs: Math.min(failure.retry.afterMs, policy.capMs) }
  return { delayMs: jitter(execution, round) * backoffMs(round - 1, policy.baseMs, policy.capMs) }
}

const exhausted = (failure: Failure, attempts: number): Outcome => ({
  status: 'failure',
  failure: { ...failure, retry: { when: 'exhausted', attempts } },
})

/** Full jitter, derived from the call: it differs between calls and is reproducible in tests. */
function jitter(execution: Execution, round: number): number {
  const [a = 0, b = 0, c = 0] = execution.derive(stepKeys.retry(round))
  return (a * 65536 + b * 256 + c) / 16777216
}
