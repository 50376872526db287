// createRuntime on PostgreSQL by connection string or pool, including connection failures.

import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { createRuntime, type Runtime, type Tool, tool } from 'pawl'
import { postgresStore } from 'pawl/postgres'
import pg from 'pg'
import { type Server, startServer } from '../kit/stores/postgres-server.ts'
import { rerunTool } from '../kit/simple-tools.ts'

let server: Server
const open: Runtime[] = []
const keys = { secret: randomBytes(32) }

beforeAll(async () => {
  server = await startServer()
}, 60_000)
afterEach(async () => {
  for (const runtime of open.splice(0)) await runtime.close({ grace: 0 })
})
afterAll(async () => {
  await server?.stop()
})

const url = (over: Partial<Server['connection']> = {}): string => {
  const { user, password, host, port, database } = { ...server.connection, ...over }
  return `postgres://${user}:${password}@${host}:${port}/${database}`
}
const greet = tool({
  name: 'greet',
  description: 'Greets',
  input: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  hints: { readOnly: true },
  execute: ({ name }, ctx) => ctx.step('greet', () => `Hello ${name as string}`),
})

async function start(store: string = url(), tools: readonly Tool[] = [greet]): Promise<Runtime> {
  const runtime = await createRuntime({ store, keys, tools, lease: '2s' })
  open.push(runtime)
  return runtime
}

test('DUR-1: a call on a postgres:// store is recorded and not run again by the next process', async () => {
  const first = await start()
  const call = { id: 'a', name: 'greet', input: { name: 'Ada' } }
  expect(await first.session('s').run([call])).toMatchObject([{ status: 'success', value: 'Hello Ada', attempts: 1 }])
  await first.close()
  const second = await start()
  expect(await second.session('s').run([call])).toMatchObject([{ status: 'success', value: 'Hello Ada', attempts: 1 }])
  const record = await second.session('s').calls.get('a')
  expect(record).toMatchObject({ state: 'settled', steps: [{ id: 'greet', state: 'done' }] })
})

test('POL-8: two runtimes given 100 calls at once run exactly what the budgets allow', async () => {
  const budgets = { turn: { calls: 20 }, session: { calls: 10 }, tenant: { calls: 11 } }
  const both = await Promise.all(
    [0, 1].map(() => createRuntime({ store: url(), keys, tools: [greet], lease: '2s', budgets })),
  )
  open.push(...both)
  const calls = Array.from({ length: 50 }, (_, n) => ({ id: `c${n}`, name: 'greet', input: { name: `${n}` } }))
  const ran = async (session: string): Promise<number> => {
    const runs = both.map((runtime, at) =>
      runtime.session(session, { tenant: 'budgets' }).run(calls, { batch: `m${at}`, turn: 't' }),
    )
    return (await Promise.all(runs)).flat().filter(({ status }) => status === 'success').length
  }
  expect(await ran('one')).toBe(10)
  expect(await ran('two')).toBe(1)
})

test('FEED-1: the feed of one runtime shows the events of another', async () => {
  const [one, other] = [await start(), await start()]
  const events = other.session('feed').events()[Symbol.asyncIterator]()
  await one.session('feed').run([{ id: 'a', name: 'greet', input: { name: 'Ada' } }])
  const types: string[] = []
  while (types.at(-1) !== 'call.settled') types.push(((await events.next()).value as { type: string }).type)
  expect(types).toEqual(['call.received', 'call.started', 'step.done', 'call.settled'])
  await events.return?.()
})

test.for([
  ['a wrong password', (): string => url({ password: 'wrong' }), /refused the user or the password/],
  ['a database that is not there', (): string => url({ database: 'nowhere' }), /has no database 'nowhere'/],
  ['no server', (): string => url({ port: 1 }), /cannot be reached/],
] as const)('DUR-6: %s is reported clearly, without the password', async ([, store, told]) => {
  const error: Error = await createRuntime({ store: store(), keys }).then(
    () => new Error('it opened'),
    (cause: Error) => cause,
  )
  expect(error).toMatchObject({ code: 'store_unavailable', message: expect.stringMatching(told) })
  expect(error.message).not.toContain(server.connection.password)
})

test('WAIT-3: a PostgreSQL store requires keys', async () => {
  await expect(createRuntime({ store: url() })).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(/keys/),
  })
})

test('FEED-1: a listener whose connection is cut reconnects and misses nothing', async () => {
  const store = await postgresStore({ connection: server.connection, schema: 'cut' })
  const other = await postgresStore({ connection: server.connection, schema: 'cut' })
  const admin = new pg.Client(server.connection)
  await admin.connect()
  try {
    const heard = vi.fn()
    store.onHint(heard)
    const cut = await admin.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN pawl_cut%'`,
    )
    expect(cut.rowCount).toBe(2)
    await other.setting('a', 'b')
    await other.commit({ guards: [], events: [] })
    await vi.waitFor(() => expect(heard).toHaveBeenCalledWith({ wakes: true, outside: true }), { timeout: 10_000 })
    // Both listeners are connected again, so hints arrive before the next poll.
    await vi.waitFor(
      async () => {
        const listening = await admin.query(`SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN pawl_cut%'`)
        expect(listening.rowCount).toBe(2)
      },
      { timeout: 10_000 },
    )
  } finally {
    await admin.end()
    await Promise.all([store.close(), other.close()])
  }
})

test('WAIT-1 DUR-5: deadlines and sleeps may be fractions of a millisecond', async () => {
  const input = { type: 'object' } as const
  const ask = rerunTool('ask', (_, ctx) => ctx.later({ deadline: 1000 / 3 }))
  const nap = tool({
    name: 'nap',
    description: 'Naps',
    input,
    onCrash: 'rerun',
    execute: (_, ctx) => ctx.sleep(10 / 3),
  })
  const runtime = await start(url(), [ask, nap])
  const outcomes = await runtime.session('fractions').run([
    { id: 'a', name: 'nap', deadline: Date.now() + 100_000 / 3 },
    { id: 'b', name: 'ask' },
  ])
  expect(outcomes).toMatchObject([{ status: 'success' }, { failure: { code: 'wait_timeout' } }])
})

test('DUR-11: principals are stored exactly', async () => {
  const runtime = await start()
  for (const [index, principal] of ['a\0b\\0', '\\', 'x'.repeat(100_000)].entries()) {
    const session = runtime.session('who', { principal })
    expect(await session.run([{ id: `${index}`, name: 'greet', input: { name: 'Ada' } }])).toMatchObject([
      { status: 'success' },
    ])
    expect(await session.calls.get(`${index}`)).toMatchObject({ principal })
  }
})

test('DUR-6: the settings of an application pool are read, but it is not used, changed or ended', async () => {
  const pool = new pg.Pool({ ...server.connection, max: 1, application_name: 'the app' })
  const [{ before }] = (await pool.query(`SELECT current_setting('search_path') AS before`)).rows as [
    { before: string },
  ]
  // The application holds the only connection of the pool meanwhile.
  const client = await pool.connect()
  const runtime = await createRuntime({ store: pool, keys, tools: [greet] })
  expect(await runtime.session('pool').run([{ id: 'a', name: 'greet', input: { name: 'Ada' } }])).toMatchObject([
    { status: 'success' },
  ])
  const { rows } = await client.query(
    `SELECT current_setting('search_path') AS path, current_setting('synchronous_commit') AS commit`,
  )
  expect(rows).toEqual([{ path: before, commit: 'on' }])
  await runtime.close()
  client.release()
  expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
  expect(pool.totalCount).toBe(1)
  await pool.end()
})
