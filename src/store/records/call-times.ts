// How a call's time was spent, computed from recorded instants only, so that it is the same after a restart. The row
// of a call with one attempt holds everything needed. If more follows (another attempt, a park, a wait inside the
// body), the time so far is saved in the terms, as part of a write that happens anyway.

import { type CallProgress, type CallTerms, parseCallTerms } from './call-record.ts'

export interface CallTimes {
  /** Time before attempts: batch order, limits, checks before the body, retry delays. */
  readonly queuedMs: number
  /** Time in the body. Includes the time until a dead worker was noticed. */
  readonly runningMs: number
  /** Time waiting for external input: parked, or in a wait or sleep inside the body. */
  readonly waitingMs: number
}

/** Times of a call that never started. */
export const noTimes: CallTimes = { queuedMs: 0, runningMs: 0, waitingMs: 0 }

/** Time from the creation of the call up to `until`. */
type Spent = NonNullable<CallTerms['spent']>

/**
 * Returns terms that include the time up to `at`, when the current attempt ends; `waited` is the part spent in waits.
 */
export function addAttemptTime(
  createdAt: number,
  call: Pick<CallProgress, 'state' | 'startedAt' | 'terms' | 'attempt'>,
  at: number,
  waited: number,
): string {
  const { until, queuedMs, runningMs, waitingMs } = spentOf(call.terms) ?? { ...noTimes, until: createdAt }
  // A call that has not started, or waits for its next attempt, is queued.
  const bodyStart = call.state === 'running' ? Math.max(until, call.startedAt ?? at) : at
  const terms = parseCallTerms(call.terms ?? '{}')
  const next: Spent = {
    queuedMs: queuedMs + (bodyStart - until),
    runningMs: runningMs + Math.max(0, at - bodyStart - waited),
    waitingMs: waitingMs + waited,
    until: at,
    attempts: call.attempt,
  }
  return JSON.stringify({ ...terms, spent: next })
}

/** Returns the terms of a parked call that resumes at `at`: the time since it was parked was spent waiting. */
export function addWaitTime(terms: string | null, at: number): string | null {
  const spent = spentOf(terms)
  if (!spent) return terms
  const next: Spent = {
    ...spent,
    waitingMs: spent.waitingMs + Math.max(0, at - spent.until),
    until: Math.max(at, spent.until),
  }
  return JSON.stringify({ ...parseCallTerms(terms as string), spent: next })
}

/** Times of a settled call. With one attempt and no wait they follow from its instants alone. */
export function timesOf(createdAt: number, { startedAt, settledAt, wait, terms, attempt }: CallProgress): CallTimes {
  const spent = spentOf(terms)
  const { queuedMs, runningMs, waitingMs } = spent ?? noTimes
  const until = spent?.until ?? createdAt
  const end = Math.max(until, settledAt ?? until)
  if (wait !== null) return { queuedMs, runningMs, waitingMs: waitingMs + (end - until) }
  // The call settled before the body started, or between two attempts.
  const bodyStart = startedAt === null || startedAt < until || attempt === spent?.attempts ? end : startedAt
  return { queuedMs: queuedMs + (bodyStart - until), runningMs: runningMs + Math.max(0, end - bodyStart), waitingMs }
}

function spentOf(terms: string | null): Spent | undefined {
  return terms?.includes('"spent":') ? parseCallTerms(terms).spent : undefined
}
