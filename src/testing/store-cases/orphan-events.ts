// TESTING: events that tell of no call: a session has them like all others, and they go with it, or by their age.

import assert from 'node:assert/strict'
import { manualClock } from '../manual-clock.ts'
import type { NewEvent } from '../../store/records/event.ts'
import type { EraseQuery, Store } from '../../store/store.ts'
import type { StoreCase } from './store-case.ts'
import * as r from './record-builders.ts'

const all = { after: 0, limit: 10_000 }

async function tell(store: Store, ...events: readonly NewEvent[]): Promise<void> {
  r.accepted(await store.commit(r.change({ events })))
}

const loose = (at: number, over: { tenant?: string; session?: string; call?: string } = {}): NewEvent =>
  r.eventRecord(at, { call: '', ...over })

/** To the end; tells how many events went. */
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
  const position = r.place({ session, id: uid })
  const ended = state === 'settled' ? { outcome: '{"status":"success","value":null}', settledAt: r.longAgo } : {}
  const insertCall = r.callRecord(uid, { position, state, ...ended })
  r.accepted(
    await store.commit(
      r.change({
        guards: [r.absent(position)],
        insertCall,
        events: [r.eventRecord(r.longAgo, { session, call: uid })],
      }),
    ),
  )
}

const told = async (store: Store): Promise<string[]> =>
  (await store.events(all)).map(({ tenant, session, call: uid, at }) => `${tenant} ${session} ${uid} ${at}`)

export const looseCases: readonly StoreCase[] = [
  {
    topic: 'retention',
    name: 'events that tell of no call, or of one that was erased before, go with their session and with nothing else',
    promise: ['DUR-10', 'FEED-1'],
    async run(open) {
      const { store } = await open(manualClock())
      await tell(
        store,
        loose(1),
        loose(2, { session: '' }),
        loose(3, { session: 's2' }),
        loose(4, { tenant: 't2' }),
        loose(5),
      )
      await call(store, 'u', 'settled')
      await erase(store, { settledBefore: r.longAgo + 1, of: { tenant: 'nobody' } })
      await tell(store, r.eventRecord(6, { call: 'erased before' }))
      assert.equal(await erase(store, { of: { tenant: 't', session: 's' } }), 4)
      assert.deepEqual(await told(store), ['t   2', 't s2  3', 't2 s  4'])
      assert.deepEqual(
        { ...(await store.erased({ tenant: 't', session: 's' })) },
        { count: (await store.erased()).count, position: 7 },
      )
      assert.equal((await store.erased({ tenant: 't', session: 's2' })).count, 0)
      // It begins anew.
      await tell(store, loose(7))
      assert.equal((await store.events({ ...all, of: { tenant: 't', session: 's' } }))[0]?.seq, 1)
      assert.equal(await erase(store, { of: { tenant: 't' } }), 3)
      assert.deepEqual(await told(store), ['t2 s  4'])
    },
  },
  {
    topic: 'retention',
    name: 'events that tell of no call go by their age, whether the session is at work or not; those of its calls stay',
    promise: ['DUR-10', 'FEED-1'],
    async run(open) {
      const { store } = await open(manualClock())
      await tell(store, loose(10), loose(20, { tenant: 't2' }))
      await call(store, 'u', 'running')
      await tell(store, loose(30), loose(10, { session: '' }))
      assert.equal(await erase(store, { settledBefore: 11, of: { tenant: 't' } }), 2)
      assert.equal(await erase(store, { settledBefore: 30 }), 1)
      assert.deepEqual(await told(store), [`t s u ${r.longAgo}`, 't s  30'])
      await tell(store, loose(31), loose(32, { session: '' }))
      assert.deepEqual(
        (await store.events(all)).map(({ seq }) => seq),
        [2, 3, 4, 2],
      )
    },
  },
  {
    topic: 'retention',
    name: 'thousands of events that tell of no call are erased page by page, and an erasure that finds none has no number',
    promise: ['DUR-10', 'FEED-1'],
    async run(open) {
      const { store } = await open(manualClock())
      const many = Array.from({ length: 2_500 }, (_, n) => loose(n, { session: n % 2 === 0 ? 's' : 's2' }))
      await tell(store, ...many)
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
