// What the tests of models, capabilities, tool search and replay share.

import { createRuntime, type Runtime, type RuntimeOptions } from 'pawl'
import { afterEach } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import type { ManualClock } from '../../src/testing/manual-clock.ts'
import { freshMemory, freshSqlite, quiet } from './stores/fresh-store.ts'

export const stores = [
  ['memory', freshMemory],
  ['sqlite', freshSqlite],
] as const

export type Fresh = (typeof stores)[number][1]

/** Opens runtimes that are closed when the test is over. */
export function opening(): (
  options?: Partial<RuntimeOptions>,
  fresh?: Fresh,
) => Promise<{ runtime: Runtime; clock: ManualClock; store: Store }> {
  const runtimes: Runtime[] = []
  afterEach(async () => {
    for (const runtime of runtimes.splice(0)) await runtime.close({ grace: 0 })
  })
  return async (options = {}, fresh = freshMemory) => {
    const { clock, store } = fresh()
    const runtime = await createRuntime({ store, clock, logger: quiet, ...options })
    runtimes.push(runtime)
    return { runtime, clock: (options.clock as ManualClock | undefined) ?? clock, store }
  }
}
