// Simulates a crash without a process: the store stops answering one of its users. Another user of the same store finds
// what was durable. For crashes at a chosen point; test/chaos kills real processes.

import { memoryStore } from '../../../src/store/memory/memory-store.ts'
import { sqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import type { Change, Store } from '../../../src/store/store.ts'
import type { ManualClock } from '../../../src/testing/manual-clock.ts'

export interface Mortal {
  readonly store: Store
  /** From now on the store does not answer this user and drops its writes. */
  die(): void
}

export function mortal(store: Store): Mortal {
  let dead = false
  const never = new Promise<never>(() => {})
  const guarded = Object.fromEntries(
    Object.entries(store).map(([name, method]) => [
      name,
      typeof method === 'function'
        ? (...args: never[]) => (dead ? never : (method as (...args: never[]) => unknown)(...args))
        : method,
    ]),
  ) as unknown as Store
  return {
    store: { ...guarded, onHint: (listener) => store.onHint((hint) => void (dead || listener(hint))) },
    die() {
      dead = true
    },
  }
}

/** The store of a worker that dies right after it passes such a change to the store. */
export const dieAfter = ({ store, die }: Mortal, isLast: (change: Change) => unknown): Store => ({
  ...store,
  write(change, heard, how) {
    store.write(change, heard, how)
    if (isLast(change)) die()
  },
  commit(change) {
    const written = store.commit(change)
    if (isLast(change)) die()
    return written
  },
})

/** A store whose user dies before or after its commit number `at` (from 0), counted from arm(). */
export function dieAtCommit(store: Store, at: number, when: 'before' | 'after'): { store: Store; arm(): void } {
  const life = mortal(store)
  let [armed, commits] = [false, 0]
  const commit: Store['commit'] = (change) => {
    const isLast = armed && commits++ === at
    if (isLast && when === 'before') life.die()
    const written = life.store.commit(change)
    if (isLast) life.die()
    return isLast ? new Promise(() => {}) : written
  }
  return { store: { ...life.store, commit }, arm: () => void (armed = true) }
}

/** The same store for several runtimes: closing a runtime does not close it. */
export const keepOpen = (store: Store): Store => ({ ...store, close: async () => {} })

/** The store of a worker whose lease is not renewed a second time, so that it loses its calls without noticing. */
export function renewOnce(store: Store): Store {
  let renewed = false
  return {
    ...keepOpen(store),
    renew: (worker, ms) => (renewed ? new Promise<number>(() => {}) : ((renewed = true), store.renew(worker, ms))),
  }
}

/** Damages the ciphertext of a task of session `s`. */
export async function damageTask(store: Store, key: string): Promise<void> {
  const name = { of: 'task', tenant: 'default', session: 's', key }
  const row = await store.document(name)
  await store.commit({ guards: [], documents: [{ ...name, value: `${row?.value.slice(0, -4)}AAAA` }], events: [] })
}

export type StoreKind = 'memory' | 'sqlite'
export const storeOf = (kind: StoreKind, file: string, clock: ManualClock): Store =>
  kind === 'memory' ? memoryStore({ clock }) : sqliteStore({ file, clock, commit: 'power' })
