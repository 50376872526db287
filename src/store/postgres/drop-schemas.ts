// Drops Pawl schemas with everything in them. For tests.

import pg from 'pg'

export async function dropSchemas(connection: string | pg.ClientConfig, schemas: readonly string[]): Promise<void> {
  const client = new pg.Client(connection)
  client.on('error', () => {}) // the failing query reports it
  try {
    await client.connect()
    for (const schema of schemas) await client.query(`DROP SCHEMA IF EXISTS ${client.escapeIdentifier(schema)} CASCADE`)
  } finally {
    await client.end().catch(() => {})
  }
}
