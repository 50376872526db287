// What a call tells while it runs, as those who listen at that moment get it.

import type { Execution } from '../engine/engine.ts'
import type { LiveEvent } from '../feed/feed.ts'
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
