// A connection that breaks or a server that is away is told in our words, whatever was asked.

import { PawlError } from '../../core/errors.ts'
import type { Store } from '../store.ts'

/** What answers for itself, or asks the server nothing. */
const apart = new Set(['commit', 'write', 'onHint', 'close', 'secret', 'scrub', 'keepAlive'])

export function clearly(store: Store): Store {
  const clear = Object.entries(store).map(([name, method]: [string, unknown]) => {
    if (typeof method !== 'function' || apart.has(name)) return [name, method]
    const ask = method as (...args: unknown[]) => Promise<unknown>
    return [name, (...args: unknown[]): Promise<unknown> => ask(...args).catch(unavailable)]
  })
  return Object.fromEntries(clear) as Store
}

function unavailable(cause: Error): never {
  if (cause instanceof PawlError) throw cause
  throw new PawlError('store_unavailable', `PostgreSQL answered: ${cause.message}.`, { cause })
}
