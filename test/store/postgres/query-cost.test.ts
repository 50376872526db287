// Query cost on PostgreSQL by the server's own row counters, not by time: no query may scan past data.

import { expect, test } from 'vitest'
import { postgresStore } from '../../../src/store/postgres/postgres-store.ts'
import type { SessionPage, SessionRecord, Store } from '../../../src/store/store.ts'
import {
  answerWait,
  callRecord,
  change,
  eventRecord,
  holds,
  callPosition,
  progressOf,
  stepRecord,
  waitRecord,
} from '../../../src/testing/store-cases/record-builders.ts'
import { serverWithAdmin } from '../../kit/stores/postgres-for-file.ts'

const server = serverWithAdmin('cost')

const open = (): Promise<Store> => postgresStore({ connection: server.connection, schema: 'cost' })
const many = 40_000

/** Rows of the large tables read by sequential scan and by index since the database started. */
async function read(): Promise<{ through: number; found: number }> {
  const { rows } = await server.admin.query(
    `SELECT coalesce(sum(seq_tup_read), 0)::int AS through, coalesce(sum(idx_tup_fetch), 0)::int AS found FROM pg_stat_user_tables
     WHERE schemaname = 'cost' AND relname IN ('calls', 'steps', 'waits', 'events', 'attachments', 'uses')`,
  )
  return rows[0] as { through: number; found: number }
}

/** A typical sequence of store operations. The server reports its counters when the connections close. */
async function day(n: number): Promise<void> {
  const store = await open()
  const call = callRecord(`z${n}`, {
    position: callPosition({ session: 'today', id: `z${n}` }),
    state: 'running',
    owner: 'gone',
  })
  await store.renew('w', 60_000)
  await store.callAt(call.position)
  await store.commit(
    change({
      guards: [{ kind: 'absent', position: call.position }],
      insertCall: call,
      events: [eventRecord(n, { session: 'today', call: call.uid })],
    }),
  )
  const [claimed] = await store.claim('w', ['tool'], 10)
  expect(claimed?.uid).toBe(call.uid)
  await store.commit(
    change({
      guards: [holds(call, 2)],
      steps: [stepRecord(call.uid, 'a')],
      insertWaits: [waitRecord(`w${n}`, call.uid)],
      events: [],
    }),
  )
  await store.commit(
    change({
      guards: [holds(call, 2)],
      updateCall: { uid: call.uid, progress: progressOf(call, { state: 'parked', wait: `w${n}` }), release: true },
      events: [],
    }),
  )
  await store.nextDeadline()
  await store.dueWaits(0, 10)
  await store.unsettled({ after: '', limit: 10 })
  await store.commit(answerWait(`w${n}`))
  await store.claim('w', ['tool'], 10)
  await store.steps(call.uid)
  await store.waitsOf(call.uid)
  await store.commit(
    change({
      guards: [holds(call, 3)],
      updateCall: {
        uid: call.uid,
        progress: progressOf(call, { state: 'settled', outcome: '{}', settledAt: 1e12 }),
        release: true,
      },
      events: [eventRecord(n, { session: 'today', call: call.uid })],
    }),
  )
  await store.callsOf({ tenant: 't', session: 'today' }, { after: '', limit: 10 })
  await store.recentCalls({ tenant: 't', before: null, scan: 10 })
  await store.recentCalls({ tenant: 't', before: 'u3', scan: 10 })
  await store.sessions({ tenant: 't', limit: 10 })
  await store.sessions({ limit: 10 })
  await store.events({ after: 0, limit: 10, of: { tenant: 't', session: 'today' } })
  await store.events({ after: 3 * many, limit: 10 })
  await store.erased()
  await store.call('nobody')
  await store.leave('w')
  await store.close()
}

test.each(['never counted', 'counted'])(
  'DUR-10: with 40,000 settled calls (tables %s) no query scans a table',
  { timeout: 120_000 },
  async (how) => {
    if (how === 'never counted') {
      await (await open()).close()
      await server.admin.query(
        `ALTER TABLE calls SET (autovacuum_enabled = off); ALTER TABLE events SET (autovacuum_enabled = off)`,
      )
      await day(0)
      await server.admin.query(
        `INSERT INTO calls SELECT 'u' || n, sha256(n::text::bytea), sha256((n % 1000)::text::bytea), 't', 's' || n % 1000, '', 'u' || n, 0, NULL, 'tool',
         '{}', 'h', NULL, n, 'settled', '{}', '{}', 1, n, NULL, '{"status":"success"}', n, 1, NULL, 0, NULL FROM generate_series(1, ${many}) AS n`,
      )
      await server.admin.query(
        `INSERT INTO events SELECT 100 + n, sha256((n % 1000)::text::bytea), n / 1000 + 1, 't', 's' || n % 1000, 'u' || (n / 3), 'call.started', n, '{"attempt":1}'
         FROM generate_series(1, ${3 * many}) AS n`,
      )
      await server.admin.query(
        `INSERT INTO steps SELECT 'u' || n, sha256('a'), 'a', 'done', NULL, '1', 1, n FROM generate_series(1, ${many}) AS n`,
      )
      await server.admin.query(`UPDATE log SET position = ${3 * many + 100}`)
    } else await server.admin.query('ANALYZE')
    const before = await read()
    for (let n = 1; n <= 4; n++) await day((how === 'counted' ? 100 : 0) + n)
    const after = await read()
    expect(after.through - before.through).toBeLessThan(500)
    expect(after.found - before.found).toBeLessThan(20_000)
  },
)

test('DUR-7: the cost of a claim does not grow with the calls of other workers', { timeout: 60_000 }, async () => {
  await server.admin.query(
    `INSERT INTO calls SELECT 'open' || n, sha256(('open' || n)::bytea), sha256((n % 1000)::text::bytea), 't', 's' || n % 1000, '', 'open' || n, 0, NULL, 'tool',
     '{}', 'h', NULL, n, 'running', '{}', '{}', 1, n, NULL, NULL, NULL, 1, CASE n % 3 WHEN 0 THEN 'w' WHEN 1 THEN 'v' ELSE 'gone' END, 0, NULL
     FROM generate_series(1, 30000) AS n`,
  )
  const looks = async (times: number): Promise<number> => {
    const store = await open()
    const before = await read()
    for (const each of ['w', 'v', 'gone']) await store.renew(each, 60_000)
    for (let n = 0; n < times; n++) expect(await store.claim('w', ['tool'], 10)).toEqual([])
    await store.leave('gone')
    const oldest = await store.claim('w', ['tool'], 3)
    expect(oldest.map(({ uid }) => uid)).toEqual(['open2', 'open5', 'open8'])
    await server.admin.query(`UPDATE calls SET owner = 'gone' WHERE uid = ANY($1)`, [oldest.map(({ uid }) => uid)])
    for (const each of ['w', 'v']) await store.leave(each)
    await store.close()
    return (await read()).found - before.found
  }
  const one = await looks(1)
  // Each further claim reads only the first row of each owner.
  expect((await looks(101)) - one).toBeLessThan(2_000)
  await server.admin.query(`DELETE FROM calls WHERE uid LIKE 'open%'`)
})

test('DUR-10: listing sessions reads a row for each session, not their calls', { timeout: 60_000 }, async () => {
  const cost = async (page: SessionPage): Promise<{ through: number; found: number; sessions: SessionRecord[] }> => {
    const before = await read()
    const store = await open()
    const sessions = await store.sessions(page)
    await store.close() // the server reports its counters then
    const after = await read()
    return { through: after.through - before.through, found: after.found - before.found, sessions }
  }
  const all = await cost({ limit: 2_000 })
  // Session s7 has the calls 7, 1007, 2007, … of which the newest by uid is u9007.
  expect(all.sessions).toContainEqual({ tenant: 't', session: 's7', lastCallAt: 9_007 })
  expect(all.sessions).toHaveLength(1_001)
  expect(all).toMatchObject({ through: 0 })
  // Row versions that are not vacuumed yet may be read too.
  expect(all.found).toBeLessThan(1_500)
  const page = await cost({ tenant: 't', limit: 100 })
  expect(page.sessions).toEqual(all.sessions.slice(0, 100))
  expect(page.found).toBeLessThan(200)
  const none = await cost({ tenant: 'none', limit: 100 })
  expect(none).toMatchObject({ through: 0, sessions: [] })
  expect(none.found).toBeLessThan(1_500)
})

test('DUR-10: erasing a page of the oldest calls reads only that page', { timeout: 60_000 }, async () => {
  const before = await read()
  const store = await open()
  expect(await store.erase({ settledBefore: many, after: '', limit: 50 })).toMatchObject({ calls: 50 })
  await store.close()
  const after = await read()
  expect(after.through - before.through).toBeLessThan(500)
  // The events of fifty sessions are read, 300 each.
  expect(after.found - before.found).toBeLessThan(40_000)
})
