// Shuts a worker down: bodies may finish within the grace period, then the remaining calls are released at once. Called
// by LocalEngine.close.

import { PawlError } from '../../core/errors.ts'
import type { EngineState } from './engine-state.ts'
import { waitUntilIdle } from './active-calls.ts'
import type { ActiveCalls } from './active-calls.ts'
import type { ClaimLoop } from './claim-loop.ts'

interface ShutdownPorts {
  readonly activeCalls: ActiveCalls
  readonly claimLoop: ClaimLoop
  readonly graceMs: number
  /** Called after the grace period: from then on even nested calls are rejected. */
  onClosed(): void
}

export async function shutDown(
  { lease, timers, clock, store }: EngineState,
  { activeCalls, claimLoop, graceMs, onClosed }: ShutdownPorts,
): Promise<void> {
  timers.stop()
  await claimLoop.stop()
  const closedError = new PawlError('runtime_closed')
  // Calls that have not started stay queued. We keep them until the end, so that no later call of their batch overtakes
  // them.
  for (const { execution } of activeCalls.byUid.values())
    if (execution?.hasNotStarted) execution.leased.end(closedError)
  await waitUntilIdle(activeCalls.byUid, graceMs, clock)
  onClosed()
  await activeCalls.close(closedError)
  lease.stop()
  await store.leave(lease.worker)
}
