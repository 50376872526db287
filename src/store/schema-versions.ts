// Compares the tables of a store with those of this version, without changing them. Called by `pawl migrate --check`.

import { PawlError } from '../core/errors.ts'

export interface SchemaVersions {
  /** Version of the tables; null if there are none yet. */
  readonly found: number | null
  /** The version that this release works with. */
  readonly supported: number
}

export async function readSchemaVersions(store: string): Promise<SchemaVersions> {
  if (store === 'memory:') return { found: null, supported: 0 }
  if (store.startsWith('sqlite:')) {
    const { readSqliteVersion } = await import('./sqlite/schema.ts')
    const { connect } = await import('./sqlite/connect.ts')
    const file = store.slice('sqlite:'.length)
    const db = connect(file, 5_000)
    try {
      return readSqliteVersion(db, file)
    } finally {
      db.close()
    }
  }
  const [{ loadPg }, { readPostgresVersion }] = await Promise.all([
    import('./postgres/load-pg.ts'),
    import('./postgres/schema.ts'),
  ])
  const { Client } = await loadPg()
  const client = new Client({ connectionString: store })
  client.on('error', () => {}) // the failing query reports it
  try {
    await client.connect()
    return await readPostgresVersion(client, 'pawl')
  } catch (cause) {
    throw new PawlError('store_unavailable', asDetail(cause), { cause })
  } finally {
    await client.end().catch(() => {})
  }
}

const asDetail = (cause: unknown): string => `${cause instanceof Error ? cause.message : String(cause)}.`
