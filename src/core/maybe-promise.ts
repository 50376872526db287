// A value or a promise of it. Most pipeline stages finish synchronously, and a promise for each of them would cost more
// than the stage itself.

export type MaybePromise<T> = T | Promise<T>

/** True for promises of any library. Reading `then` of a foreign object may throw; that error is the callback's own. */
export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
  typeof (value as { then?: unknown }).then === 'function'
