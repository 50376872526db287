// PostgreSQL: a claim that skips a locked row, and two runtimes on one store object.

import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { createRuntime, tool } from 'pawl'
import { postgresStore } from 'pawl/postgres'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Server, startServer } from '../../kit/stores/postgres-server.ts'
import { until } from '../../kit/stores/all-stores.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'

let server: Server
const keys = { secret: randomBytes(32) }
beforeAll(async () => void (server = await startServer()), 60_000)
afterAll(() => server?.stop())

const notes = () => {
  const ran: string[] = []
  return {
    ran,
    note: tool({
      name: 'note',
      description: 'd',
      input: { type: 'object' },
      execute: (_, ctx) => void ran.push(ctx.callId),
    }),
  }
}
const storeIn = (schema: string) => postgresStore({ connection: { ...server.connection }, schema })

test('SCHED-1: a claim that skips the locked first call of a batch does not run the second', async () => {
  const [own, store] = [await storeIn('first'), await storeIn('first')]
  const { ran, note } = notes()
  const asks = await createRuntime({ store: own, tools: [note], keys, logger: quiet, worker: false })
  const run = asks.session('s').run(
    [
      { id: 'a', name: 'note' },
      { id: 'b', name: 'note' },
    ],
    { batch: 'm' },
  )
  await until(async () => (await store.unsettled({ after: '', limit: 10 })).length === 2)
  // Locks the row of the first call, as a group commit with a guard on it does (a cancel, for example).
  const other = new pg.Client({ ...server.connection })
  await other.connect()
  await other.query('BEGIN')
  await other.query(`SELECT 1 FROM first.calls WHERE id = 'a' FOR UPDATE`)
  const works = await createRuntime({ store, tools: [note], keys, logger: quiet, lease: '1s' })
  await other.query('COMMIT')
  await other.end()
  await run
  expect(ran).toEqual(['a', 'b'])
  await Promise.all([asks.close({ grace: 0 }), works.close({ grace: 0 })])
  await Promise.all([own.close(), store.close()])
})

test("DUR-3: two runtimes on one store object receive each other's hints", async () => {
  const store = await storeIn('second')
  const { note } = notes()
  const asks = await createRuntime({ store, tools: [note], keys, logger: quiet, worker: false })
  const works = await createRuntime({ store, tools: [note], keys, logger: quiet, lease: '1s' })
  const run = asks.session('s').run([{ id: 'a', name: 'note' }])
  run.catch(() => {})
  await until(async () => (await works.session('s').calls.get('a'))?.state === 'settled')
  const late = Promise.withResolvers<string>()
  const timer = setTimeout(() => late.resolve('hangs'), 5_000)
  expect(await Promise.race([run, late.promise])).toMatchObject([{ status: 'success' }])
  clearTimeout(timer)
  await Promise.all([asks.close({ grace: 0 }), works.close({ grace: 0 })])
  await store.close()
})
