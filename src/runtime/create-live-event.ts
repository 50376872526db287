// Builds the live event of a running call (progress, output) for connected feed readers.

import type { Execution } from '../engine/engine.ts'
import type { LiveEvent } from '../feed/event-feed.ts'
import type { Clock } from '../core/clock.ts'

export function liveEvent(
  { request, callId }: Execution,
  type: LiveEvent['type'],
  body: object,
  clock: Clock,
): LiveEvent {
  const { tenant, session } = request.position
  return { live: true, type, tenant, session, call: request.uid, callId, at: clock.now(), body }
}
