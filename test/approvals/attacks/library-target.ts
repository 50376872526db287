// The library as a door for attacks: a runtime on its own store that can be restarted with other tools and policy, or
// killed.

import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createRuntime, type Runtime, type Session } from 'pawl'
import { postgresStore } from 'pawl/postgres'
import { type ManualClock, manualClock } from 'pawl/testing'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { Store } from '../../../src/store/store.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { dumpPostgres, dumpSqlite } from '../../golden/dump-store.ts'
import { mortal, storeOf } from '../../kit/stores/killable-store.ts'
import { type Server, startServer } from '../../kit/stores/postgres-server.ts'
import type { Door, Setting, Who } from './attack-interface.ts'

export const kinds = ['memory', 'sqlite', 'postgres'] as const
export type Kind = (typeof kinds)[number]

export interface Place {
  readonly kind: Kind
  readonly clock: ManualClock
  readonly store: Store
  /** Opens the same store again, as another process does. */
  another(): Promise<Store>
  stolen(): Promise<string>
  gone(): Promise<void>
}

let schemas = 0

/** Opens a place for each test; PostgreSQL runs during the tests of the describe block. */
export function eachPlace(kind: Kind, opened: (place: Place) => void): void {
  let server: Server | undefined
  beforeAll(async () => {
    if (kind === 'postgres') server = await startServer()
  })
  afterAll(async () => server?.stop())
  beforeEach(async () => opened(await placeOn(kind, server)))
}

/** A fresh store that no other test uses. */
async function placeOn(kind: Kind, server?: Server): Promise<Place> {
  const dir = mkdtempSync(join(tmpdir(), 'pawl-attack-'))
  const clock = manualClock()
  const file = join(dir, 'agent.db')
  const schema = `attack_${++schemas}`
  const open = async (): Promise<Store> =>
    kind === 'postgres'
      ? postgresStore({ connection: { ...(server as Server).connection }, schema, clock, commit: 'process' })
      : storeOf(kind, file, clock)
  const hands: Store[] = [await open()]
  return {
    kind,
    clock,
    store: hands[0] as Store,
    async another() {
      const store = kind === 'memory' ? (hands[0] as Store) : await open()
      if (kind !== 'memory') hands.push(store)
      return store
    },
    async stolen() {
      if (kind === 'memory') return inMemory(hands[0] as Store)
      if (kind === 'sqlite') {
        const db = new DatabaseSync(file, { readOnly: true })
        const rows = dumpSqlite(db)
        db.close()
        // The raw files are included because deleted data may still be in them.
        const files = readdirSync(dir).filter((name) => name.startsWith('agent.db') && !name.endsWith('.key'))
        return [rows, ...files.map((name) => readFileSync(join(dir, name), 'latin1'))].join('\n')
      }
      const client = new pg.Client({ ...(server as Server).connection })
      await client.connect()
      try {
        return await dumpPostgres(client, schema)
      } finally {
        await client.end()
      }
    },
    async gone() {
      for (const store of hands) await store.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

async function inMemory(store: Store): Promise<string> {
  const calls = await Promise.all(
    (await store.unsettled({ after: '', limit: 1_000 })).map(async ({ uid }) => store.call(uid)),
  )
  const waits = await Promise.all(calls.map(async (call) => store.waitsOf(call?.uid ?? '')))
  const kept = await Promise.all(
    ['inbox', 'rule', 'client'].map(async (of) => store.documentsOf({ of, after: '', limit: 1_000 })),
  )
  return JSON.stringify([calls, waits, kept, await store.events({ after: 0, limit: 1_000 })])
}

export interface LibraryDoor extends Door {
  readonly runtime: Runtime
  close(): Promise<void>
}

export function libraryDoor(place: Place): LibraryDoor {
  const { store, clock } = place
  const secret = randomBytes(32)
  const ranSoFar: unknown[] = []
  let runtime: Runtime | undefined
  let die: (() => Promise<void>) | undefined
  const now = (): Runtime => {
    if (!runtime) throw new Error('Nothing runs')
    return runtime
  }
  const session = ({ tenant = 'acme', session: id = 'chat', principal, policy }: Who = {}): Session =>
    now().session(id, { tenant, ...(principal === undefined ? {} : { principal }), ...(policy ? { policy } : {}) })
  const close = async (): Promise<void> => {
    const last = runtime
    runtime = undefined
    await last?.close({ grace: 0 })
  }
  const open = async (setting: Setting, worker: boolean): Promise<void> => {
    await close()
    const ids: string[] = []
    const own = mortal({ ...store, renew: (id, ms) => (ids.push(id), store.renew(id, ms)) })
    runtime = await createRuntime({
      clock,
      logger: quiet,
      keys: { secret },
      lease: '30d',
      worker,
      ...setting,
      store: own.store,
    })
    die = async () => {
      own.die()
      runtime = undefined
      await store.commit({ guards: [], events: [] })
      await store.leave(ids[0] as string)
    }
  }
  return {
    ran: ranSoFar,
    secret,
    get runtime() {
      return now()
    },
    close,
    start: (setting) => open(setting, true),
    rest: (setting) => open(setting, false),
    crash: async () => die?.(),
    async ask(call, who = {}) {
      const [outcome] = await session(who).run([call], {
        until: 'waiting',
        ...(who.batch === undefined ? {} : { batch: who.batch }),
      })
      return outcome?.status === 'failure' ? outcome.failure.code : (outcome?.status ?? 'none')
    },
    submit(call, who = {}) {
      session(who)
        .run([call])
        .catch(() => {})
    },
    inbox: (query) => now().inbox(query),
    decide: (id, decision) => now().decide(id, decision as never),
    cancel: (who) => session(who).cancel('never mind'),
    supersede: (who) => session(who).supersede(),
    answer: async (callId, answer, who) => (await session(who).answer(callId, answer)).answer,
    resolve: async (key, answer) => (await now().resolve(key, answer)).answer,
    rules: (tenant = 'acme') => now().rules.list({ tenant }),
    revoke: (rule, by, tenant = 'acme') => now().rules.revoke(rule, { by, tenant }),
    advance: (by) => clock.advance(by),
    stolen: () => place.stolen(),
  }
}
