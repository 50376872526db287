// Reads rows that may be unreadable because their key is missing. Used by all code that works through many rows.

import type { MaybePromise } from '../core/maybe-promise.ts'
import { isUnreadable } from '../security/seal.ts'

/**
 * Returns the result of a read. If the row cannot be opened (sealed with a missing key), reports it and returns
 * undefined, so that one unreadable row does not fail the work on others. Other errors are rethrown.
 */
export async function unlessUnreadable<T>(
  read: () => MaybePromise<T>,
  onUnreadable: (error: unknown) => void = () => {},
): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (!isUnreadable(error)) throw error
    onUnreadable(error)
    return undefined
  }
}

/** Whether a row exists. A row that cannot be opened counts as existing. */
export async function isThere(read: () => MaybePromise<unknown>): Promise<boolean> {
  let broken = false
  const found = await unlessUnreadable(read, () => (broken = true))
  return broken || found !== undefined
}
