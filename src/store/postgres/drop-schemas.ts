// Drops Pawl schemas with everything in them. For tests.

import type pg from 'pg'
import { loadPg } from './load-pg.ts'

export async function dropSchemas(connection: string | pg.ClientConfig, schemas: readonly string[]): Promise<void> {
  const { Client } = await loadPg()
  const client = new Client(connection)
  client.on('error', () => {}) // the failing query reports it
  try {
    await client.connect()
    for (const schema of schemas) await client.query(`DROP SCHEMA IF EXISTS ${client.escapeIdentifier(schema)} CASCADE`)
  } finally {
    await client.end().catch(() => {})
  }
}
