// TASK-3, TASK-6: workers that run tasks are killed and stopped, and nothing stale is accepted of any. A failing round says its seed: PAWL_SEED=<n>.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Server, startServer } from '../kit/stores/postgres-server.ts'
import { alwaysTasks, runTaskPart } from './chaos-plan.ts'
import { foundAfter, runTaskRound } from './task-round.ts'

const base = Number(process.env.PAWL_SEED ?? 1)
let server: Server
beforeAll(async () => {
  server = await startServer()
}, 60_000)
afterAll(() => server?.stop())

test.for(alwaysTasks)(
  'TASK-2 TASK-3 TASK-4 TASK-6 TASK-10: $on, $workers workers killed and stopped',
  { timeout: 180_000 },
  async (part) => {
    const { wrong, tasks, hits } = await runTaskPart(part, base, server)
    expect(wrong).toEqual([])
    expect(tasks).toBeGreaterThan(5)
    expect(hits).toBeGreaterThan(0) // it found work on its way
  },
)

// The exact times, by a clock that is moved, are in test/tasks/recovery/rerunnable-and-external-tasks.test.ts.
test.for([
  // Its lock tells that it is dead, so nobody waits for its lease.
  { on: 'SQLite', leases: 1 / 3, within: 'a third of a lease' },
  { on: 'PostgreSQL', leases: 4 / 3, within: 'a lease and a third' },
] as const)('TASK-3: $on, a worker that dies with its claim is found within $within', { timeout: 40_000 }, async ({ on, leases }) => {
  const lease = 3_000
  const { ms, attempt, state } = await foundAfter(lease, on === 'PostgreSQL' ? server : undefined)
  expect({ attempt, state }).toEqual({ attempt: 1, state: 'succeeded' })
  // And what a busy machine takes to do it.
  expect(ms).toBeLessThan(lease * leases + 1_000)
})

test('the driver sees a planted defect: no fence', { timeout: 300_000 }, async () => {
  let seen: readonly string[] = []
  for (let seed = 1; seed <= 24 && seen.length === 0; seed++)
    seen = (await runTaskRound({ seed, workers: 2, ms: 1_200, plant: 'no fence' })).violations
  expect(seen).not.toEqual([])
})
