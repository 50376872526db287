import type { Provider, Runtime, RuntimeOptions } from 'pawl'
import { afterEach } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { logged, logger } from './changing-provider.ts'
import { type FreshWorld, mortalWorld, type Place } from './worker-takeover.ts'

/**
 * Returns a function that starts a worker with a provider and a policy that allows every tool, on the store of the test
 * or on a wrapper of it. `logged` contains what the workers of one test logged.
 */
export function providerWorkers(
  place: Place,
  began: (fresh: FreshWorld) => void,
): (provider: Provider, options?: Partial<RuntimeOptions>, on?: Store) => Promise<Runtime> {
  const { start } = mortalWorld(place, began)
  afterEach(() => void (logged.length = 0))
  const policy = { rules: [{ tool: '*', then: 'allow' }] } as const
  return (provider, { tools = [], ...options } = {}, on) =>
    start(tools, on, { logger, providers: [provider], policy, ...options })
}
