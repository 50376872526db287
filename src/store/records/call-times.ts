// JOURNAL: where the time of a call went, told from recorded instants alone, so that it is the same after a restart. A call with one
// attempt has all it takes in its row. Where more follows (another attempt, a park, a wait inside the body), the time up to then is
// kept with its terms, in a write that happens anyway.

import type { CallProgress, CallTerms } from './call-record.ts'

export interface CallTimes {
  /** Before attempts: its turn, its limits, what stands before the body, the delays of retries. */
  readonly queuedMs: number
  /** In the body. Until a recovery, the time in which nobody noticed that the worker was gone is in it. */
  readonly runningMs: number
  /** For the outside: parked, or in a wait or a sleep inside the body. */
  readonly waitingMs: number
}

/** Of what never began. */
export const noTimes: CallTimes = { queuedMs: 0, runningMs: 0, waitingMs: 0 }

/** The time from the beginning up to an instant. */
type Spent = NonNullable<CallTerms['spent']>

/** Terms that hold the time up to `at`, when the attempt ends that runs now; `waited` is what of it was spent in waits. */
export function accountedFor(
  createdAt: number,
  call: Pick<CallProgress, 'state' | 'startedAt' | 'terms' | 'attempt'>,
  at: number,
  waited: number,
): string {
  const { until, queuedMs, runningMs, waitingMs } = spentOf(call.terms) ?? { ...noTimes, until: createdAt }
  // What has not begun, or waits for its next attempt, is in line.
  const started = call.state === 'running' ? Math.max(until, call.startedAt ?? at) : at
  const terms = JSON.parse(call.terms ?? '{}') as CallTerms
  const next: Spent = {
    queuedMs: queuedMs + (started - until),
    runningMs: runningMs + Math.max(0, at - started - waited),
    waitingMs: waitingMs + waited,
    until: at,
    attempts: call.attempt,
  }
  return JSON.stringify({ ...terms, spent: next })
}

/** Terms of a call that was parked and goes on: the time since then was spent waiting. */
export function waitedUntil(terms: string | null, at: number): string | null {
  const spent = spentOf(terms)
  if (!spent) return terms
  const next: Spent = {
    ...spent,
    waitingMs: spent.waitingMs + Math.max(0, at - spent.until),
    until: Math.max(at, spent.until),
  }
  return JSON.stringify({ ...(JSON.parse(terms as string) as CallTerms), spent: next })
}

/** Of a settled call. Most had one attempt and no wait: theirs is read off their instants. */
export function timesOf(createdAt: number, { startedAt, settledAt, wait, terms, attempt }: CallProgress): CallTimes {
  const spent = spentOf(terms)
  const { queuedMs, runningMs, waitingMs } = spent ?? noTimes
  const until = spent?.until ?? createdAt
  const end = Math.max(until, settledAt ?? until)
  if (wait !== null) return { queuedMs, runningMs, waitingMs: waitingMs + (end - until) }
  // It settled before the body began, or between two attempts.
  const started = startedAt === null || startedAt < until || attempt === spent?.attempts ? end : startedAt
  return { queuedMs: queuedMs + (started - until), runningMs: runningMs + Math.max(0, end - started), waitingMs }
}

function spentOf(terms: string | null): Spent | undefined {
  return terms?.includes('"spent":') ? (JSON.parse(terms) as CallTerms).spent : undefined
}
