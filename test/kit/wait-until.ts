// Waits for a condition: on real time, or while the manual clock advances. The timeouts are safety nets.

import { vi } from 'vitest'
import type { Runtime, Task } from '../../src/index.ts'
import type { ManualClock } from '../../src/testing/manual-clock.ts'

/** Advances the clock second by second until the condition holds. */
export const advanceUntil = (clock: ManualClock, holds: () => boolean | Promise<boolean>): Promise<unknown> =>
  vi.waitUntil(
    async () => {
      await clock.advance(1_000)
      return holds()
    },
    { interval: 1, timeout: 10_000 },
  )

/** Advances the clock by 200 s, so that everything that is due happens. */
export async function letTimePass(clock: ManualClock): Promise<void> {
  for (let n = 0; n < 40; n++) await clock.advance(5_000)
}

/** Waits until a task of session `s` meets the condition, and returns it. */
export const waitForTask = (runtime: Runtime, id: string, meets: (task: Task) => unknown): Promise<Task> =>
  vi.waitUntil(
    async () => {
      const task = await runtime.session('s').tasks.get(id)
      return task && meets(task) ? task : undefined
    },
    { interval: 1, timeout: 5_000 },
  )

/** Lets a turn run whose outcome the test does not read, because its worker dies. */
export const ignoreOutcome = ({ outcome }: { outcome: Promise<unknown> }): void => void outcome.catch(() => {})
