// Shared by the tests of models, capabilities, tool search and replay.

import { createRuntime, type Runtime, type RuntimeOptions } from 'pawl'
import { afterEach } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import type { ManualClock } from '../../src/testing/manual-clock.ts'
import { freshMemory, freshSqlite, quiet } from './stores/fresh-store.ts'
import type { Mortal } from './stores/killable-store.ts'

export const stores = [
  ['memory', freshMemory],
  ['sqlite', freshSqlite],
] as const

export type Fresh = (typeof stores)[number][1]

/** A list whose runtimes are closed after each test. */
export function closedAfterEach(): Runtime[] {
  const runtimes: Runtime[] = []
  afterEach(async () => {
    for (const runtime of runtimes.splice(0)) await runtime.close({ grace: 0 })
  })
  return runtimes
}

/** Returns a function that opens a runtime on a fresh store; the runtimes are closed after each test. */
export function opening(
  standard: Fresh = freshMemory,
): (
  options?: Partial<RuntimeOptions>,
  fresh?: Fresh,
) => Promise<{ runtime: Runtime; clock: ManualClock; store: Store }> {
  const runtimes = closedAfterEach()
  return async (options = {}, fresh = standard) => {
    const { clock, store } = fresh()
    const runtime = await createRuntime({ store, clock, logger: quiet, ...options })
    runtimes.push(runtime)
    return { runtime, clock: (options.clock as ManualClock | undefined) ?? clock, store }
  }
}

/** Kills a worker and opens another one when the lease of the first has expired. */
export async function replaceWorker(
  dying: Mortal,
  clock: ManualClock,
  options: RuntimeOptions,
  runtimes: Runtime[],
): Promise<Runtime> {
  dying.die()
  await clock.advance('40s')
  const runtime = await createRuntime(options)
  runtimes.push(runtime)
  return runtime
}

interface Workers {
  readonly clock: ManualClock
  readonly store: Store
  /** Opens a worker on the store, or on a wrapper of it. The latter is not closed after the test: it may have died. */
  open(options?: Partial<RuntimeOptions>, on?: Store): Promise<Runtime>
}

/** Returns a function that makes a fresh store for several workers. */
export function workersOn(fresh: Fresh, common: Partial<RuntimeOptions> = {}): () => Workers {
  const runtimes = closedAfterEach()
  return () => {
    const { clock, store } = fresh()
    const open: Workers['open'] = async (options = {}, on = store) => {
      const runtime = await createRuntime({ store: on, clock, logger: quiet, ...common, ...options })
      if (on === store) runtimes.push(runtime)
      return runtime
    }
    return { clock, store, open }
  }
}
