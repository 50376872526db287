// Opens the store named by the runtime's `store` option, and checks that its record format is known.

import { PawlError } from '../core/errors.ts'
import type { Clock } from '../core/clock.ts'
import { memoryStore } from './memory/memory-store.ts'
import type { Store } from './store.ts'

/** The part of a `pg` Pool by which it is distinguished from a store object. */
export interface PgPool {
  readonly totalCount: number
  readonly options: object
}

interface StoreChoice {
  readonly store: string | Store | PgPool
  readonly commit?: 'power' | 'process'
}

export const isStore = (store: string | Store | PgPool): store is Store =>
  typeof store === 'object' && store !== null && !('totalCount' in store)

export async function openStore({ store, commit }: StoreChoice, clock: Clock): Promise<Store> {
  if (isStore(store)) return store
  if (commit !== undefined && commit !== 'power' && commit !== 'process') {
    throw new PawlError('config_invalid', `\`commit\` is ${JSON.stringify(commit)}; it must be 'power' or 'process'.`)
  }
  if (store === 'memory:') return memoryStore({ clock })
  if (typeof store === 'string' && store.startsWith('sqlite:')) {
    const { sqliteStore } = await import('./sqlite/sqlite-store.ts')
    return sqliteStore({ file: store.slice('sqlite:'.length), clock, commit: commit ?? 'power' })
  }
  if (typeof store === 'string' && /^postgres(?:ql)?:\/\//.test(store))
    return openPostgres(store, commit ?? 'power', clock)
  if (typeof store === 'object' && store !== null) return openPostgres(store, commit ?? 'power', clock)
  const shown = JSON.stringify(typeof store === 'string' ? store.replace(/\/\/[^@/]*@/, '//…@') : store)
  throw new PawlError(
    'config_invalid',
    `\`store\` is ${shown}; use 'memory:', 'sqlite:<file>', 'postgres://…' or a store object.`,
  )
}

async function openPostgres(connection: string | PgPool, commit: 'power' | 'process', clock: Clock): Promise<Store> {
  const postgres = await import('./postgres/postgres-store.ts').catch((cause: unknown) => {
    throw new PawlError('config_invalid', "A 'postgres://' store needs the package 'pg': npm install pg.", { cause })
  })
  return postgres.postgresStore({
    connection: connection as Parameters<typeof postgres.postgresStore>[0]['connection'],
    commit,
    clock,
  })
}

/**
 * Version of the recorded form of values, outcomes, events and options. A migration that changes it raises the stored
 * number.
 */
const knownFormat = 1

export async function checkFormat(store: Store): Promise<void> {
  const format = await store.setting('format', String(knownFormat))
  if (!(Number(format) <= knownFormat)) {
    throw new PawlError(
      'store_newer',
      `Its record format is ${format}; this version of Pawl supports up to ${knownFormat}.`,
    )
  }
}
