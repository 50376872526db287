// Set-up for takeover tests: a fresh store with a killable user and a manual clock per test; runtimes are closed
// afterwards.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'vitest'
import { createRuntime, type Runtime, type Tool } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import { type ManualClock, manualClock } from '../../src/testing/manual-clock.ts'
import { quiet } from './stores/fresh-store.ts'
import { mortal, type Mortal, type StoreKind, storeOf } from './stores/killable-store.ts'

export interface FreshWorld {
  /** A folder for this test; the store may be in it. */
  readonly dir: string
  readonly clock: ManualClock
  readonly store: Store
  /** The same store for a worker that may die. */
  readonly first: Mortal
}

export interface MortalWorld {
  /** Runtimes that are closed after the test. */
  readonly open: Runtime[]
  /** Starts a runtime on the store, or on the given one, which the caller closes. */
  start(tools: readonly Tool[], on?: Store, options?: object): Promise<Runtime>
  /** Starts another worker and moves the clock past the lease of a dead one. */
  takeOver(tools: readonly Tool[]): Promise<Runtime>
}

/** Creates a store that needs more than a folder: a server or keys. */
export type MakePlace = () => Promise<{ readonly store: Store; readonly clock: ManualClock; readonly options?: object }>
export type Place = StoreKind | MakePlace

export function mortalWorld(place: Place, began: (fresh: FreshWorld) => void): MortalWorld {
  let dir: string
  let clock: ManualClock
  let store: Store
  let more: object
  const open: Runtime[] = []
  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'pawl-mortal-'))
    const local = (own: ManualClock, kind: StoreKind) => ({
      clock: own,
      store: storeOf(kind, join(dir, 'agent.db'), own),
      options: {},
    })
    ;({ clock, store, options: more = {} } = typeof place === 'string' ? local(manualClock(), place) : await place())
    began({ dir, clock, store, first: mortal(store) })
  })
  afterEach(async () => {
    await Promise.all(open.splice(0).map((runtime) => runtime.close({ grace: 0 })))
    await store.close()
    rmSync(dir, { recursive: true, force: true })
  })
  const start = async (tools: readonly Tool[], on: Store = store, options: object = {}): Promise<Runtime> => {
    const runtime = await createRuntime({ store: on, tools, clock, logger: quiet, ...more, ...options })
    if (on === store) open.push(runtime)
    return runtime
  }
  return {
    open,
    start,
    async takeOver(tools) {
      const runtime = await start(tools)
      await clock.advance('31s')
      return runtime
    },
  }
}
