// The terms a tool runs under: its clocks, its retries, its place in the queue. Checked when the tool is defined.

import { type Duration, milliseconds } from '../core/duration.ts'
import { PawlError } from '../core/errors.ts'
import type { Json } from '../core/value.ts'
import type { Hints } from './hints.ts'

/** Durations. Attempt and idle stand still while the call waits for the outside; total is an instant and does not. */
export interface Timeouts {
  /** One execution of the body. */
  readonly attempt?: Duration
  /** Without progress; reset by ctx.progress and ctx.output. */
  readonly idle?: Duration
  /** From arrival to outcome, all attempts and delays together. */
  readonly total?: Duration
  /** Waiting for its turn. */
  readonly queue?: Duration
}

export interface Retry {
  /** How often in all. */
  readonly attempts: number
  /** Before the second try; doubles each time. */
  readonly base?: Duration
  /** The longest wait, the tool's own `after` included. */
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
  /** How many of its calls may run at once. */
  readonly concurrent?: number
  readonly rate?: Rate
}

export type Concurrency =
  | { readonly kind: 'parallel' }
  /** After all before it in its batch, before all after it. */
  | { readonly kind: 'barrier' }
  /** A barrier that also excludes the other exclusives of its session. */
  | { readonly kind: 'exclusive' }
  | { readonly kind: 'keyed'; readonly key: (input: Json) => string }

type Wrong = (why: string) => never

/** A field that does not exist is a misspelt one: silently left out, what it says would not hold. */
export function checkFields(given: object, fields: readonly string[], what: string, wrong: Wrong): void {
  if (typeof given !== 'object' || given === null) wrong(`${what} is not an object`)
  for (const field of Object.keys(given)) {
    if (!fields.includes(field)) wrong(`${what} has no field '${field}'; there are ${fields.join(', ')}`)
  }
}

const clockNames = ['attempt', 'idle', 'total', 'queue'] as const
export const defaultRetry = { attempts: 3, baseMs: 500, capMs: 30_000 } as const satisfies RetryPolicy

export function timeoutsOf(timeout: Duration | Timeouts | undefined, wrong: Wrong): Timeouts {
  const clocks: Timeouts = typeof timeout === 'object' ? timeout : timeout === undefined ? {} : { attempt: timeout }
  for (const [name, duration] of Object.entries(clocks)) {
    if (!clockNames.includes(name as 'attempt'))
      wrong(`timeout.${name} is not a clock; there are ${clockNames.join(', ')}`)
    if (positive(duration, `timeout.${name}`, wrong) === 0) wrong(`timeout.${name} is zero`)
  }
  return clocks
}

export function retryOf(retry: Retry | undefined, wrong: Wrong): RetryPolicy | undefined {
  if (retry === undefined) return undefined
  checkFields(retry, ['attempts', 'base', 'cap'], 'retry', wrong)
  if (!Number.isInteger(retry.attempts) || retry.attempts < 1)
    wrong(`retry.attempts is ${retry.attempts}; it must be a whole number from 1`)
  return {
    attempts: retry.attempts,
    baseMs: retry.base === undefined ? defaultRetry.baseMs : positive(retry.base, 'retry.base', wrong),
    capMs: retry.cap === undefined ? defaultRetry.capMs : positive(retry.cap, 'retry.cap', wrong),
  }
}

export function concurrencyOf(
  given: 'parallel' | 'exclusive' | { key: (input: Json) => string } | undefined,
  hints: Hints,
  wrong: Wrong,
): Concurrency {
  if (given === undefined) return { kind: hints.readOnly ? 'parallel' : 'barrier' }
  if (given === 'parallel' || given === 'exclusive') return { kind: given }
  if (typeof given === 'object' && typeof given.key === 'function') return { kind: 'keyed', key: given.key }
  return wrong(`concurrency is ${JSON.stringify(given)}, not 'parallel', 'exclusive' or { key }`)
}

export function limitsOf(limits: ToolLimits | undefined, wrong: Wrong): ToolLimits {
  if (limits !== undefined) checkFields(limits, ['concurrent', 'rate'], 'limits', wrong)
  if (limits?.concurrent !== undefined) checkLimit(limits.concurrent, 'limits.concurrent', wrong)
  if (limits?.rate !== undefined) checkRate(limits.rate, 'limits.rate', wrong)
  return limits ?? {}
}

/** SCHED-3: zero or negative limits are refused when configured, not discovered as a deadlock. */
export function checkLimit(limit: number, what: string, wrong: Wrong): void {
  if (limit !== Number.POSITIVE_INFINITY && !(Number.isInteger(limit) && limit >= 1))
    wrong(`${what} is ${limit}; it must be a whole number from 1`)
}

export function checkRate(rate: Rate, what: string, wrong: Wrong): void {
  checkFields(rate, ['count', 'per'], what, wrong)
  checkLimit(rate.count, `${what}.count`, wrong)
  if (positive(rate.per, `${what}.per`, wrong) === 0) wrong(`${what}.per is zero`)
}

export function positive(duration: Duration, what: string, wrong: Wrong): number {
  try {
    return milliseconds(duration, what)
  } catch (error) {
    return wrong(error instanceof PawlError ? error.message : String(error))
  }
}

/** Whether a model sees the schema of a tool before it looks for it (SESS-8). */
export type Defer = 'never' | 'auto' | 'always'

export function deferOf(given: unknown, wrong: (why: string) => never): Defer {
  if (given === undefined) return 'auto'
  if (given === 'never' || given === 'auto' || given === 'always') return given
  return wrong(`defer is ${JSON.stringify(given)}, not 'never', 'auto' or 'always'`)
}
