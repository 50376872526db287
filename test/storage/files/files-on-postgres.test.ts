// Session files behave on PostgreSQL as on the other stores.

import { afterAll, beforeAll } from 'vitest'
import { postgresStore } from '../../../src/store/postgres/postgres-store.ts'
import { manualClock } from '../../../src/testing/manual-clock.ts'
import { fileCases } from './file-cases.ts'
import { keepingOn } from './file-backends.ts'
import { type Server, startServer } from '../../kit/stores/postgres-server.ts'

let server: Server
let schemas = 0

beforeAll(async () => {
  server = await startServer()
}, 60_000)
afterAll(async () => {
  await server?.stop()
})

fileCases('BOX-2, PostgreSQL', async () => {
  const clock = manualClock()
  const store = await postgresStore({ connection: server.connection, schema: `files_${++schemas}`, clock })
  return keepingOn('postgres', store, clock)
})
