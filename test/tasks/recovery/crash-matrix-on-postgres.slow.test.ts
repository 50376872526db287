// The crash matrix of tasks on PostgreSQL: every sixth write only, because this tests the store, and the local stores run
// the full matrix. The clock is manual; leases use the database clock, so the tests end them explicitly.

import { expect, test } from 'vitest'
import { tasks } from '../../fault-injection/task-scenarios.ts'
import { type Ground, matrix } from '../../kit/crash-matrix.ts'
import { postgresGround, serverForFile } from '../../kit/stores/postgres-for-file.ts'

const server = serverForFile()
let schemas = 0
const ground = (): Promise<Ground> => postgresGround(server.connection, `tasks_${++schemas}`)

test.each(tasks.map((scenario, n) => ({ scenario, name: scenario.name, from: n % 4 })))(
  'TASK-3, TASK-6: a worker dies at writes of $name',
  // Generous: a scenario takes a few seconds on a quiet machine.
  { timeout: 600_000 },
  async ({ scenario, from }) => {
    const { found, deaths } = await matrix(scenario, ground, { every: 6, from })
    expect(found).toEqual([])
    expect(deaths).toBeGreaterThan(1)
  },
)
