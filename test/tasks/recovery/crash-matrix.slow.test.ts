// The crash matrix of tasks on the local stores. PostgreSQL: crash-matrix-on-postgres.slow.test.ts.

import { describe, expect, test } from 'vitest'
import { tasks } from '../../fault-injection/task-scenarios.ts'
import { localGrounds, matrix } from '../../kit/crash-matrix.ts'

describe.each(localGrounds)('crash matrix on %s', (_kind, ground) => {
  test.each(tasks)(
    'TASK-3, TASK-6: $name survives a worker death at every write',
    { timeout: 60_000 },
    async (scenario) => {
      const { found, deaths } = await matrix(scenario, ground)
      expect(found).toEqual([])
      expect(deaths).toBeGreaterThan(4)
    },
  )
})
