// Killable workers on one store with a manual clock, and access to the inbox.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type InboxItem, type Runtime, type RuntimeOptions, type Tool } from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { afterEach, beforeEach } from 'vitest'
import type { Change, Store } from '../../src/store/store.ts'
import { mortal, type Mortal, type StoreKind, storeOf } from './stores/killable-store.ts'
import { quiet } from './stores/fresh-store.ts'

export interface World {
  clock: ManualClock
  store: Store
  file: string
  /** Starts a worker that is not killed. */
  start(tools: readonly Tool[], options?: Partial<RuntimeOptions>): Promise<Runtime>
  /** Starts a killable worker; with `before`, it dies before it writes a matching change. */
  doomed(
    tools: readonly Tool[],
    options?: Partial<RuntimeOptions>,
    before?: (change: Change) => boolean,
  ): Promise<{ runtime: Runtime; life: Mortal }>
  /** Starts another worker and moves the clock past the lease of a dead one. */
  takeOver(tools: readonly Tool[], options?: Partial<RuntimeOptions>): Promise<Runtime>
  item(runtime: Runtime): Promise<InboxItem>
}

export const bea = { by: 'user:bea' }
export const ada = { principal: 'user:ada' }
/** True for the change that parks a call. */
export const parks = ({ updateCall }: Change): boolean => updateCall?.progress.state === 'parked'
export const hang = (): Promise<never> => new Promise(() => {})

export function worldOn(kind: StoreKind): World {
  const open: Runtime[] = []
  let dir = ''
  const world: World = {
    clock: undefined as never,
    store: undefined as never,
    file: '',
    async start(tools, options = {}) {
      const runtime = await createRuntime({ store: world.store, tools, clock: world.clock, logger: quiet, ...options })
      open.push(runtime)
      return runtime
    },
    async doomed(tools, options = {}, before = () => false) {
      const { store: guarded, die } = mortal(world.store)
      const look = (change: Change): void => void (before(change) && die())
      const store: Store = {
        ...guarded,
        commit(change) {
          look(change)
          return guarded.commit(change)
        },
        write(change, heard, how) {
          look(change)
          guarded.write(change, heard, how)
        },
      }
      return {
        life: { store, die },
        runtime: await createRuntime({ store, tools, clock: world.clock, logger: quiet, ...options }),
      }
    },
    async takeOver(tools, options = {}) {
      const runtime = await world.start(tools, options)
      await world.clock.advance('31s')
      return runtime
    },
    async item(runtime) {
      for (let look = 0; look < 50; look++) {
        const [found] = await runtime.inbox()
        if (found) return found
        await world.clock.advance(1)
      }
      throw new Error('Nothing lies in the inbox')
    },
  }
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'pawl-people-adv-'))
    world.clock = manualClock()
    world.file = join(dir, 'agent.db')
    world.store = storeOf(kind, world.file, world.clock)
  })
  afterEach(async () => {
    await Promise.all(open.splice(0).map((runtime) => runtime.close({ grace: 0 })))
    await world.store.close()
    rmSync(dir, { recursive: true, force: true })
  })
  return world
}
