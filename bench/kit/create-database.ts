// An empty database on a running PostgreSQL server, so that subjects do not share tables.

import pg from 'pg'
import type { Server } from '../../test/kit/stores/postgres-server.ts'

/** Returns the URL of the new database. */
export async function createDatabase({ connection }: Server, name: string): Promise<string> {
  const { host, port, user, password } = connection
  const client = new pg.Client({ ...connection })
  await client.connect()
  await client.query(`CREATE DATABASE ${name}`)
  await client.end()
  return `postgres://${user}:${password}@${host}:${port}/${name}`
}
