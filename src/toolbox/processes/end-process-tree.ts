// Kills the marked processes of a run. The watcher drops the run only when none of its processes is left.

import { systemClock } from '../../core/clock.ts'
import { killMarkedProcesses } from './process-marks.ts'
import { unwatchTree, unwatchGroup } from './process-watcher.ts'

const firstRetryMs = 250
const maxRetryMs = 30_000

/** If processes may remain when this resolves, it retries in the background; the watcher kills them when we exit. */
export async function killProcessTree(run: string, since: number | undefined): Promise<void> {
  const releaseHold = systemClock.hold()
  const allGone = await killMarkedProcesses(run, since)
  releaseHold()
  if (allGone) return unwatchTree(run)
  // The group is dead, and the system may reuse its id.
  unwatchGroup(run)
  retryKill(run, since, firstRetryMs)
}

function retryKill(run: string, since: number | undefined, pause: number): void {
  systemClock.timer(pause, () => {
    void killMarkedProcesses(run, since).then((allGone) =>
      allGone ? unwatchTree(run) : retryKill(run, since, Math.min(2 * pause, maxRetryMs)),
    )
  })
}
