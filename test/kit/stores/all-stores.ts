// Runs tests on each of the three stores, with workers that can be killed at any point.

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
  /** Kills the worker and ends its lease at once. */
  die(): Promise<void>
}

export interface Ground {
  readonly kind: string
  readonly clock: ManualClock
  readonly store: Store
  /** The folder of the database, if it has one. */
  readonly dir: string
  readonly server: Server['connection'] | undefined
  readonly logged: { message: string; fields: unknown }[]
  worker(options: Partial<Omit<RuntimeOptions, 'store'>> & { store?: Store }): Promise<Worker>
}

/** One store for all tests of the block; the tests use separate sessions. */
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
          const runtime = await createRuntime({
            clock,
            logger,
            keys: { secret },
            lease: '30d',
            ...options,
            store: own.store,
          })
          open.push(runtime)
          return {
            runtime,
            async die() {
              own.die()
              open.splice(open.indexOf(runtime), 1)
              // Its pending writes arrive first. Only then does its lease end, so that the next worker can start.
              await Promise.allSettled([...busy, store.commit({ guards: [], events: [] })])
              await store.leave(ids[0] as string)
            },
          }
        },
      })
    })
  }
}

/** Spins the event loop until the condition holds; the test timeout is the limit. */
export async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve))
}

/** Wraps the store and collects its pending promises in `busy`. */
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
