// A crash without a process: a store that, for one of its users, stops answering in the middle of everything. Another user of the
// same store goes on and finds what had become durable. Real kills are in test/chaos; this is for crashes at a chosen place.

import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import { sqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../../src/store/store.ts'
import type { ManualClock } from '../../../src/testing/manual-clock.ts'

export interface Mortal {
  readonly store: Store
  /** From now on nothing this user asks is answered, and nothing it writes arrives. */
  die(): void
}

export function mortal(store: Store): Mortal {
  let dead = false
  const never = new Promise<never>(() => {})
  const guarded = Object.fromEntries(
    Object.entries(store).map(([name, method]) => [
      name,
      typeof method === 'function' ? (...args: never[]) => (dead ? never : (method as (...args: never[]) => unknown)(...args)) : method,
    ]),
  ) as unknown as Store
  return {
    store: { ...guarded, onHint: (listener) => store.onHint((hint) => void (dead || listener(hint))) },
    die() {
      dead = true
    },
  }
}

export type StoreKind = 'memory' | 'sqlite'
export const storeOf = (kind: StoreKind, file: string, clock: ManualClock): Store =>
  kind === 'memory' ? memoryStore({ clock }) : sqliteStore({ file, clock, commit: 'power' })
