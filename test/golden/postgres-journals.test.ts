// Golden journals on PostgreSQL: schemas left by older versions are migrated and continue.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { postgresStore } from '../../src/store/postgres/postgres-store.ts'
import { openAndDie, openAtOnce } from './migration-processes.ts'
import { goesOn, type Recorded } from './continue-journal.ts'
import { type Server, startServer } from '../kit/stores/postgres-server.ts'

const golden = join(import.meta.dirname, '../golden')
const kept = readdirSync(golden).filter((name) => name.endsWith('.postgres.dump'))
const textOf = (name: string): string => readFileSync(join(golden, name), 'utf8')
const schemaOf = (name: string, as: string): string => `${as}_${name.replace(/\W.*$/, '')}`

let server: Server
let admin: pg.Client
beforeAll(async () => {
  server = await startServer()
  admin = new pg.Client(server.connection)
  await admin.connect()
}, 60_000)
afterAll(async () => {
  await admin?.end()
  await server?.stop()
})

async function restored(name: string, as: string): Promise<string> {
  const schema = schemaOf(name, as)
  await admin.query(`CREATE SCHEMA ${schema}; SET search_path TO ${schema}`)
  await admin.query(textOf(name))
  return schema
}

/** Tables, columns, indexes and functions, without the schema name. */
async function shapeOf(schema: string): Promise<unknown> {
  const columns = `SELECT table_name, column_name, data_type, collation_name, is_nullable, column_default, ordinal_position
    FROM information_schema.columns WHERE table_schema = $1 ORDER BY 1, 7`
  const indexes = `SELECT replace(indexdef, $1 || '.', '') AS def FROM pg_indexes WHERE schemaname = $1 ORDER BY 1`
  // The newest version of each function; older ones stay for processes of their version.
  const functions = `SELECT DISTINCT ON (name) regexp_replace(proname, '_[0-9]+$', '') AS name, proname, prosrc FROM pg_proc
    WHERE pronamespace = $1::regnamespace AND proname ~ '_[0-9]+$' ORDER BY 1, 2 DESC`
  const all: unknown[] = []
  for (const sql of [columns, indexes, functions]) all.push((await admin.query(sql, [schema])).rows)
  return all
}

test.each(kept)(
  'DUR-9: %s is migrated, keeps its outcomes and continues',
  async (name) => {
    const schema = await restored(name, 'goes')
    const recorded = JSON.parse(textOf(name.replace(/dump$/, 'json'))) as Recorded
    await goesOn(recorded, (clock) => postgresStore({ connection: server.connection, schema, clock }))
  },
  60_000,
)

test('DUR-9: golden journals migrate to the schema of a new store; the newest already has it', async () => {
  await (await postgresStore({ connection: server.connection, schema: 'fresh' })).close()
  const { rows } = await admin.query('SELECT version FROM fresh.meta')
  const { version } = rows[0] as { version: number }
  expect(kept).toContain(`${version}.postgres.dump`)
  const fresh = await shapeOf('fresh')
  expect(await shapeOf(await restored(`${version}.postgres.dump`, 'newest'))).toEqual(fresh)
  for (const name of kept) {
    const schema = await restored(name, 'shape')
    await (await postgresStore({ connection: server.connection, schema })).close()
    expect(await shapeOf(schema)).toEqual(fresh)
  }
}, 60_000)

test(
  'DUR-9: eight processes that open an old or new schema at once all find it migrated',
  { timeout: 60_000 },
  async () => {
    const { connection } = server
    const { events } = JSON.parse(textOf('1.postgres.json')) as Recorded
    const schema = await restored('1.postgres.dump', 'eight')
    await openAtOnce({ connection, schema }, { many: 8, says: `${kept.length} ${events.length}` })
    await openAtOnce({ connection, schema: 'eight_new' }, { many: 8, says: `${kept.length} 0` })
  },
)

test('DUR-9: a process that dies during the migration leaves the old schema intact', { timeout: 60_000 }, async () => {
  const { connection } = server
  const schema = await restored('1.postgres.dump', 'dies')
  const old = await shapeOf(schema)
  const fresh = await shapeOf('fresh')
  let deaths = 0
  for (let dieAfter = 0; await openAndDie({ connection, schema, dieAfter }); dieAfter += 2) {
    const now = await shapeOf(schema)
    if (deaths++ < 3) expect(now).toEqual(old)
    else expect([old, fresh]).toContainEqual(now)
  }
  expect(deaths).toBeGreaterThan(3)
  expect(await shapeOf(schema)).toEqual(fresh)
})

test('DUR-9: a newer schema is rejected and left unchanged', async () => {
  const schema = await restored('1.postgres.dump', 'newer')
  const before = await shapeOf(schema)
  await admin.query(`UPDATE ${schema}.meta SET version = 999`)
  await expect(postgresStore({ connection: server.connection, schema })).rejects.toMatchObject({
    code: 'store_newer',
    message: expect.stringMatching(/version 999; this version of Pawl supports up to \d.*Upgrade Pawl/),
  })
  expect(await shapeOf(schema)).toEqual(before)
})

test('DUR-9: a process of the previous version keeps writing during a rolling deploy', async () => {
  const schema = await restored('1.postgres.dump', 'mixed')
  const store = await postgresStore({ connection: server.connection, schema })
  const before = (await store.events({ after: 0, limit: 1000 })).length
  // The old process writes with the function of its own version.
  const fact = {
    n: 1,
    needs: [],
    scope: 'ab'.repeat(32),
    tenant: 't',
    session: 's',
    call: 'c',
    type: 'call.started',
    at: 1,
    body: '{}',
  }
  await admin.query(`SET search_path TO ${schema}`)
  await admin.query('SELECT * FROM write_group(NULL, NULL, NULL, NULL, NULL, NULL, NULL, $1, $2, $3)', [
    JSON.stringify([fact]),
    'ch',
    'w',
  ])
  expect(await store.events({ after: 0, limit: 1000 })).toHaveLength(before + 1)
  await store.close()
})
