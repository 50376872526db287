// Opens the store named by the runtime's `store` option, and checks that its record format is known.

import { option, type OptionCheck } from '../core/check-options.ts'
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

const isStoreObject = (value: object): boolean =>
  ['commit', 'setting', 'call'].every((method) => typeof (value as Record<string, unknown>)[method] === 'function')

const storeForms = "'memory:', 'sqlite:<file>', 'postgres://…', a pg Pool or a store object"
export const storeOption: OptionCheck = option.hidden({
  expected: storeForms,
  part: (value) => {
    if (typeof value !== 'string') return undefined
    const file = value.replace(/^sqlite:\/\//, '')
    if (file !== value && /[^/]/.test(file))
      return `\`store\` is '${value}'; write 'sqlite:${file}' for a relative file, or 'sqlite:/${file}' for an absolute one`
    return `\`store\` is '${value.replace(/\/\/[^@/]*@/, '//…@')}'; it must be ${storeForms}`
  },
  valid: (value) =>
    typeof value === 'string'
      ? value === 'memory:' || /^sqlite:(?!\/\/[^/]|\/*$)./.test(value) || /^postgres(?:ql)?:\/\//.test(value)
      : typeof value === 'object' && value !== null && ('totalCount' in value || isStoreObject(value)),
})

export async function openStore({ store, commit }: StoreChoice, clock: Clock): Promise<Store> {
  if (isStore(store)) return store
  if (store === 'memory:') return memoryStore({ clock })
  if (typeof store === 'string' && store.startsWith('sqlite:')) {
    const { sqliteStore } = await import('./sqlite/sqlite-store.ts')
    return sqliteStore({ file: store.slice('sqlite:'.length), clock, commit: commit ?? 'power' })
  }
  return openPostgres(store, commit ?? 'power', clock)
}

async function openPostgres(connection: string | PgPool, commit: 'power' | 'process', clock: Clock): Promise<Store> {
  const postgres = await import('./postgres/postgres-store.ts')
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
