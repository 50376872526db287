// Loads `pg`, an optional peer dependency, when the first PostgreSQL store opens. A static import would make bundlers
// of applications with another store look for it.

import type pg from 'pg'
import { PawlError } from '../../core/errors.ts'

export type Pg = typeof pg

export async function loadPg(): Promise<Pg> {
  // Bundlers accept a missing package only if the import itself has a handler.
  const loaded = await import('pg').catch((cause: unknown) => {
    throw new PawlError('config_invalid', "A PostgreSQL store needs the package 'pg': npm install pg.", { cause })
  })
  return loaded.default
}
