// What the driver of the chaos of tasks tells its workers, and the store that all of them use.

import { systemClock } from '../../src/core/clock.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'

export interface TaskOrders {
  readonly db: string
  /** Instead of the file. */
  readonly postgres?: { readonly connection: object; readonly schema: string }
  readonly ledger: string
  readonly lease: number
  /** How often a body stops its process where it may, from 0 to 1. */
  readonly freezes: number
  readonly dieOnClaim?: true
  /** A defect to plant, so that the driver can show it would be seen. */
  readonly plant?: string
}

export const taskSecret = 'a secret that all workers of the chaos share'

export async function openTaskStore({ db, postgres }: TaskOrders): Promise<Store> {
  if (!postgres) return sqliteStore({ file: db, clock: systemClock, commit: 'process' })
  const { postgresStore } = await import('../../src/store/postgres/postgres-store.ts')
  return postgresStore({ ...postgres, clock: systemClock })
}
