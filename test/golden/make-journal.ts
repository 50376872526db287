// Writes a golden journal with the version it runs in: `node --conditions=@pawl/source test/golden/make-journal.ts
// <schema>`. For an older version, copy test/golden and the PostgreSQL server of test/kit/stores into a checkout of it
// and run this there. The store is left as after a crash.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createRuntime, type Runtime } from 'pawl'
import { manualClock } from 'pawl/testing'
import pg from 'pg'
import { postgresStore } from '../../src/store/postgres/postgres-store.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import type { Store } from '../../src/store/store.ts'
import { startServer } from '../kit/stores/postgres-server.ts'
import { dumpPostgres, dumpSqlite } from './dump-store.ts'
import { asks, principal, type Scene, secret, toolsOf } from './journal-tools.ts'

const schema = process.argv[2]
if (!schema) throw new Error('Which schema is this?')
const dir = mkdtempSync(join(tmpdir(), 'pawl-golden-'))
const quiet = { debug() {}, info() {}, warn() {}, error() {} }
let ids = 0

/** Wraps a store that stops answering, like a killed process. */
function mortal(store: Store): { store: Store; die(): void } {
  let dead = false
  const never = new Promise<never>(() => {})
  const mute =
    (method: (...args: never[]) => unknown): unknown =>
    (...args: never[]) =>
      dead ? never : method(...args)
  const all = Object.entries(store).map(([name, method]) => [
    name,
    typeof method === 'function' ? mute(method) : method,
  ])
  const muted = Object.fromEntries(all) as Store
  return {
    store: { ...muted, onHint: (listener) => store.onHint((hint) => void (dead || listener(hint))) },
    die: () => void (dead = true),
  }
}

async function record(open: (clock: ReturnType<typeof manualClock>) => Promise<Store>): Promise<object> {
  const clock = manualClock()
  const pass = async (): Promise<void> => {
    for (let turn = 0; turn < 40; turn++) {
      await clock.advance(25)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
  const start = async (): Promise<{ runtime: Runtime; die(): void }> => {
    const { store, die } = mortal(await open(clock))
    const known = {
      keys: { secret },
      clock,
      logger: quiet,
      lease: '10s',
      ids: { next: () => `golden${String(++ids).padStart(6, '0')}` },
    } as const
    return { runtime: await createRuntime({ store, tools: toolsOf(true), ...known }), die }
  }
  const run = (runtime: Runtime, scene: Scene): Promise<unknown> => {
    const { tenant, session, calls } = asks[scene]
    return runtime.session(session, { tenant, principal }).run(calls)
  }
  const first = await start()
  void run(first.runtime, 'unknown').catch(() => {})
  await pass()
  first.die()
  await clock.advance('1m')
  await new Promise((resolve) => setTimeout(resolve, Number(process.env.PAWL_LEASE_MS ?? 11_000)))
  const second = await start()
  await pass()
  const told: Record<string, unknown> = {}
  for (const scene of ['unknown', 'settled', 'odd'] as const) told[scene] = await run(second.runtime, scene)
  const cancelled = run(second.runtime, 'cancelled')
  await pass()
  await second.runtime.session('cancelled').cancel('Not wanted', 'Ada')
  told.cancelled = await cancelled
  void run(second.runtime, 'open').catch(() => {})
  void run(second.runtime, 'stops').catch(() => {})
  await pass()
  const events: object[] = []
  // The tool and the id of a call come from its record, and continue-journal.ts compares events without them.
  for await (const { callId: _callId, tool: _tool, ...event } of second.runtime.events({
    internal: true,
    until: 'now',
  }))
    events.push(event)
  second.die()
  return { at: clock.now(), told, events }
}

const kept = (name: string): string => join(import.meta.dirname, `${schema}.${name}`)
const file = join(dir, 'a.db')
const onSqlite = await record(async (clock) => sqliteStore({ file, clock, commit: 'process' }))
writeFileSync(kept('sqlite.json'), `${JSON.stringify(onSqlite, null, 1)}\n`)
writeFileSync(kept('sqlite.dump'), dumpSqlite(new DatabaseSync(file)))

const server = await startServer()
ids = 0
const onPostgres = await record((clock) => postgresStore({ connection: server.connection, schema: 'golden', clock }))
const client = new pg.Client(server.connection)
await client.connect()
writeFileSync(kept('postgres.json'), `${JSON.stringify(onPostgres, null, 1)}\n`)
writeFileSync(kept('postgres.dump'), await dumpPostgres(client, 'golden'))
await client.end()
await server.stop()
rmSync(dir, { recursive: true, force: true })
process.exit()
