// Store cases for sessions(): the sessions that have calls, in pages.

import assert from 'node:assert/strict'
import type { Scope } from '../../core/scope.ts'
import type { SessionPage, SessionRecord, Store } from '../../store/store.ts'
import { manualClock } from '../manual-clock.ts'
import type { StoreCase } from './store-case.ts'
import * as r from './record-builders.ts'

const insertAt = async (store: Store, all: readonly (readonly [tenant: string, session: string])[]): Promise<void> =>
  r.insert(
    store,
    ...all.map(([tenant, session], n) =>
      r.callRecord(`u${n}`, {
        position: r.callPosition({ id: `u${n}`, tenant, session }),
        createdAt: r.longAgo + n,
      }),
    ),
  )
const names = (page: readonly Scope[]): string[] => page.map(({ tenant, session }) => `${tenant}/${session}`)
const sorted = (page: readonly Scope[]): string[] => names(page).toSorted()

/** All pages, in which a page may have fewer sessions than the limit only at the end. */
async function allPages(store: Store, query: SessionPage): Promise<SessionRecord[]> {
  const found: SessionRecord[] = []
  for (let after = query.after; ;) {
    const page = await store.sessions({ ...query, ...(after ? { after } : {}) })
    assert.ok(page.length <= query.limit)
    found.push(...page)
    const last = page.at(-1)
    if (!last || page.length < query.limit) return found
    after = { tenant: last.tenant, session: last.session }
  }
}

export const sessionCases: readonly StoreCase[] = [
  {
    topic: 'list',
    name: 'the sessions that have calls are listed with the time of the newest call',
    async run(open) {
      const { store } = await open(manualClock())
      assert.deepEqual(await store.sessions({ limit: 10 }), [])
      await insertAt(store, [
        ['b', 's'],
        ['a', 's2'],
        ['a', 's1'],
        ['b', ''],
        ['a', 's2'],
        ['ab', 'S'],
      ])
      r.assertAccepted(await store.commit(r.change({ events: [r.eventRecord(1, { session: 'without calls' })] })))
      const all = await store.sessions({ limit: 10 })
      assert.deepEqual(
        all.toSorted((a, b) => a.lastCallAt - b.lastCallAt),
        [
          { tenant: 'b', session: 's', lastCallAt: r.longAgo },
          { tenant: 'a', session: 's1', lastCallAt: r.longAgo + 2 },
          { tenant: 'a', session: 's2', lastCallAt: r.longAgo + 4 },
          { tenant: 'ab', session: 'S', lastCallAt: r.longAgo + 5 },
        ],
      )
      assert.deepEqual(await store.sessions({ limit: 10 }), all)
      const own = all.filter(({ tenant }) => tenant === 'a')
      assert.deepEqual(await store.sessions({ tenant: 'a', limit: 10 }), own)
      assert.deepEqual(await store.sessions({ tenant: 'none', limit: 10 }), [])
    },
  },
  {
    topic: 'list',
    name: 'pages of sessions of any size contain each session once, whatever its name',
    async run(open) {
      const { store } = await open(manualClock())
      const odd = ['a', 'b\\', 'b\u0000c', 'b\\0', 'é', "'", 'x'.repeat(512), '\u{1f5dd}'.repeat(256)]
      const all = ['', ...odd].flatMap((tenant) => odd.map((session) => [tenant, session] as const))
      await insertAt(store, all)
      const expected = new Set(names(all.map(([tenant, session]) => ({ tenant, session }))))
      for (const limit of [1, 3, 8, 1_000]) {
        const found = names(await allPages(store, { limit }))
        assert.equal(found.length, expected.size)
        assert.deepEqual(new Set(found), expected)
      }
      for (const tenant of odd) {
        const found = await allPages(store, { tenant, limit: 3 })
        assert.deepEqual(new Set(found.map(({ session }) => session)), new Set(odd))
        assert.ok(found.every((each) => each.tenant === tenant))
      }
      // The session of the cursor need not exist: what follows it is the end of the list.
      const full = names(await store.sessions({ limit: 1_000 }))
      for (const session of ['aa', 'ab', 'ac', 'ad']) {
        const rest = names(await store.sessions({ after: { tenant: 'a', session }, limit: 1_000 }))
        assert.deepEqual(rest, full.slice(full.length - rest.length))
      }
    },
  },
  {
    topic: 'list',
    name: 'sessions of other tenants and those with a prefix do not shorten a page of sessions',
    async run(open) {
      const { store } = await open(manualClock())
      const unwanted = ['\\0 1', '\\0 2', '\\0 \u{10ffff}', '\\0 \u{10ffff}\u{10ffff}', '\\0 \uffff']
      const wanted = ['a', '\\0', '\u0000 1', 'b \\0 ', 'z']
      const all = [...unwanted, ...wanted]
      await insertAt(
        store,
        ['t', 'u', 'v'].flatMap((tenant) => all.map((session) => [tenant, session] as const)),
      )
      for (const limit of [1, 2, 3, 100]) {
        const found = await allPages(store, { tenant: 'u', exceptPrefix: '\\0 ', limit })
        assert.deepEqual(sorted(found), sorted(wanted.map((session) => ({ tenant: 'u', session }))))
        assert.equal((await allPages(store, { exceptPrefix: '\\0 ', limit })).length, 3 * wanted.length)
        assert.equal((await allPages(store, { tenant: 'u', limit })).length, all.length)
      }
    },
  },
  {
    topic: 'list',
    name: 'the pages after a session are the same after it was erased',
    promise: ['DUR-12'],
    async run(open) {
      const { store } = await open(manualClock())
      const all = ['a', 'b', 'c', 'd', 'e']
      await insertAt(
        store,
        all.map((session) => ['t', session] as const),
      )
      const listed = await store.sessions({ limit: 10 })
      assert.deepEqual(sorted(listed), sorted(all.map((session) => ({ tenant: 't', session }))))
      const { tenant, session } = listed[1] as SessionRecord
      const uid = `u${all.indexOf(session)}`
      const call = r.callRecord(uid, { position: r.callPosition({ id: uid, tenant, session }) })
      r.assertAccepted(
        await store.commit(r.change({ updateCall: { uid, progress: r.settledProgress(call), release: true } })),
      )
      assert.equal((await store.erase({ of: { tenant, session }, after: '', limit: 10 })).calls, 1)
      assert.deepEqual(await store.sessions({ after: { tenant, session }, limit: 10 }), listed.slice(2))
    },
  },
  {
    topic: 'list',
    name: 'a session is no longer listed after its last call was erased',
    promise: ['DUR-12'],
    async run(open) {
      const { store } = await open(manualClock())
      const calls = [1, 2, 3].map((n) =>
        r.callRecord(`u${n}`, { position: r.callPosition({ id: `u${n}`, session: n === 3 ? 'other' : 's' }) }),
      )
      await r.insert(store, ...calls)
      for (const call of calls)
        r.assertAccepted(
          await store.commit(
            r.change({ updateCall: { uid: call.uid, progress: r.settledProgress(call), release: true } }),
          ),
        )
      assert.deepEqual(sorted(await store.sessions({ limit: 10 })), ['t/other', 't/s'])
      await store.erase({ of: { tenant: 't', session: 's' }, settledBefore: r.longAgo + 1, after: '', limit: 1 })
      assert.deepEqual(sorted(await store.sessions({ limit: 10 })), ['t/other', 't/s'])
      await store.erase({ of: { tenant: 't', session: 's' }, after: '', limit: 10 })
      assert.deepEqual(sorted(await store.sessions({ limit: 10 })), ['t/other'])
      const again = r.callRecord('u4', { position: r.callPosition({ id: 'u4', session: 's' }) })
      await r.insert(store, again)
      assert.deepEqual(sorted(await store.sessions({ tenant: 't', limit: 10 })), ['t/other', 't/s'])
    },
  },
]
