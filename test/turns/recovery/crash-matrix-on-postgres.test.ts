// SESS-1 on PostgreSQL: a turn whose worker dies at what it writes. Time is moved by hand; leases, which the database keeps, are ended
// by hand.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { postgresStore } from 'pawl/postgres'
import { dropSchemas } from '../../../src/store/postgres/drop-schemas.ts'
import { type Ground, matrix } from '../../kit/crash-matrix.ts'
import { wholeTurn } from './turn-scenarios.ts'
import { patient } from '../../kit/stores/postgres-clock.ts'
import { type Server, startServer } from '../../kit/stores/postgres-server.ts'

let server: Server
let schemas = 0

beforeAll(async () => {
  server = await startServer()
}, 60_000)
afterAll(() => server?.stop())

async function ground(): Promise<Ground> {
  const schema = `turns_${++schemas}`
  const { store, clock } = await patient((by) => postgresStore({ connection: server.connection, schema, clock: by, commit: 'process' }))
  return {
    clock,
    store,
    async bury(worker) {
      await store.leave(worker)
    },
    async gone() {
      await store.close()
      await dropSchemas(server.connection, [schema])
    },
  }
}

// Each n-th place: what differs here is the store, not the turn.
test(
  'SESS-1 SESS-3: a turn with five tools, an approval and a background task, killed at every eighth recorded write',
  // A safety net.
  { timeout: 600_000 },
  async () => {
    const { found, deaths } = await matrix(wholeTurn, ground, { every: 8, from: 3 })
    expect(found).toEqual([])
    expect(deaths).toBeGreaterThan(5)
  },
)
