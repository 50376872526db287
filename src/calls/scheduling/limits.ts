// The `limits` option: how many calls run concurrently and how many may wait. Checked when the runtime is created.

import { nested, type OptionTable, positiveLimit } from '../../core/check-options.ts'
import { type Rate, rateOption } from '../../tools/tool-options.ts'
import type { SlotRequest } from '../../engine/engine.ts'
import { milliseconds } from '../../core/duration.ts'
import { lengthPrefixed } from '../../core/ids.ts'
import type { Slot } from './slot.ts'

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

export const limitsOption = nested({
  perWorker: positiveLimit,
  perSession: positiveLimit,
  perTenant: positiveLimit,
  perTool: positiveLimit,
  tasksPerSession: positiveLimit,
  tasksPerWorker: positiveLimit,
  waiting: positiveLimit,
  rate: nested({ perTool: rateOption, perTenant: rateOption }),
} satisfies OptionTable<Limits>)

export interface FleetLimits {
  readonly perSession: number
  readonly perTenant: number
  readonly perTool: number
  readonly tasksPerSession: number
  readonly rate?: { readonly perTool?: Rate; readonly perTenant?: Rate }
}

const none: readonly SlotRequest[] = []

/**
 * The semaphore slots that a call takes across all workers, in addition to the gates of this process. Keys,
 * `exclusive`, tool limits and rates are always counted in the store, because another worker may start at any time.
 * Session and tenant limits are counted there only while there are other workers, so a single worker has no extra cost.
 */
export function fleetSlotRequests(
  { entry, ancestors, reentering }: Slot,
  limits: FleetLimits,
  hasOtherWorkers: boolean,
): readonly SlotRequest[] {
  const { position, tool, key, task } = entry
  const { tenant, session } = position
  const isRoot = ancestors.length === 0
  let requests: SlotRequest[] | null = null
  const add = (name: string, capacity: number, lastsMs?: number): void => {
    requests ??= []
    requests.push(lastsMs === undefined ? { name, capacity } : { name, capacity, lastsMs })
  }
  if (tool.concurrency.kind === 'exclusive') add(lengthPrefixed('exclusive', tenant, session), 1)
  else if (key !== null) add(lengthPrefixed('key', tenant, key), 1)
  const toolLimit = tool.limits.concurrent ?? limits.perTool
  if (toolLimit !== Infinity) add(lengthPrefixed('tool', tool.id), toolLimit)
  if (isRoot && hasOtherWorkers) {
    if (limits.perSession !== Infinity) add(lengthPrefixed('session', tenant, session), limits.perSession)
    if (limits.perTenant !== Infinity) add(lengthPrefixed('tenant', tenant), limits.perTenant)
  }
  if (task && limits.tasksPerSession !== Infinity) add(lengthPrefixed('tasks', tenant, session), limits.tasksPerSession)
  if (reentering) return requests ?? none
  // Rates count starts only.
  const addRate = (name: string, { count, per }: Rate): void => add(name, count, milliseconds(per, 'rate'))
  const toolRate = tool.limits.rate ?? limits.rate?.perTool
  if (toolRate) addRate(lengthPrefixed('tool rate', tool.id), toolRate)
  if (isRoot && limits.rate?.perTenant) addRate(lengthPrefixed('tenant rate', tenant), limits.rate.perTenant)
  return requests ?? none
}
