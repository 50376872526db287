// What looking costs, by the plans of the statements: nothing may read through what has been. Not by time.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, test } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { Keeper } from '../../../src/store/sqlite/retention.ts'
import { Places } from '../../../src/store/sqlite/semaphores.ts'
import { GroupWriter } from '../../../src/store/sqlite/rows.ts'
import { sqliteStore } from '../../../src/store/sqlite/sqlite-store.ts'
import { manualClock } from '../../../src/testing/manual-clock.ts'
import { callRecord, change, eventRecord, place } from '../../../src/testing/store-cases/record-builders.ts'

const dir = mkdtempSync(join(tmpdir(), 'pawl-cost-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

test('DUR-10: no statement of the SQLite store reads through a table', async () => {
  const file = join(dir, 'plans.db')
  const prepared = new Set<string>()
  const { prepare } = DatabaseSync.prototype
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string, ...rest: []) {
    prepared.add(sql)
    return prepare.call(this, sql, ...rest)
  }
  const store = sqliteStore({ file, clock: systemClock, commit: 'power' })
  const db = new DatabaseSync(file)
  expect([new GroupWriter(db, new Places(db, () => 0)), new Keeper(db, file)]).toHaveLength(2)
  DatabaseSync.prototype.prepare = prepare
  const statements = [...prepared].filter((sql) => /\b(calls|events|steps|waits|uses|attachments)\b/.test(sql))
  expect(statements.length).toBeGreaterThan(30)
  // A walk through an index of what is open costs what is open; what a part of the statement has found is read as often as it was found.
  const fine =
    /USING (COVERING )?INDEX (calls_open|calls_parked|waits_open)\b|VIRTUAL TABLE|VALUES CLAUSE|CONSTANT ROW|SCAN (workers|settings|filed|sqlite_sequence|owners|\(subquery-\d+\))/
  const walks = statements.flatMap((sql) =>
    (db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[])
      .filter(({ detail }) => detail.startsWith('SCAN') && !fine.test(detail))
      .map(({ detail }) => `${detail}: ${sql}`),
  )
  expect(walks).toEqual([])
  // Where a search ends is as good as where it begins: these must narrow to a session and a place in it, or to an age.
  const planOf = (start: string): string =>
    statements
      .filter((sql) => sql.startsWith(start))
      .flatMap((sql) => (db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]).map(({ detail }) => detail))
      .join('\n')
  const ofSession = planOf('SELECT position, tenant, session, seq, call, type, at, body FROM events INDEXED BY')
  expect(ofSession).toMatch(/INDEX events_session \(tenant=\? AND session=\? AND rowid>\?\)/)
  expect(ofSession).toMatch(/SEARCH events USING INTEGER PRIMARY KEY \(rowid>\?\)/)
  expect(ofSession).not.toMatch(/TEMP B-TREE/)
  // What is looked for has an owner: nobody, or one who is gone. One step for each owner finds those.
  expect(planOf('UPDATE calls SET fence').match(/calls_open.*/g)).toEqual([
    'calls_open (owner=?)',
    'calls_open (owner=?)',
    'calls_open',
    'calls_open (owner>?)',
  ])
  db.close()
  await store.close()
})

test('DUR-10: what is open is found among 20,000 settled calls, and a page of the oldest is erased', async () => {
  const file = join(dir, 'many.db')
  const clock = manualClock()
  const store = sqliteStore({ file, clock, commit: 'process' })
  for (let round = 0; round < 20; round++) {
    await Promise.all(
      Array.from({ length: 1000 }, (_, n) => {
        const uid = `u${String(round * 1000 + n).padStart(6, '0')}`
        const position = place({ session: `s${n % 10}`, id: uid })
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
  // What is open is found among them.
  await store.commit(change({ insertCall: callRecord('open', { state: 'queued', owner: 'gone' }) }))
  await store.renew('w', 1000)
  expect((await store.claim('w', ['tool'], 10)).map(({ uid }) => uid)).toEqual(['open'])
  expect((await store.unsettled({ after: '', limit: 10 })).map(({ uid }) => uid)).toEqual(['open'])
  expect(await store.nextDeadline()).toBeUndefined()
  const [last] = await store.events({ after: 19_999, limit: 10, of: { tenant: 't', session: 's9' } })
  expect(last).toMatchObject({ seq: 2000, position: 20_000 })
  // A page of the oldest goes, and nothing but it.
  expect(await store.erase({ settledBefore: 1, after: '', limit: 100 })).toMatchObject({ calls: 100, events: 100 })
  await store.close()
})
