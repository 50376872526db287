// Live events stay apart from what is recorded: they change nothing that workers watch, are never synced, and expire.

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createRuntime } from 'pawl'
import { postgresStore } from 'pawl/postgres'
import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { postgresLiveTable } from '../../src/store/postgres/live-table.ts'
import { sqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { pushedModel } from '../kit/models/pushed-model.ts'
import { until } from '../kit/stores/all-stores.ts'
import { freshDir, quiet } from '../kit/stores/fresh-store.ts'
import { serverWithAdmin } from '../kit/stores/postgres-for-file.ts'

const schema = 'live_data'
const server = serverWithAdmin(schema)
const secret = randomBytes(32)
const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

/** A store, opened as often as there are processes, and the version by which workers notice writes of others. */
function sqlite() {
  const file = join(freshDir(), 'a.db')
  const open = () => sqliteStore({ file, clock: systemClock, commit: 'process' })
  const version = async (): Promise<unknown> => {
    watching ??= new DatabaseSync(file)
    return watching.prepare('PRAGMA data_version').get()
  }
  let watching: DatabaseSync | null = null
  return { open, version, stop: () => watching?.close() }
}

const postgres = () => ({
  open: () => postgresStore({ connection: { ...server.connection }, schema }),
  version: async (): Promise<unknown> => (await server.admin.query('SELECT version FROM log')).rows[0],
  stop: () => {},
})

describe.each([
  ['sqlite', sqlite],
  ['postgres', postgres],
])('on %s', (_, ground) => {
  test('FEED-2: deltas that another process reads are no change that workers look for', async () => {
    const { open, version, stop } = ground()
    const { model, push, finish, asked } = pushedModel()
    const start = async (more: { worker?: false } = {}) => {
      const store = await open()
      const runtime = await createRuntime({
        store,
        models: [model],
        logger: quiet,
        lease: '60s',
        keys: { secret },
        ...more,
      })
      closers.push(async () => {
        await runtime.close({ grace: 0 })
        await store.close()
      })
      return runtime
    }
    await start()
    const web = await start({ worker: false })
    const turn = web.session('s').turn({ model: 'm', message: 'Hi' })
    const read = turn.textStream.getReader()
    await until(() => asked() === 1)
    push('0')
    let text = (await read.read()).value ?? ''
    const before = await version()
    for (let n = 1; n <= 20; n++) {
      push(`,${n}`)
      text += (await read.read()).value
    }
    expect(text).toBe(Array.from({ length: 21 }, (__, n) => n).join(','))
    expect(await version()).toEqual(before)
    finish()
    await turn.outcome
    expect(await version()).not.toEqual(before)
    stop()
  })
})

test('FEED-2: live tables of PostgreSQL are unlogged, and their rows expire and are erased', async () => {
  const store = await postgresStore({ connection: { ...server.connection }, schema: 'live_rows' })
  await store.close()
  const { admin } = server
  await admin.query('SET search_path = live_rows')
  const options = { pool: admin as never, channel: 'live_rows_live', onNotify: () => {}, self: 'a' }
  const table = postgresLiveTable(options)
  const of = { tenant: 't', session: 's' }
  await table.putReader({ id: 'p:1', ...of, asked: 1 }, 60_000)
  await table.putReader({ id: 'p:2', ...of, asked: 1 }, 0)
  await table.append(
    [
      { ...of, entry: 'kept' },
      { ...of, session: 'other', entry: 'erased' },
    ],
    60_000,
  )
  await table.append([{ ...of, entry: 'expired' }], 0)
  expect(await table.readers()).toMatchObject([{ id: 'p:1' }])
  await table.erase({ tenant: 't', session: 'other' })
  expect(await table.entriesAfter(0)).toMatchObject([{ entry: 'kept' }])
  await table.purge()
  const rows = await admin.query(
    `SELECT (SELECT count(*) FROM live_entries) + (SELECT count(*) FROM live_readers) AS n`,
  )
  expect(Number(rows.rows[0].n)).toBe(2)
  // The sequence of the entries, too: a change of a logged one would be written to the log of the server.
  const { rows: kinds } = await admin.query(
    `SELECT DISTINCT relpersistence FROM pg_class WHERE relname LIKE 'live\\_%' AND relnamespace = 'live_rows'::regnamespace`,
  )
  expect(kinds).toEqual([{ relpersistence: 'u' }])
})
