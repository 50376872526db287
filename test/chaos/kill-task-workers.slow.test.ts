// Task workers are killed and stopped, and the record accepts nothing stale from them. A failing round reports its
// seed: repeat it with PAWL_SEED=<n>.

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
  'TASK-2 TASK-3 TASK-4 TASK-6 TASK-10: tasks survive kills and stops ($on, $workers workers)',
  { timeout: 400_000 },
  async (part) => {
    const { wrong, tasks, hits } = await runTaskPart(part, base, server)
    expect(wrong).toEqual([])
    expect(tasks).toBeGreaterThan(5)
    expect(hits).toBeGreaterThan(0) // the faults hit running work
  },
)

// The exact times are tested with a manual clock in test/tasks/recovery/rerunnable-and-external-tasks.test.ts.
test.for([
  // The file lock shows that the worker is dead, so its lease is not awaited.
  { on: 'SQLite', leases: 1 / 3, within: 'a third of a lease' },
  { on: 'PostgreSQL', leases: 4 / 3, within: 'a lease and a third' },
] as const)(
  'TASK-3: the claim of a dead worker is taken over within $within ($on)',
  { timeout: 40_000 },
  async ({ on, leases }) => {
    const lease = 3_000
    const { ms, attempt, state } = await foundAfter(lease, on === 'PostgreSQL' ? server : undefined)
    expect({ attempt, state }).toEqual({ attempt: 1, state: 'succeeded' })
    // One second more for a busy machine.
    expect(ms).toBeLessThan(lease * leases + 1_000)
  },
)

test('the driver detects a planted defect: no fence', { timeout: 300_000 }, async () => {
  let seen: readonly string[] = []
  for (let seed = 1; seed <= 24 && seen.length === 0; seed++)
    seen = (await runTaskRound({ seed, workers: 2, ms: 1_200, plant: 'no fence' })).violations
  expect(seen).not.toEqual([])
})
