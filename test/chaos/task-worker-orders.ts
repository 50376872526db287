// Orders from the task chaos driver to its workers, and the store that they share.

import { systemClock } from '../../src/core/clock.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'

export interface TaskOrders {
  readonly db: string
  /** Used instead of the SQLite file. */
  readonly postgres?: { readonly connection: object; readonly schema: string }
  readonly ledger: string
  readonly lease: number
  /** Probability, from 0 to 1, that a body stops its process at a possible point. */
  readonly freezes: number
  readonly dieOnClaim?: true
  /** A planted defect that the driver must detect. */
  readonly plant?: string
}

export const taskSecret = 'a secret that all workers of the chaos share'

export async function openTaskStore({ db, postgres }: TaskOrders): Promise<Store> {
  if (!postgres) return sqliteStore({ file: db, clock: systemClock, commit: 'process' })
  const { postgresStore } = await import('../../src/store/postgres/postgres-store.ts')
  return postgresStore({ ...postgres, clock: systemClock })
}
