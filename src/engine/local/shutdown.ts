// The end of a worker (DUR-13): bodies finish within a limit, and what is left is given back at once.

import { PawlError } from '../../core/errors.ts'
import type { EngineState } from './engine-state.ts'
import { finished } from './active-calls.ts'
import type { ActiveCalls } from './active-calls.ts'
import type { ClaimLoop } from './claim-loop.ts'

interface Handing {
  readonly lives: ActiveCalls
  readonly sweeper: ClaimLoop
  readonly graceMs: number
  /** From then on nothing is taken any more, not even what a running body needs to finish. */
  closed(): void
}

export async function handOver(
  { lease, timers, clock, store }: EngineState,
  { lives, sweeper, graceMs, closed }: Handing,
): Promise<void> {
  timers.stop()
  await sweeper.stop()
  const over = new PawlError('runtime_closed')
  // What has not begun does not begin here any more. It stays ours to the end, so that nobody overtakes what runs before it.
  for (const { execution } of lives.byUid.values()) if (execution?.unbegun) execution.held.end(over)
  await finished(lives.byUid, graceMs, clock)
  closed()
  await lives.close(over)
  lease.stop()
  await store.leave(lease.worker)
}
