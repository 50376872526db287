// A PostgreSQL server for the tests of one file, and stores on it whose clock the test moves.

import { postgresStore } from 'pawl/postgres'
import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { dropSchemas } from '../../../src/store/postgres/drop-schemas.ts'
import type { Ground } from '../crash-matrix.ts'
import { patient } from './postgres-clock.ts'
import { type Connection, type Server, startServer } from './postgres-server.ts'

/** Starts a server before the tests of the file and stops it after them. */
export function serverForFile(): Pick<Server, 'connection'> {
  let server: Server
  beforeAll(async () => {
    server = await startServer()
  }, 60_000)
  afterAll(() => server?.stop())
  return {
    get connection() {
      return server.connection
    },
  }
}

/** As serverForFile(), with a connection that reads and changes the tables of one schema directly. */
export function serverWithAdmin(schema: string): { readonly connection: Connection; readonly admin: pg.Client } {
  const server = serverForFile()
  let admin: pg.Client
  beforeAll(async () => {
    admin = new pg.Client({ ...server.connection, options: `-c search_path=${schema} -c synchronous_commit=off` })
    await admin.connect()
  })
  afterAll(() => admin?.end())
  return {
    get connection() {
      return server.connection
    },
    get admin() {
      return admin
    },
  }
}

/** A store for the crash matrix. The database keeps the leases, so a dead worker is made to leave. */
export async function postgresGround(connection: Connection, schema: string): Promise<Ground> {
  const { store, clock } = await patient((by) => postgresStore({ connection, schema, clock: by, commit: 'process' }))
  return {
    clock,
    store,
    async bury(worker) {
      await store.leave(worker)
    },
    async gone() {
      await store.close()
      await dropSchemas(connection, [schema])
    },
  }
}
