// TASK-3, TASK-6: the crash matrix of tasks, on the stores of a single machine. test/tasks/tasks-on-postgres.test.ts has the other.

import { rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { freshMemory, freshSqlite } from '../../kit/stores/fresh-store.ts'
import { tasks } from '../../fault-injection/task-scenarios.ts'
import { type Ground, matrix } from '../../kit/crash-matrix.ts'

const grounds: Record<string, () => Ground> = {
  memory: () => ({ ...freshMemory(), gone: async () => {} }),
  sqlite: () => {
    const { clock, store, file } = freshSqlite()
    return {
      clock,
      store,
      async gone() {
        await store.close()
        rmSync(dirname(file), { recursive: true, force: true })
      },
    }
  },
}

describe.each(Object.keys(grounds))('%s', (name) => {
  test.each(tasks)('TASK-3 TASK-6: a worker dies at every write of $name', { timeout: 60_000 }, async (scenario) => {
    const { found, deaths } = await matrix(scenario, grounds[name] as () => Ground)
    expect(found).toEqual([])
    expect(deaths).toBeGreaterThan(4)
  })
})
