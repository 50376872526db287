// Makes the first connection to a database and migrates the schema. Called by postgres-store.ts.

import type pg from 'pg'
import { PawlError } from '../../core/errors.ts'
import type { Pg } from './load-pg.ts'
import { migrate } from './schema.ts'

/** Connects once and migrates. Failures become a PawlError that names the cause. */
export async function prepareSchema({ Client }: Pg, settings: pg.ClientConfig, schema: string): Promise<void> {
  const client = new Client(settings)
  client.on('error', () => {}) // the failing query reports it
  try {
    await client.connect()
    await migrate(client, schema)
  } catch (cause) {
    if (cause instanceof PawlError) throw cause
    const { code, message } = cause as Error & { code?: string }
    const where = `PostgreSQL at ${client.host}:${client.port}`
    if (code === '28P01' || code === '28000')
      throw new PawlError('store_unavailable', `${where} refused the user or the password.`, { cause })
    if (code === '3D000')
      throw new PawlError('store_unavailable', `${where} has no database '${client.database}': create it first.`, {
        cause,
      })
    if (code === '42501')
      throw new PawlError(
        'store_unavailable',
        `The user may not create schema '${schema}' or its tables: ${message}.`,
        {
          cause,
        },
      )
    throw new PawlError('store_unavailable', `${where} cannot be reached: ${message || code}.`, { cause })
  } finally {
    await client.end().catch(() => {})
  }
}
