// A value or a promise of it. Most pipeline stages finish synchronously, and a promise for each of them would cost more
// than the stage itself.

export type MaybePromise<T> = T | Promise<T>

/** True for promises of any library. Reading `then` of a foreign object may throw, as if its callback had thrown. */
export const isThenable = (value: unknown): value is PromiseLike<unknown> =>
  ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
  typeof (value as { then?: unknown }).then === 'function'

/**
 * Passes the value to `next`, at once if it is not a promise. `context` is passed to `next` too, so that a hot path can
 * use one shared function instead of a closure per call.
 */
export function chain<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U>
export function chain<T, U, C>(
  value: MaybePromise<T>,
  next: (value: T, context: C) => MaybePromise<U>,
  context: C,
): MaybePromise<U>
export function chain<T, U, C>(
  value: MaybePromise<T>,
  next: (value: T, context: C | undefined) => MaybePromise<U>,
  context?: C,
): MaybePromise<U> {
  return value instanceof Promise ? value.then((it) => next(it, context)) : next(value, context)
}

/** Runs `work`; `failed` handles what it throws, or what its promise rejects with. */
export function chainCatch<T>(work: () => MaybePromise<T>, failed: (error: unknown) => T): MaybePromise<T> {
  try {
    const result = work()
    return result instanceof Promise ? result.catch(failed) : result
  } catch (error) {
    return failed(error)
  }
}
