// WORDS: an answer that is there at once, or promised. Most of what a call goes through is there at once; a promise for each of its
// stages would cost more than the stages.

export type MaybePromise<T> = T | Promise<T>

/** A promise of whatever make. Looking at what a stranger gave may throw: then that is what the stranger did. */
export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
  typeof (value as { then?: unknown }).then === 'function'
