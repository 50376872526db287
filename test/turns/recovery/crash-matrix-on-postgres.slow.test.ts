// Crash matrix on PostgreSQL: the worker of a turn dies at its writes. The clock is manual, and leases, which the
// database keeps, are ended explicitly.

import { expect, test } from 'vitest'
import { type Ground, matrix } from '../../kit/crash-matrix.ts'
import { wholeTurn } from './turn-scenarios.ts'
import { postgresGround, serverForFile } from '../../kit/stores/postgres-for-file.ts'

const server = serverForFile()
let schemas = 0
const ground = (): Promise<Ground> => postgresGround(server.connection, `turns_${++schemas}`)

// Every eighth write is enough: only the store differs here, not the turn.
test(
  'SESS-1 SESS-3: a whole turn survives a crash at every eighth recorded write',
  // A safety net.
  { timeout: 600_000 },
  async () => {
    const { found, deaths } = await matrix(wholeTurn, ground, { every: 8, from: 3 })
    expect(found).toEqual([])
    expect(deaths).toBeGreaterThan(5)
  },
)
