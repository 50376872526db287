// Store cases for events without a call: they are erased with their session or by their age.

import assert from 'node:assert/strict'
import { manualClock } from '../manual-clock.ts'
import type { NewEvent } from '../../store/records/event.ts'
import type { EraseQuery, Store } from '../../store/store.ts'
import type { StoreCase } from './store-case.ts'
import * as r from './record-builders.ts'

const all = { after: 0, limit: 10_000 }

async function commitEvents(store: Store, ...events: readonly NewEvent[]): Promise<void> {
  r.assertAccepted(await store.commit(r.change({ events })))
}

const orphanEvent = (at: number, over: { tenant?: string; session?: string; call?: string } = {}): NewEvent =>
  r.eventRecord(at, { call: '', ...over })

/** Erases all pages and returns the number of erased events. */
async function erase(store: Store, query: Omit<EraseQuery, 'after' | 'limit'>): Promise<number> {
  let events = 0
  for (let after: string | null = ''; after !== null;) {
    const page: Awaited<ReturnType<Store['erase']>> = await store.erase({ ...query, after, limit: 10 })
    events += page.events
    after = page.next
  }
  return events
}

async function call(store: Store, uid: string, state: 'settled' | 'running', session = 's'): Promise<void> {
  const position = r.callPosition({ session, id: uid })
  const ended = state === 'settled' ? { outcome: '{"status":"success","value":null}', settledAt: r.longAgo } : {}
  const insertCall = r.callRecord(uid, { position, state, ...ended })
  r.assertAccepted(
    await store.commit(
      r.change({
        guards: [r.absent(position)],
        insertCall,
        events: [r.eventRecord(r.longAgo, { session, call: uid })],
      }),
    ),
  )
}

const listEvents = async (store: Store): Promise<string[]> =>
  (await store.events(all)).map(({ tenant, session, call: uid, at }) => `${tenant} ${session} ${uid} ${at}`)

export const orphanEventCases: readonly StoreCase[] = [
  {
    topic: 'retention',
    name: 'events without a call are erased with their session and nothing else',
    promise: ['DUR-10', 'FEED-1'],
    async run(open) {
      const { store } = await open(manualClock())
      await commitEvents(
        store,
        orphanEvent(1),
        orphanEvent(2, { session: '' }),
        orphanEvent(3, { session: 's2' }),
        orphanEvent(4, { tenant: 't2' }),
        orphanEvent(5),
      )
      await call(store, 'u', 'settled')
      await erase(store, { settledBefore: r.longAgo + 1, of: { tenant: 'nobody' } })
      await commitEvents(store, r.eventRecord(6, { call: 'erased before' }))
      assert.equal(await erase(store, { of: { tenant: 't', session: 's' } }), 4)
      assert.deepEqual(await listEvents(store), ['t   2', 't s2  3', 't2 s  4'])
      assert.deepEqual(
        { ...(await store.erased({ tenant: 't', session: 's' })) },
        { count: (await store.erased()).count, position: 7 },
      )
      assert.equal((await store.erased({ tenant: 't', session: 's2' })).count, 0)
      // The sequence of an erased session restarts.
      await commitEvents(store, orphanEvent(7))
      assert.equal((await store.events({ ...all, of: { tenant: 't', session: 's' } }))[0]?.seq, 1)
      assert.equal(await erase(store, { of: { tenant: 't' } }), 3)
      assert.deepEqual(await listEvents(store), ['t2 s  4'])
    },
  },
  {
    topic: 'retention',
    name: 'events without a call are pruned by age; events of calls stay',
    promise: ['DUR-10', 'FEED-1'],
    async run(open) {
      const { store } = await open(manualClock())
      await commitEvents(store, orphanEvent(10), orphanEvent(20, { tenant: 't2' }))
      await call(store, 'u', 'running')
      await commitEvents(store, orphanEvent(30), orphanEvent(10, { session: '' }))
      assert.equal(await erase(store, { settledBefore: 11, of: { tenant: 't' } }), 2)
      assert.equal(await erase(store, { settledBefore: 30 }), 1)
      assert.deepEqual(await listEvents(store), [`t s u ${r.longAgo}`, 't s  30'])
      await commitEvents(store, orphanEvent(31), orphanEvent(32, { session: '' }))
      assert.deepEqual(
        (await store.events(all)).map(({ seq }) => seq),
        [2, 3, 4, 2],
      )
    },
  },
  {
    topic: 'retention',
    name: 'thousands of events without a call are erased in pages',
    promise: ['DUR-10', 'FEED-1'],
    async run(open) {
      const { store } = await open(manualClock())
      const many = Array.from({ length: 2_500 }, (_, n) => orphanEvent(n, { session: n % 2 === 0 ? 's' : 's2' }))
      await commitEvents(store, ...many)
      const first = await store.erase({ settledBefore: 2_400, after: '', limit: 10 })
      assert.ok(first.events <= 2_400)
      assert.equal(first.events + (await erase(store, { settledBefore: 2_400 })), 2_400)
      const { count } = await store.erased()
      assert.equal(await erase(store, { settledBefore: 2_400 }), 0)
      assert.equal((await store.erased()).count, count)
      assert.equal(await erase(store, { of: { tenant: 't', session: 's2' } }), 50)
      assert.equal((await store.events(all)).length, 50)
    },
  },
]
