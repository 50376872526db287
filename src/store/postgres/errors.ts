// Wraps the store's methods so that connection and server errors become a PawlError.

import { asSentence, PawlError } from '../../core/errors.ts'
import type { Store } from '../store.ts'

/** Methods that translate their own errors or do not query the server. */
const notWrapped = new Set(['commit', 'write', 'onHint', 'close', 'secret', 'scrub', 'keepAlive'])

export function wrapErrors(store: Store): Store {
  const wrapped = Object.entries(store).map(([name, method]: [string, unknown]) => {
    if (typeof method !== 'function' || notWrapped.has(name)) return [name, method]
    const query = method as (...args: unknown[]) => Promise<unknown>
    return [name, (...args: unknown[]): Promise<unknown> => query(...args).catch(unavailable)]
  })
  return Object.fromEntries(wrapped) as Store
}

function unavailable(cause: Error): never {
  if (cause instanceof PawlError) throw cause
  throw new PawlError('store_unavailable', asSentence(`PostgreSQL reported: ${cause.message}`), { cause })
}
