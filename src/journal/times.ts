// JOURNAL: where the time of a call went, told from recorded instants alone, so that it is the same after a restart. A call with one
// attempt has all it takes in its row. Where more follows (another attempt, a park, a wait inside the body), the time up to then is
// kept with its terms, in a write that happens anyway.

import type { CallProgress, CallTerms } from './call-state.ts'

export interface CallTimes {
  /** Before attempts: its turn, its limits, what stands before the body, the delays of retries. */
  readonly queuedMs: number
  /** In the body. Until a recovery, the time in which nobody noticed that the worker was gone is in it. */
  readonly runningMs: number
  /** For the outside: parked, or in a wait or a sleep inside the body. */
  readonly waitingMs: number
}

/** The time from the beginning up to an instant. */
type Spent = NonNullable<CallTerms['spent']>

type Timed = Pick<CallProgress, 'startedAt' | 'terms'> & { readonly createdAt: number }

/** Terms that hold the time up to `at`, when the attempt ends that runs now; `waited` is what of it was spent in waits. */
export function accountedFor(call: Timed, at: number, waited: number): string {
  const spent = spentOf(call)
  const started = Math.max(spent.until, call.startedAt ?? at)
  const terms = JSON.parse(call.terms ?? '{}') as CallTerms
  const next: Spent = {
    queuedMs: spent.queuedMs + (started - spent.until),
    runningMs: spent.runningMs + Math.max(0, at - started - waited),
    waitingMs: spent.waitingMs + waited,
    until: at,
  }
  return JSON.stringify({ ...terms, spent: next })
}

/** Of a settled call. */
export function timesOf(call: Timed & Pick<CallProgress, 'settledAt' | 'wait'>): CallTimes {
  const { until, queuedMs, runningMs, waitingMs } = spentOf(call)
  const end = Math.max(until, call.settledAt ?? until)
  if (call.wait !== null) return { queuedMs, runningMs, waitingMs: waitingMs + (end - until) }
  // It settled before the body began, or between two attempts.
  const started = call.startedAt === null || call.startedAt < until ? end : call.startedAt
  return { queuedMs: queuedMs + (started - until), runningMs: runningMs + Math.max(0, end - started), waitingMs }
}

function spentOf({ terms, createdAt }: Timed): Spent {
  const none = { queuedMs: 0, runningMs: 0, waitingMs: 0, until: createdAt }
  if (terms === null || !terms.includes('"spent":')) return none
  return (JSON.parse(terms) as CallTerms).spent ?? none
}
