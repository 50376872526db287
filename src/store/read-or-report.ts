import type { MaybePromise } from '../core/maybe-promise.ts'
import { isUnreadable } from '../security/seal.ts'

/** What a read gives; undefined, once it was told, where the row cannot be opened: that concerns nothing but what it is about (DUR-12). */
export async function unlessUnreadable<T>(
  read: () => MaybePromise<T>,
  told: (error: unknown) => void = () => {},
): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (!isUnreadable(error)) throw error
    told(error)
    return undefined
  }
}

/** Whether a row is there; what cannot be opened is. */
export async function isThere(read: () => MaybePromise<unknown>): Promise<boolean> {
  let broken = false
  const found = await unlessUnreadable(read, () => (broken = true))
  return broken || found !== undefined
}
