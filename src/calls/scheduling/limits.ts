// The `limits` option: how many calls run concurrently and how many may wait. Checked when the runtime is created.

import { option, type OptionTable } from '../../core/check-options.ts'
import { type Rate, rateOption } from '../../tools/tool-options.ts'

/** How many calls and tasks run at once, how many may queue, and rate limits. */
export interface Limits {
  /** Concurrent calls in this process. Default 256. */
  readonly perWorker?: number
  /** Concurrent calls of one session, on all workers. Default 32. */
  readonly perSession?: number
  /** Concurrent calls of one tenant, on all workers. Default: no limit. */
  readonly perTenant?: number
  /** Concurrent calls of one tool that sets no limit itself, on all workers. Default: no limit. */
  readonly perTool?: number
  /** Concurrent tasks of one session, on all workers. Default 5. */
  readonly tasksPerSession?: number
  /** Concurrent tasks in this process. Default 64. */
  readonly tasksPerWorker?: number
  /** Calls that may wait for a slot in this process. Further calls fail with `overloaded`. Default 10,000. */
  readonly waiting?: number
  /** Starts per time window, on all workers. Default: no limit. */
  readonly rate?: { readonly perTool?: Rate; readonly perTenant?: Rate }
}

export const defaultLimits = {
  perWorker: 256,
  perSession: 32,
  perTenant: Infinity,
  perTool: Infinity,
  tasksPerSession: 5,
  tasksPerWorker: 64,
  waiting: 10_000,
}

export const limitsOption = option.nested({
  perWorker: option.positiveLimit,
  perSession: option.positiveLimit,
  perTenant: option.positiveLimit,
  perTool: option.positiveLimit,
  tasksPerSession: option.positiveLimit,
  tasksPerWorker: option.positiveLimit,
  waiting: option.positiveLimit,
  rate: option.nested({ perTool: rateOption, perTenant: rateOption }),
} satisfies OptionTable<Limits>)
