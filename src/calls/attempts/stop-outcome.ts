// What it means that a call was stopped: by a cancel, by a clock, by a hook under it, or because this execution no longer counts.

import type { Stop, ToSettle } from '../../engine/engine.ts'
import { type Failure, failure, type Outcome } from '../../core/outcome.ts'
import type { ClockName } from './timeouts.ts'

/** `told`: a task has told its end itself. */
export type Why = Stop | ClockName | { readonly aborted: Failure } | { readonly told: ToSettle }

export const isOver = (why: Why): why is Extract<Stop, { over: unknown }> => typeof why === 'object' && 'over' in why
export const isAbort = (why: Why): why is { readonly aborted: Failure } => typeof why === 'object' && 'aborted' in why
export const isTold = (why: Why): why is { readonly told: ToSettle } => typeof why === 'object' && 'told' in why
type Ending = Exclude<Why, { over: unknown }>

export const wordsOf = (why: Ending): string => {
  if (typeof why === 'string') return `The ${why} timeout ran out`
  if ('told' in why) return 'The task has told its end'
  return 'aborted' in why ? why.aborted.message : why.cancel
}

/** Stopped before it began, or between two attempts. `mayStillRun`: an earlier attempt does, for all we know. */
export function notStarted(why: Why, mayStillRun = false): ToSettle {
  if (isOver(why)) throw why.over
  return outcomeOfStop(why, mayStillRun)
}

export function outcomeOfStop(why: Ending, mayStillRun: boolean): ToSettle {
  const given: ToSettle = { settle: endOf(why) }
  return mayStillRun ? stillRunning(given) : given
}

function endOf(why: Ending): Outcome {
  if (typeof why === 'string') return failure({ class: 'timeout', ...timeouts[why] })
  if ('aborted' in why) return failure(why.aborted)
  if ('told' in why) return why.told.settle
  return { status: 'cancelled', cancellation: { message: why.cancel, source: 'cancellation' } }
}

export const maySay = ({ settle }: ToSettle): boolean =>
  (settle.status === 'failure' && settle.failure.mayStillRun === true) ||
  (settle.status === 'cancelled' && settle.cancellation.mayStillRun === true)

/** The same outcome, saying that something of the call may still run. */
export function stillRunning(given: ToSettle): ToSettle {
  const { settle } = given
  if (settle.status === 'failure') return { settle: { ...settle, failure: { ...settle.failure, mayStillRun: true } } }
  if (settle.status === 'cancelled')
    return { settle: { ...settle, cancellation: { ...settle.cancellation, mayStillRun: true } } }
  return given
}

const timeouts: Readonly<Record<ClockName, { code: string; message: string }>> = {
  attempt: { code: 'attempt_timeout', message: 'The tool did not finish in time' },
  idle: { code: 'idle_timeout', message: 'The tool showed no progress for too long' },
  total: { code: 'deadline_exceeded', message: 'The call was not done before its deadline' },
  queue: { code: 'queue_timeout', message: 'The call waited too long for its turn and was not started' },
}
