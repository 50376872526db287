// Wraps a store so that its writes fail, or are answered late or never.

import type { Change, Store } from '../../../src/store/store.ts'

/** `fault` returns the error of a write, which is then not written. */
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

/** `hears` is called for every completed write; if it returns false, the caller gets no answer. */
export const muted = (store: Store, hears: (change: Change) => boolean): Store => ({
  ...store,
  commit: (change) =>
    new Promise((resolve, reject) => {
      store.commit(change).then((committed) => (hears(change) ? resolve(committed) : undefined), reject)
    }),
  write: (change, heard, how) => store.write(change, (answer) => (hears(change) ? heard(answer) : undefined), how),
})

/** Holds matching writes back until release(). */
export function holdWrites(
  store: Store,
  isHeld: (change: Change) => unknown,
): { readonly store: Store; held(): number; release(): void } {
  const gate = Promise.withResolvers<void>()
  let held = 0
  const write: Store['write'] = (change, heard, how) => {
    if (!isHeld(change)) return store.write(change, heard, how)
    held++
    void gate.promise.then(() => store.write(change, heard, how))
  }
  return { store: { ...store, write }, held: () => held, release: gate.resolve }
}
