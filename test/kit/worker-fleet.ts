// Workers on one store with a manual clock; each runtime is one worker. Everything is closed and removed after each
// test.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type Runtime, type RuntimeOptions, type Tool } from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { afterEach, beforeEach } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { quiet } from './stores/fresh-store.ts'
import { type StoreKind, storeOf } from './stores/killable-store.ts'

interface Fleet {
  /** Starts another worker. */
  start(tools: readonly Tool[], options?: Partial<RuntimeOptions>): Promise<Runtime>
  /** Completes all work that does not need the clock. */
  settle(): Promise<void>
}

/** `opened` receives the clock and store of each test before it starts. */
export function fleetOn(kind: StoreKind, opened: (has: { clock: ManualClock; store: Store }) => void): Fleet {
  let dir: string
  let clock: ManualClock
  let store: Store
  const open: Runtime[] = []
  beforeEach(() => {
    clock = manualClock()
    dir = mkdtempSync(join(tmpdir(), 'pawl-fleet-'))
    store = storeOf(kind, join(dir, 'agent.db'), clock)
    opened({ clock, store })
  })
  afterEach(async () => {
    await Promise.all(open.splice(0).map((runtime) => runtime.close({ grace: 0 })))
    await store.close()
    rmSync(dir, { recursive: true, force: true })
  })
  return {
    async start(tools, options = {}) {
      const runtime = await createRuntime({ store, tools, clock, logger: quiet, ...options })
      open.push(runtime)
      return runtime
    },
    settle: () => clock.advance(1_000),
  }
}
