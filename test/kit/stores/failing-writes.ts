// A store whose writes can be made to fail, to be answered late or not at all, whether somebody waits for them or not.

import type { Change, Store } from '../../../src/store/store.ts'

/** `fault` gives what a write fails with; nothing of it is written then. */
export const failing = (store: Store, fault: (change: Change) => unknown): Store => ({
  ...store,
  commit(change) {
    const failed = fault(change)
    return failed === undefined ? store.commit(change) : Promise.reject(failed)
  },
  write(change, heard, how) {
    const failed = fault(change)
    if (failed === undefined) store.write(change, heard, how)
    else queueMicrotask(() => heard({ failed }))
  },
})

/** `hears` is told of every write that is on record; if it says no, nobody else hears of it. */
export const muted = (store: Store, hears: (change: Change) => boolean): Store => ({
  ...store,
  commit: (change) =>
    new Promise((resolve, reject) => {
      store.commit(change).then((committed) => (hears(change) ? resolve(committed) : undefined), reject)
    }),
  write: (change, heard, how) => store.write(change, (answer) => (hears(change) ? heard(answer) : undefined), how),
})
