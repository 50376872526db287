// Decides whether and when a failed attempt is retried. Pure: depends only on the failure, the tool and the retry
// count.

import type { Execution } from '../../engine/engine.ts'
import type { Failure, FailureClass, Outcome } from '../../core/outcome.ts'
import { defaultRetry } from '../../tools/tool-options.ts'
import type { Tool } from '../../tools/tool.ts'

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
  return { delayMs: jitter(execution, round) * Math.min(policy.capMs, policy.baseMs * 2 ** (round - 1)) }
}

const exhausted = (failure: Failure, attempts: number): Outcome => ({
  status: 'failure',
  failure: { ...failure, retry: { when: 'exhausted', attempts } },
})

/** Full jitter, derived from the call: it differs between calls and is reproducible in tests. */
function jitter(execution: Execution, round: number): number {
  const [a = 0, b = 0, c = 0] = execution.derive(`retry:${round}`)
  return (a * 65536 + b * 256 + c) / 16777216
}
