// Ground to stand on for the tests of waits: each of the three stores, and workers on it that can die in the middle of everything.

import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type Runtime, type RuntimeOptions } from 'pawl'
import { postgresStore } from 'pawl/postgres'
import { type ManualClock, manualClock } from 'pawl/testing'
import { afterAll, beforeAll, describe } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import { mortal, storeOf } from './killable-store.ts'
import { type Server, startServer } from './postgres-server.ts'

export interface Worker {
  readonly runtime: Runtime
  /** It is gone from one moment to the next, and everyone knows: its lease is over. */
  die(): Promise<void>
}

export interface Ground {
  readonly kind: string
  readonly clock: ManualClock
  readonly store: Store
  /** The folder of the database, where there is one. */
  readonly dir: string
  readonly server: Server['connection'] | undefined
  readonly logged: { message: string; fields: unknown }[]
  worker(options: Partial<Omit<RuntimeOptions, 'store'>> & { store?: Store }): Promise<Worker>
}

/** One store for all tests of the block; they keep apart by their sessions. */
export function onEveryStore(name: string, define: (ground: Ground) => void): void {
  for (const kind of ['memory', 'sqlite', 'postgres'] as const) {
    describe(`${name} on ${kind}`, () => {
      const dir = mkdtempSync(join(tmpdir(), 'pawl-waits-'))
      const clock = manualClock()
      const secret = randomBytes(32)
      const logged: Ground['logged'] = []
      const log = (message: string, fields?: unknown): void => void logged.push({ message, fields })
      const logger = { debug: log, info: log, warn: log, error: log }
      const open: Runtime[] = []
      let server: Server | undefined
      let store: Store
      beforeAll(async () => {
        if (kind === 'postgres') {
          server = await startServer()
          store = await postgresStore({ connection: { ...server.connection }, clock })
        } else store = storeOf(kind, join(dir, 'agent.db'), clock)
      }, 60_000)
      afterAll(async () => {
        await Promise.all(open.map((runtime) => runtime.close({ grace: 0 })))
        await store?.close()
        await server?.stop()
        rmSync(dir, { recursive: true, force: true })
      })
      define({
        kind,
        clock,
        dir,
        logged,
        get store() {
          return store
        },
        get server() {
          return server?.connection
        },
        async worker(options) {
          const ids: string[] = []
          const busy = new Set<Promise<unknown>>()
          const used = {
            ...store,
            ...(options.store as Store),
            renew: (worker: string, ms: number) => (ids.push(worker), store.renew(worker, ms)),
          }
          const own = mortal(followed(used, busy))
          const runtime = await createRuntime({ clock, logger, keys: { secret }, lease: '30d', ...options, store: own.store })
          open.push(runtime)
          return {
            runtime,
            async die() {
              own.die()
              open.splice(open.indexOf(runtime), 1)
              // What it had sent arrives: only then is it known to be dead, and the next one begins.
              await Promise.allSettled([...busy, store.commit({ guards: [], events: [] })])
              await store.leave(ids[0] as string)
            },
          }
        },
      })
    })
  }
}

/** Goes round the event loop until it is so; the limit of the test is the limit. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve))
}

/** The same store; what it has not answered yet is in `busy`. */
function followed(store: Store, busy: Set<Promise<unknown>>): Store {
  const follow =
    (method: (...args: never[]) => unknown) =>
    (...args: never[]): unknown => {
      const given = method(...args)
      if (given instanceof Promise) {
        busy.add(given)
        given.finally(() => busy.delete(given)).catch(() => {})
      }
      return given
    }
  const methods = Object.entries(store).map(([name, method]) => [
    name,
    typeof method === 'function' ? follow(method as never) : (method as unknown),
  ])
  return Object.fromEntries(methods) as Store
}
