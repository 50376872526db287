// The semaphore slots that a call takes across all workers, in addition to the gates of this process. Keys,
// `exclusive`, tool limits and rates are always counted in the store, because another worker may start at any time.
// Session and tenant limits are counted there only while there are other workers, so a single worker has no extra cost.

import type { SlotRequest } from '../../engine/engine.ts'
import { milliseconds } from '../../core/duration.ts'
import { lengthPrefixed } from '../../core/ids.ts'
import type { Rate } from '../../tools/tool-options.ts'
import type { Slot } from './slot.ts'

export interface FleetLimits {
  readonly perSession: number
  readonly perTenant: number
  readonly perTool: number
  readonly tasksPerSession: number
  readonly rate?: { readonly perTool?: Rate; readonly perTenant?: Rate }
}

const none: readonly SlotRequest[] = []

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
  if (isRoot && hasOtherWorkers && limits.perSession !== Infinity)
    add(lengthPrefixed('session', tenant, session), limits.perSession)
  if (isRoot && hasOtherWorkers && limits.perTenant !== Infinity)
    add(lengthPrefixed('tenant', tenant), limits.perTenant)
  if (task && limits.tasksPerSession !== Infinity) add(lengthPrefixed('tasks', tenant, session), limits.tasksPerSession)
  // Rates count starts only.
  const toolRate = tool.limits.rate ?? limits.rate?.perTool
  if (!reentering && toolRate)
    add(lengthPrefixed('tool rate', tool.id), toolRate.count, milliseconds(toolRate.per, 'rate'))
  const tenantRate = limits.rate?.perTenant
  if (!reentering && isRoot && tenantRate)
    add(lengthPrefixed('tenant rate', tenant), tenantRate.count, milliseconds(tenantRate.per, 'rate'))
  return requests ?? none
}
