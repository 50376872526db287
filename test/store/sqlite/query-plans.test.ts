// Query cost on SQLite by query plans, not by time: no statement may scan past data.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, test } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { Retention } from '../../../src/store/sqlite/retention.ts'
import { SessionLister } from '../../../src/store/sqlite/list-sessions.ts'
import { SqliteSemaphores } from '../../../src/store/sqlite/semaphores.ts'
import { ChangeWriter } from '../../../src/store/sqlite/rows.ts'
import { sqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { manualClock } from '../../../src/testing/manual-clock.ts'
import { callRecord, change, eventRecord, callPosition } from '../../../src/testing/store-cases/record-builders.ts'

const dir = mkdtempSync(join(tmpdir(), 'pawl-cost-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

test('DUR-10: no statement of the SQLite store scans a table', async () => {
  const file = join(dir, 'plans.db')
  const prepared = new Set<string>()
  const { prepare } = DatabaseSync.prototype
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string, ...rest: []) {
    prepared.add(sql)
    return prepare.call(this, sql, ...rest)
  }
  const store = sqliteStore({ file, clock: systemClock, commit: 'power' })
  const db = new DatabaseSync(file)
  expect([new ChangeWriter(db, new SqliteSemaphores(db, () => 0)), new Retention(db, file)]).toHaveLength(2)
  DatabaseSync.prototype.prepare = prepare
  const statements = [...prepared].filter((sql) => /\b(calls|events|steps|waits|uses|attachments)\b/.test(sql))
  expect(statements.length).toBeGreaterThan(30)
  // Scanning an index of open rows costs only the open rows; subquery results are as large as their matches.
  const fine =
    /USING (COVERING )?INDEX (calls_open|calls_parked|waits_open)\b|VIRTUAL TABLE|VALUES CLAUSE|CONSTANT ROW|SCAN (workers|settings|filed|sqlite_sequence|owners|\(subquery-\d+\))/
  const walks = statements.flatMap((sql) =>
    (db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[])
      .filter(({ detail }) => detail.startsWith('SCAN') && !fine.test(detail))
      .map(({ detail }) => `${detail}: ${sql}`),
  )
  expect(walks).toEqual([])
  // A SEARCH can still read too much: these must narrow to a session and position, or to an age.
  const planOf = (start: string): string =>
    statements
      .filter((sql) => sql.startsWith(start))
      .flatMap((sql) =>
        (db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]).map(({ detail }) => detail),
      )
      .join('\n')
  const ofSession = planOf('SELECT position, tenant, session, seq, call, type, at, body FROM events INDEXED BY')
  expect(ofSession).toMatch(/INDEX events_session \(tenant=\? AND session=\? AND rowid>\?\)/)
  expect(ofSession).toMatch(/SEARCH events USING INTEGER PRIMARY KEY \(rowid>\?\)/)
  expect(ofSession).not.toMatch(/TEMP B-TREE/)
  // Claimable calls have no owner or a dead one. One index step per owner finds them.
  expect(planOf('UPDATE calls SET fence').match(/calls_open.*/g)).toEqual([
    'calls_open (owner=?)',
    'calls_open (owner=?)',
    'calls_open',
    'calls_open (owner>?)',
  ])
  db.close()
  await store.close()
})

test('DUR-10: open calls are found among 20,000 settled ones, and a page of the oldest is erased', async () => {
  const file = join(dir, 'many.db')
  const clock = manualClock()
  const store = sqliteStore({ file, clock, commit: 'process' })
  for (let round = 0; round < 20; round++) {
    await Promise.all(
      Array.from({ length: 1000 }, (_, n) => {
        const uid = `u${String(round * 1000 + n).padStart(6, '0')}`
        const position = callPosition({ session: `s${n % 10}`, id: uid })
        const call = callRecord(uid, { position, state: 'settled', outcome: '{}', settledAt: round })
        return store.commit(
          change({
            guards: [{ kind: 'absent', position }],
            insertCall: call,
            events: [eventRecord(n, { session: `s${n % 10}`, call: uid })],
          }),
        )
      }),
    )
  }
  // Only the open call is found.
  await store.commit(change({ insertCall: callRecord('open', { state: 'queued', owner: 'gone' }) }))
  await store.renew('w', 1000)
  expect((await store.claim('w', ['tool'], 10)).map(({ uid }) => uid)).toEqual(['open'])
  expect((await store.unsettled({ after: '', limit: 10 })).map(({ uid }) => uid)).toEqual(['open'])
  expect(await store.nextDeadline()).toBeUndefined()
  const [last] = await store.events({ after: 19_999, limit: 10, of: { tenant: 't', session: 's9' } })
  expect(last).toMatchObject({ seq: 2000, position: 20_000 })
  // Only one page of the oldest is erased.
  expect(await store.erase({ settledBefore: 1, after: '', limit: 100 })).toMatchObject({ calls: 100, events: 100 })
  await store.close()
})

test('DUR-10: listing sessions reads no calls but the first of each session', async () => {
  const statements = new Map<string, number>()
  const store = sqliteStore({ file: join(dir, 'sessions.db'), clock: manualClock(), commit: 'process' })
  const counted = { ...callPosition(), session: '' }
  const record = (n: number): Promise<unknown> => {
    const uid = `u${String(n).padStart(6, '0')}`
    const position = { ...counted, session: `s${String(n % 50).padStart(2, '0')}`, id: uid }
    return store.commit(change({ insertCall: callRecord(uid, { position, createdAt: n }), events: [] }))
  }
  await Promise.all(Array.from({ length: 10_000 }, (_, n) => record(n)))
  const db = new DatabaseSync(join(dir, 'sessions.db'))
  // Without the time in the row, the calls of the session would be read.
  expect(db.prepare('SELECT count(lastCallAt) AS times FROM sessions').get()).toEqual({ times: 50 })
  const { prepare } = DatabaseSync.prototype
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string, ...rest: []) {
    const statement = prepare.call(this, sql, ...rest)
    const get = statement.get.bind(statement) as (...values: unknown[]) => ReturnType<typeof statement.get>
    statement.get = (...values: unknown[]) => {
      statements.set(sql, (statements.get(sql) ?? 0) + 1)
      return get(...values)
    }
    return statement
  }
  const sessions = new SessionLister(db)
  DatabaseSync.prototype.prepare = prepare
  const page = sessions.list({ limit: 20 })
  expect(page.map(({ lastCallAt }) => lastCallAt)).toEqual(Array.from({ length: 20 }, (_, n) => 9_950 + n))
  // One step and one look at the session's row for each, and one step from the start to the first tenant.
  expect([...statements.values()].toSorted((a, b) => a - b)).toEqual([1, 20, 20])
  for (const sql of statements.keys()) {
    const plan = (db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]).map(({ detail }) => detail)
    expect(plan.join()).not.toMatch(/TEMP B-TREE/)
    expect(
      plan.filter((detail) => /calls/.test(detail)).every((detail) => /COVERING INDEX|calls_place/.test(detail)),
    ).toBe(true)
  }
  db.close()
  await store.close()
})
