// What of a call's place is counted across all workers, not only in this process (SCHED-2, SCHED-3). Keys, exclusives, the limits of a tool
// and rates always are: another worker may come at any time. The limits of a session and a tenant are while there are other workers, so
// that alone a call costs nothing for them.

import type { FleetPlace } from '../../engine/engine.ts'
import { milliseconds } from '../../core/duration.ts'
import { frame } from '../../core/ids.ts'
import type { Rate } from '../../tools/tool-options.ts'
import type { Slot } from './slot.ts'

export interface FleetLimits {
  readonly perSession: number
  readonly perTenant: number
  readonly perTool: number
  readonly tasksPerSession: number
  readonly rate?: { readonly perTool?: Rate; readonly perTenant?: Rate }
}

const none: readonly FleetPlace[] = []

export function fleetPlaces(
  { entry, above, back }: Slot,
  limits: FleetLimits,
  inCompany: boolean,
): readonly FleetPlace[] {
  const { position, tool, key, task } = entry
  const { tenant, session } = position
  const isRoot = above.length === 0
  let places: FleetPlace[] | null = null
  const add = (name: string, capacity: number, lastsMs?: number): void => {
    places ??= []
    places.push(lastsMs === undefined ? { name, capacity } : { name, capacity, lastsMs })
  }
  if (tool.concurrency.kind === 'exclusive') add(frame('exclusive', tenant, session), 1)
  else if (key !== null) add(frame('key', tenant, key), 1)
  const toolLimit = tool.limits.concurrent ?? limits.perTool
  if (toolLimit !== Infinity) add(frame('tool', tool.id), toolLimit)
  if (isRoot && inCompany && limits.perSession !== Infinity) add(frame('session', tenant, session), limits.perSession)
  if (isRoot && inCompany && limits.perTenant !== Infinity) add(frame('tenant', tenant), limits.perTenant)
  if (task && limits.tasksPerSession !== Infinity) add(frame('tasks', tenant, session), limits.tasksPerSession)
  // Rates are for starts.
  const toolRate = tool.limits.rate ?? limits.rate?.perTool
  if (!back && toolRate) add(frame('tool rate', tool.id), toolRate.count, milliseconds(toolRate.per, 'rate'))
  const tenantRate = limits.rate?.perTenant
  if (!back && isRoot && tenantRate)
    add(frame('tenant rate', tenant), tenantRate.count, milliseconds(tenantRate.per, 'rate'))
  return places ?? none
}
