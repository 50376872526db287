// Defects on purpose. A driver that cannot see these is worth nothing, so the tests plant each and expect it to be seen.

import type { Change, Guard, Store } from '../../src/store/store.ts'

type Break = (store: Store) => Store

const without = (change: Change, kind: Guard['kind']): Change => ({
  ...change,
  guards: change.guards.filter((guard) => guard.kind !== kind),
})

export const plants: Readonly<Record<string, Break>> = {
  /** Writes of a holder are not checked against the fence. */
  'no fence': (store) => ({ ...store, commit: (change, how) => store.commit(without(change, 'holds'), how) }),

  /** The key of a step does not hold its call, so siblings meet. */
  'step key without its call': (store) => ({
    ...store,
    commit: (change, how) =>
      store.commit(change.steps ? { ...change, steps: change.steps.map((step) => ({ ...step, call: '' })) } : change, how),
    steps: () => store.steps(''),
  }),

  /** A write is acknowledged before it is made. */
  'acknowledged before it is written': (store) => ({
    ...store,
    commit: async (change) => {
      setTimeout(() => void store.commit(change).catch(() => {}), 4)
      return { ok: true }
    },
  }),

  /** The end of a step is not on record when its value is used. */
  'step ends are not recorded': (store) => ({
    ...store,
    commit: (change, how) => store.commit({ ...change, steps: [] }, how),
  }),
}

export const broken = (store: Store, plant: string | undefined): Store => (plant === undefined ? store : (plants[plant] as Break)(store))
