// Whether a failed attempt is tried again, and when (TIME-4). Pure: decided from the failure and the tool.

import type { Execution } from '../../engine/engine.ts'
import type { Failure, FailureClass, Outcome } from '../../core/outcome.ts'
import { defaultRetry } from '../../tools/tool-options.ts'
import type { Tool } from '../../tools/tool.ts'

/** Failures that another try may mend, for a tool that may be tried again. What a tool declares with fail() is its answer. */
const passing = new Set<FailureClass>(['timeout', 'external', 'unavailable', 'internal'])

export type Verdict = { readonly again: number } | { readonly settle: Outcome }

/** The delay before the next attempt, or the outcome to settle with. */
export function afterFailure(execution: Execution, tool: Tool, outcome: Outcome): Verdict {
  if (outcome.status !== 'failure') return { settle: outcome }
  const { failure } = outcome
  const harmless = tool.hints.readOnly === true || tool.hints.idempotent === true
  const declared = failure.retry.when === 'safe'
  const policy = tool.retry ?? defaultRetry
  const attempts = declared || tool.retry ? policy.attempts : 1
  // Past its deadline another try is too late as well.
  const mends = failure.source !== 'tool' && passing.has(failure.class) && failure.code !== 'deadline_exceeded'
  const mayTry = declared || (harmless && tool.retry !== undefined && mends)
  // What may still be running is only joined by another one if two do no harm.
  if (!mayTry || (failure.mayStillRun && !harmless)) return { settle: outcome }
  const round = execution.retries + 1
  if (round >= attempts) return { settle: attempts > 1 ? exhausted(failure, round) : outcome }
  if (failure.retry.when === 'safe' && failure.retry.afterMs !== undefined)
    return { again: Math.min(failure.retry.afterMs, policy.capMs) }
  return { again: chance(execution, round) * Math.min(policy.capMs, policy.baseMs * 2 ** (round - 1)) }
}

const exhausted = (failure: Failure, attempts: number): Outcome => ({
  status: 'failure',
  failure: { ...failure, retry: { when: 'exhausted', attempts } },
})

/** Full jitter, from what the call derives: no two calls agree, and a test can know it. */
function chance(execution: Execution, round: number): number {
  const [a = 0, b = 0, c = 0] = execution.derive(`retry:${round}`)
  return (a * 65536 + b * 256 + c) / 16777216
}
