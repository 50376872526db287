// Session values and secrets behave on PostgreSQL as on the other stores.

import { createRuntime, PawlError, type Runtime, tool } from 'pawl'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { postgresStore } from '../../../src/store/postgres/postgres-store.ts'
import type { Store } from '../../../src/store/store.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { type Server, startServer } from '../../kit/stores/postgres-server.ts'

const secret = 'sk-live-4f9a71c2-and-more'
let server: Server
let schemas = 0
let open: { runtime: Runtime; store: Store }[] = []
beforeAll(async () => {
  server = await startServer()
}, 60_000)
afterAll(async () => {
  await server?.stop()
})
afterEach(async () => {
  for (const { runtime, store } of open) {
    await runtime.close({ grace: 0 })
    await store.close()
  }
  open = []
})
const counts = tool({
  name: 'counts',
  description: 'Counts.',
  input: { type: 'object' },
  concurrency: 'parallel',
  onCrash: 'rerun',
  async execute(_, { values, secrets }) {
    for (;;) {
      const { value = 0, revision = null } = (await values.get('n')) ?? {}
      try {
        await values.set('n', Number(value) + 1, { ifRevision: revision })
        break
      } catch (error) {
        if (!(error instanceof PawlError) || error.code !== 'value_changed') throw error
      }
    }
    await secrets.set('own', secret)
    return (await secrets.get('own')) === secret
  },
})
const start = async (schema: string): Promise<Runtime> => {
  const store = await postgresStore({ connection: server.connection, schema })
  const runtime = await createRuntime({ store, tools: [counts], keys: { secret: 'k'.repeat(32) }, logger: quiet })
  open.push({ runtime, store })
  return runtime
}

test('CALL-9: concurrent counters on two workers lose no update', async () => {
  const schema = `values_${++schemas}`
  const [a, b] = [await start(schema), await start(schema)]
  const ran = [a, b].map((runtime, n) =>
    runtime.session('s').run(Array.from({ length: 10 }, (_, id) => ({ id: `${n}-${id}`, name: 'counts' }))),
  )
  const outcomes = (await Promise.all(ran)).flat()
  expect(outcomes.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 'success'))
  expect((await b.session('s').values.get('n'))?.value).toBe(20)
})

test('CALL-9: keys with any characters are listed by prefix and in pages', async () => {
  const { values } = (await start(`values_${++schemas}`)).session('s')
  for (const key of ['a', 'a/1', 'A/1', 'a/ä', 'a/%', 'a_1', 'ab']) await values.set(key, { text: 'NUL \u0000' })
  const keys = async (options: Parameters<typeof values.list>[0]) =>
    (await values.list(options)).entries.map(({ key }) => key)
  expect(await keys({ prefix: 'a/' })).toEqual(['a/%', 'a/1', 'a/ä'])
  expect(await keys({ prefix: 'a', limit: 2 })).toEqual(['a', 'a/%'])
  expect(await keys({ prefix: 'a', after: 'a/ä' })).toEqual(['a_1', 'ab'])
  expect((await values.get('a/ä'))?.value).toEqual({ text: 'NUL \u0000' })
})

test('DUR-12, BOX-5: a secret is not in the database in plaintext, and erase removes it', async () => {
  const schema = `values_${++schemas}`
  const runtime = await start(schema)
  const session = runtime.session('s')
  await session.secrets.set('key', secret)
  await session.run([{ id: '1', name: 'counts' }])
  const client = new pg.Client(server.connection)
  await client.connect()
  const { rows: tables } = await client.query<{ name: string }>(
    'SELECT table_name AS name FROM information_schema.tables WHERE table_schema = $1',
    [schema],
  )
  const dump: unknown[] = []
  for (const { name } of tables) dump.push((await client.query(`SELECT * FROM "${schema}"."${name}"`)).rows)
  await client.end()
  expect(JSON.stringify(dump)).toContain('secret-usage')
  expect(JSON.stringify(dump)).not.toContain(secret.slice(4, 16))
  await runtime.erase({ session: 's' })
  expect(await session.secrets.list()).toEqual([])
  expect(await session.values.list()).toEqual({ entries: [], more: false })
})
