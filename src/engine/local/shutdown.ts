// The end of a worker (DUR-13): bodies finish within a limit, and what is left is given back at once.

import { PawlError } from '../../core/errors.ts'
import type { Host } from './engine-state.ts'
import { finished } from './active-calls.ts'
import type { Lives } from './active-calls.ts'
import type { Sweeper } from './claim-loop.ts'

interface Handing {
  readonly lives: Lives
  readonly sweeper: Sweeper
  readonly graceMs: number
  /** From then on nothing is taken any more, not even what a running body needs to finish. */
  closed(): void
}

export async function handOver(
  { lease, timers, clock, store }: Host,
  { lives, sweeper, graceMs, closed }: Handing,
): Promise<void> {
  timers.stop()
  await sweeper.stop()
  const over = new PawlError('runtime_closed')
  // What has not begun does not begin here any more. It stays ours to the end, so that nobody overtakes what runs before it.
  for (const { invocation } of lives.byUid.values()) if (invocation?.unbegun) invocation.held.end(over)
  await finished(lives.byUid, graceMs, clock)
  closed()
  await lives.close(over)
  lease.stop()
  await store.leave(lease.worker)
}
