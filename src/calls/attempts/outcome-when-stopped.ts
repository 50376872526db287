// Outcomes of stopped calls: cancelled, timed out, aborted by a hook of a nested call, or ended by a task event. If the
// execution itself is over, there is no outcome and the reason is thrown.

import type { Driven, Stop, ToSettle } from '../../engine/engine.ts'
import { type Failure, failure, type Outcome } from '../../core/outcome.ts'
import type { TimeoutName } from './attempt-timeouts.ts'

/** `aborted`: a hook of a nested call ended the turn. `emittedEnd`: the task emitted a terminal event. */
export type StopReason = Stop | TimeoutName | { readonly aborted: Failure } | { readonly emittedEnd: ToSettle }

export const isOver = (reason: StopReason): reason is Extract<Stop, { over: unknown }> =>
  typeof reason === 'object' && 'over' in reason
export const isAbort = (reason: StopReason): reason is { readonly aborted: Failure } =>
  typeof reason === 'object' && 'aborted' in reason
export const isEmittedEnd = (reason: StopReason): reason is { readonly emittedEnd: ToSettle } =>
  typeof reason === 'object' && 'emittedEnd' in reason
type EndingReason = Exclude<StopReason, { over: unknown }>

export const stopMessage = (reason: EndingReason): string => {
  if (typeof reason === 'string') return `The ${reason} timeout ran out`
  if ('emittedEnd' in reason) return 'The task has emitted its end'
  return 'aborted' in reason ? reason.aborted.message : reason.cancel
}

/**
 * The outcome of a call stopped before its body or between two attempts. `mayStillRun`: an earlier attempt may still be
 * running.
 */
export function notStarted(reason: StopReason, mayStillRun = false): ToSettle {
  if (isOver(reason)) throw reason.over
  return outcomeOfStop(reason, mayStillRun)
}

export function outcomeOfStop(reason: EndingReason, mayStillRun: boolean): ToSettle {
  const result: ToSettle = { settle: outcomeOf(reason) }
  return mayStillRun ? withMayStillRun(result) : result
}

function outcomeOf(reason: EndingReason): Outcome {
  if (typeof reason === 'string') return failure({ class: 'timeout', ...timeouts[reason] })
  if ('aborted' in reason) return failure(reason.aborted)
  if ('emittedEnd' in reason) return reason.emittedEnd.settle
  return { status: 'cancelled', cancellation: { message: reason.cancel, source: 'cancellation' } }
}

export const mayStillBeRunning = ({ settle }: ToSettle): boolean =>
  (settle.status === 'failure' && settle.failure.mayStillRun === true) ||
  (settle.status === 'cancelled' && settle.cancellation.mayStillRun === true)

/** Marks the outcome: an abandoned attempt of the call may still be running. */
export function withMayStillRun(result: ToSettle): ToSettle {
  const { settle } = result
  if (settle.status === 'failure') return { settle: { ...settle, failure: { ...settle.failure, mayStillRun: true } } }
  if (settle.status === 'cancelled')
    return { settle: { ...settle, cancellation: { ...settle.cancellation, mayStillRun: true } } }
  return result
}

/** Marks the outcome of a nested call that was cancelled with an attempt of its parent. */
export function withParentMark(reason: Stop, end: Driven): Driven {
  if (!('cancel' in reason && reason.withParent) || 'park' in end || end.settle.status !== 'cancelled') return end
  return { settle: { ...end.settle, cancellation: { ...end.settle.cancellation, withParent: true } } }
}

const timeouts: Readonly<Record<TimeoutName, { code: string; message: string }>> = {
  attempt: { code: 'attempt_timeout', message: 'The tool did not finish in time' },
  idle: { code: 'idle_timeout', message: 'The tool showed no progress for too long' },
  total: { code: 'deadline_exceeded', message: 'The call was not done before its deadline' },
  queue: { code: 'queue_timeout', message: 'The call waited too long for its turn and was not started' },
}
