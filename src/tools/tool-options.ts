// Execution options of a tool (timeouts, retries, concurrency, limits), checked when the tool is defined.

import { option, type OptionTable } from '../core/check-options.ts'
import { type Duration, milliseconds } from '../core/duration.ts'
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

/** Retry policy: exponential backoff with jitter. */
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

/** So many calls per period. */
export interface Rate {
  /** Maximum number of calls. */
  readonly count: number
  /** Length of the period. */
  readonly per: Duration
}

/** Limits on the calls of one tool. */
export interface ToolLimits {
  /** Maximum number of calls of this tool that run concurrently. */
  readonly concurrent?: number
  /** Maximum number of calls per period. */
  readonly rate?: Rate
}

export type Concurrency =
  | { readonly kind: 'parallel' }
  /** Runs after all earlier calls of its batch and before all later ones. */
  | { readonly kind: 'barrier' }
  /** A barrier that also excludes other exclusive calls of its session. */
  | { readonly kind: 'exclusive' }
  | { readonly kind: 'keyed'; readonly key: (input: Json) => string }

/** Whether the schema of a tool is hidden from the model until it searches for the tool. */
export type Defer = 'never' | 'auto' | 'always'

export const timeoutOption = option.either(
  option.positiveDuration,
  option.nested({
    attempt: option.positiveDuration,
    idle: option.positiveDuration,
    total: option.positiveDuration,
    queue: option.positiveDuration,
  } satisfies OptionTable<Timeouts>),
)

export const retryOption = option.nested({
  attempts: option.required(option.wholeNumber(1)),
  base: option.duration,
  cap: option.duration,
} satisfies OptionTable<Retry>)

export const rateOption = option.nested({
  count: option.required(option.positiveLimit),
  per: option.required(option.positiveDuration),
} satisfies OptionTable<Rate>)

export const toolLimitsOption = option.nested({
  concurrent: option.positiveLimit,
  rate: rateOption,
} satisfies OptionTable<ToolLimits>)

export const concurrencyOption = option.either(
  option.oneOf('parallel', 'exclusive'),
  option.nested({ key: option.required(option.func) }),
)

export const defaultRetry = { attempts: 3, baseMs: 500, capMs: 30_000 } as const satisfies RetryPolicy

export const timeoutsOf = (timeout: Duration | Timeouts | undefined): Timeouts =>
  typeof timeout === 'object' ? timeout : timeout === undefined ? {} : { attempt: timeout }

export const retryOf = (retry: Retry | undefined): RetryPolicy | undefined =>
  retry && {
    attempts: retry.attempts,
    baseMs: milliseconds(retry.base ?? defaultRetry.baseMs, 'retry.base'),
    capMs: milliseconds(retry.cap ?? defaultRetry.capMs, 'retry.cap'),
  }

export function concurrencyOf(
  concurrency: 'parallel' | 'exclusive' | { key: (input: Json) => string } | undefined,
  hints: Hints,
): Concurrency {
  if (concurrency === undefined) return { kind: hints.readOnly ? 'parallel' : 'barrier' }
  return typeof concurrency === 'string' ? { kind: concurrency } : { kind: 'keyed', key: concurrency.key }
}

/** Refuses options that only apply to tools with a body. */
export function checkClient(definition: object, refuse: (why: string) => never): void {
  for (const field of ['execute', 'reconcile', 'onCrash', 'onUnknown', 'cancel', 'retry'])
    if ((definition as Record<string, unknown>)[field] !== undefined)
      refuse(`${field} cannot be used with client: true, because the client runs the tool`)
}
