// The end of a run: what carries its mark is killed, and only when it is known that nothing is left the watcher forgets it.

import { systemClock } from '../../core/clock.ts'
import { killMarked } from './process-marks.ts'
import { unwatch, unwatchGroup } from './process-watcher.ts'

const firstPause = 250
const longestPause = 30_000

/** If something may be left when this resolves, it is looked for again and again, and dies with us at the latest. */
export async function endMarked(run: string, since: number | undefined): Promise<void> {
  const letGo = systemClock.hold()
  const none = await killMarked(run, since)
  letGo()
  if (none) return unwatch(run)
  // The group is dead, and its number may become another's.
  unwatchGroup(run)
  later(run, since, firstPause)
}

function later(run: string, since: number | undefined, pause: number): void {
  systemClock.timer(pause, () => {
    void killMarked(run, since).then((none) =>
      none ? unwatch(run) : later(run, since, Math.min(2 * pause, longestPause)),
    )
  })
}
