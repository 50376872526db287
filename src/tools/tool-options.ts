// Execution options of a tool (timeouts, retries, concurrency, limits), checked when the tool is defined.

import { type Duration, notADuration, parseDuration } from '../core/duration.ts'
import type { Json } from '../core/tool-value.ts'
import type { Hints } from './tool-hints.ts'

/** Attempt and idle timeouts are paused while the call waits for an external result; total is a deadline and is not. */
export interface Timeouts {
  /** Maximum time of one execution of the body. */
  readonly attempt?: Duration
  /** Maximum time without progress; reset by ctx.progress and ctx.output. */
  readonly idle?: Duration
  /** Maximum time from arrival to outcome, including all attempts and delays. */
  readonly total?: Duration
  /** Maximum time in the queue. */
  readonly queue?: Duration
}

export interface Retry {
  /** Total number of attempts, including the first. */
  readonly attempts: number
  /** Delay before the second attempt; doubles each time. Default: 500 ms. */
  readonly base?: Duration
  /** Maximum delay, including a delay that the tool itself requests. Default: 30 s. */
  readonly cap?: Duration
}

export interface RetryPolicy {
  readonly attempts: number
  readonly baseMs: number
  readonly capMs: number
}

export interface Rate {
  readonly count: number
  readonly per: Duration
}

export interface ToolLimits {
  /** Maximum number of calls of this tool that run concurrently. */
  readonly concurrent?: number
  readonly rate?: Rate
}

export type Concurrency =
  | { readonly kind: 'parallel' }
  /** Runs after all earlier calls of its batch and before all later ones. */
  | { readonly kind: 'barrier' }
  /** A barrier that also excludes other exclusive calls of its session. */
  | { readonly kind: 'exclusive' }
  | { readonly kind: 'keyed'; readonly key: (input: Json) => string }

type Refuse = (why: string) => never

/** An unknown field is refused: it is probably misspelt, and ignoring it would drop the intended setting. */
export function checkFields(value: object, fields: readonly string[], label: string, refuse: Refuse): void {
  if (typeof value !== 'object' || value === null) refuse(`${label} is not an object`)
  for (const field of Object.keys(value)) {
    if (!fields.includes(field)) refuse(`${label} has no field '${field}'; the fields are ${fields.join(', ')}`)
  }
}

const timeoutNames = ['attempt', 'idle', 'total', 'queue'] as const
export const defaultRetry = { attempts: 3, baseMs: 500, capMs: 30_000 } as const satisfies RetryPolicy

export function timeoutsOf(timeout: Duration | Timeouts | undefined, refuse: Refuse): Timeouts {
  const timeouts: Timeouts = typeof timeout === 'object' ? timeout : timeout === undefined ? {} : { attempt: timeout }
  for (const [name, duration] of Object.entries(timeouts)) {
    if (!timeoutNames.includes(name as 'attempt'))
      refuse(`timeout has no field '${name}'; the fields are ${timeoutNames.join(', ')}`)
    if (durationMs(duration, `timeout.${name}`, refuse) === 0) refuse(`timeout.${name} is zero`)
  }
  return timeouts
}

export function retryOf(retry: Retry | undefined, refuse: Refuse): RetryPolicy | undefined {
  if (retry === undefined) return undefined
  checkFields(retry, ['attempts', 'base', 'cap'], 'retry', refuse)
  if (!Number.isInteger(retry.attempts) || retry.attempts < 1)
    refuse(`retry.attempts is ${retry.attempts}; it must be a whole number from 1`)
  return {
    attempts: retry.attempts,
    baseMs: retry.base === undefined ? defaultRetry.baseMs : durationMs(retry.base, 'retry.base', refuse),
    capMs: retry.cap === undefined ? defaultRetry.capMs : durationMs(retry.cap, 'retry.cap', refuse),
  }
}

export function concurrencyOf(
  concurrency: 'parallel' | 'exclusive' | { key: (input: Json) => string } | undefined,
  hints: Hints,
  refuse: Refuse,
): Concurrency {
  if (concurrency === undefined) return { kind: hints.readOnly ? 'parallel' : 'barrier' }
  if (concurrency === 'parallel' || concurrency === 'exclusive') return { kind: concurrency }
  if (typeof concurrency === 'object' && typeof concurrency.key === 'function')
    return { kind: 'keyed', key: concurrency.key }
  return refuse(`concurrency is ${JSON.stringify(concurrency)}, not 'parallel', 'exclusive' or { key }`)
}

export function limitsOf(limits: ToolLimits | undefined, refuse: Refuse): ToolLimits {
  if (limits !== undefined) checkFields(limits, ['concurrent', 'rate'], 'limits', refuse)
  if (limits?.concurrent !== undefined) checkLimit(limits.concurrent, 'limits.concurrent', refuse)
  if (limits?.rate !== undefined) checkRate(limits.rate, 'limits.rate', refuse)
  return limits ?? {}
}

/** Refuses zero and negative limits when they are configured; at run time they would cause a deadlock. */
export function checkLimit(limit: number, label: string, refuse: Refuse): void {
  if (limit !== Number.POSITIVE_INFINITY && !(Number.isInteger(limit) && limit >= 1))
    refuse(`${label} is ${limit}; it must be a whole number from 1`)
}

export function checkRate(rate: Rate, label: string, refuse: Refuse): void {
  checkFields(rate, ['count', 'per'], label, refuse)
  checkLimit(rate.count, `${label}.count`, refuse)
  if (durationMs(rate.per, `${label}.per`, refuse) === 0) refuse(`${label}.per is zero`)
}

export function durationMs(duration: Duration, label: string, refuse: Refuse): number {
  return parseDuration(duration) ?? refuse(notADuration(duration, label))
}

/** Whether the schema of a tool is hidden from the model until it searches for the tool. */
export type Defer = 'never' | 'auto' | 'always'

export function deferOf(defer: unknown, refuse: (why: string) => never): Defer {
  if (defer === undefined) return 'auto'
  if (defer === 'never' || defer === 'auto' || defer === 'always') return defer
  return refuse(`defer is ${JSON.stringify(defer)}, not 'never', 'auto' or 'always'`)
}
