// Defects on purpose. A driver that cannot see these is worth nothing, so the tests plant each and expect it to be seen.

import type { Change, Guard, Store } from '../../src/store/store.ts'

type Break = (store: Store) => Store

const without = (change: Change, kind: Guard['kind']): Change => ({
  ...change,
  guards: change.guards.filter((guard) => guard.kind !== kind),
})

/** Every write of the store, whether somebody waits for it or not. */
const writing = (store: Store, change: (change: Change) => Change): Store => ({
  ...store,
  commit: (given) => store.commit(change(given)),
  write: (given, heard, how) => store.write(change(given), heard, how),
})

export const plants: Readonly<Record<string, Break>> = {
  /** Writes of a holder are not checked against the fence. */
  'no fence': (store) => writing(store, (change) => without(change, 'holds')),

  /** The key of a step does not hold its call, so siblings meet. */
  'step key without its call': (store) => ({
    ...writing(store, (change) => (change.steps ? { ...change, steps: change.steps.map((step) => ({ ...step, call: '' })) } : change)),
    steps: () => store.steps(''),
  }),

  /** A write is acknowledged before it is made. */
  'acknowledged before it is written': (store) => ({
    ...store,
    commit: async (change) => {
      setTimeout(() => void store.commit(change).catch(() => {}), 4)
      return { ok: true }
    },
    write: (change, heard) => {
      setTimeout(() => store.write(change, () => {}), 4)
      queueMicrotask(() => heard({ ok: true }))
    },
  }),

  /** The end of a step is not on record when its value is used. */
  'step ends are not recorded': (store) => writing(store, (change) => ({ ...change, steps: [] })),
}

export const broken = (store: Store, plant: string | undefined): Store => (plant === undefined ? store : (plants[plant] as Break)(store))
