// Store cases for waits: answers, and the calls parked on them.

import assert from 'node:assert/strict'
import { manualClock } from '../manual-clock.ts'
import type { CallRecord } from '../../store/records/call-record.ts'
import type { Store } from '../../store/store.ts'
import type { StoreCase } from './store-case.ts'
import * as r from './record-builders.ts'

const running = (uid: string): CallRecord =>
  r.callRecord(uid, { owner: 'w', state: 'running', attempt: 1, startedAt: 5 })

/** Parks calls on one handle while another answers their waits. No call may stay parked on an answered wait. */
async function raceToPark(parker: Store, answerer: Store): Promise<void> {
  const calls = Array.from({ length: 40 }, (_, index) => running(`c${index}`))
  await r.insert(parker, ...calls)
  await r.insertWaits(parker, ...calls.map((call) => r.waitRecord(`wait of ${call.uid}`, call.uid)))
  const answers = await Promise.all(
    calls.map(async (call, index) => {
      const park = () => parker.commit(r.parkCall(call, `wait of ${call.uid}`))
      const answer = () => answerer.commit(r.answerWait(`wait of ${call.uid}`))
      const [first, second] = index % 2 ? [park(), answer()] : [answer(), park()]
      return index % 2
        ? { parked: await first, answered: await second }
        : { parked: await second, answered: await first }
    }),
  )
  for (const [index, call] of calls.entries()) {
    const { parked, answered } = answers[index] as (typeof answers)[number]
    r.assertAccepted(answered)
    const record = await parker.call(call.uid)
    if (parked.ok) assert.deepEqual(record, { ...call, state: 'queued', wait: `wait of ${call.uid}`, owner: null })
    else assert.deepEqual(record, call)
  }
}

export const waitCases: readonly StoreCase[] = [
  {
    topic: 'wait',
    name: 'an answer queues only the call that is parked on the wait',
    promise: ['WAIT-1', 'WAIT-2'],
    async run(open) {
      const { store } = await open(manualClock())
      const names = ['answered', 'elsewhere', 'busy', 'done']
      const [answered, elsewhere, busy, done] = names.map(running) as [CallRecord, CallRecord, CallRecord, CallRecord]
      await r.insert(store, answered, elsewhere, busy, done)
      await r.insertWaits(
        store,
        r.waitRecord('w', answered.uid),
        r.waitRecord('second', answered.uid),
        ...[elsewhere, busy, done].map((call) => r.waitRecord(`wait of ${call.uid}`, call.uid)),
      )
      r.assertAccepted(await store.commit(r.parkCall(answered, 'w')))
      r.assertAccepted(await store.commit(r.parkCall(elsewhere, 'wait of elsewhere')))
      r.assertAccepted(
        await store.commit(
          r.change({ updateCall: { uid: done.uid, progress: r.settledProgress(done), release: true } }),
        ),
      )
      // Answer a second wait of the call while it is parked on the first.
      r.assertAccepted(await store.commit(r.answerWait('second')))
      assert.equal((await store.call(answered.uid))?.state, 'parked')
      r.assertAccepted(await store.commit(r.answerWait('w', '{"value":"yes"}')))
      assert.deepEqual(await store.call(answered.uid), { ...answered, state: 'queued', wait: 'w', owner: null })
      r.assertAccepted(await store.commit(r.answerWait('wait of busy')))
      r.assertAccepted(await store.commit(r.answerWait('wait of done')))
      assert.deepEqual(await store.call(busy.uid), busy)
      assert.equal((await store.call(done.uid))?.state, 'settled')
      assert.equal((await store.call(elsewhere.uid))?.state, 'parked')
      assert.deepEqual((await store.claim('next', r.tools, 10)).map((call) => call.uid).toSorted(), [
        'answered',
        'busy',
      ])
    },
  },
  {
    topic: 'wait',
    name: 'a call cannot park on an answered wait, nor after it lost its lease',
    promise: ['WAIT-2', 'DUR-7'],
    async run(open) {
      const { store } = await open(manualClock())
      const early = running('early')
      const lost = running('lost')
      await r.insert(store, early, lost)
      await r.insertWaits(store, r.waitRecord('w1', early.uid), r.waitRecord('w2', lost.uid))
      r.assertAccepted(await store.commit(r.answerWait('w1')))
      r.assertRefused(await store.commit(r.parkCall(early, 'w1')), r.open('w1'))
      assert.deepEqual(await store.call(early.uid), early)
      const [claimed] = (await store.claim('next', r.tools, 10)).filter((call) => call.uid === lost.uid)
      r.assertRefused(await store.commit(r.parkCall(lost, 'w2')), r.holds(lost))
      assert.deepEqual(await store.call(lost.uid), claimed)
    },
  },
  {
    topic: 'wait',
    name: 'in one tick: no call stays parked on an answered wait',
    promise: ['WAIT-2'],
    async run(open) {
      const { store } = await open(manualClock())
      await raceToPark(store, store)
    },
  },
  {
    topic: 'wait',
    name: 'on two handles: no call stays parked on an answered wait',
    promise: ['WAIT-2'],
    needs: 'second handle',
    async run(open) {
      const { store, again } = await open(manualClock())
      await raceToPark(store, await again())
    },
  },
  {
    topic: 'wait',
    name: 'a wait is found by id, key and call, with all its fields and its answer',
    promise: ['WAIT-3'],
    async run(open) {
      const { store } = await open(manualClock())
      const waits = [
        r.waitRecord('w1', 'c1', { deadline: 8_640_000_000_000_000 }),
        r.waitRecord('w2', 'c1'),
        r.waitRecord('w3', 'c2'),
      ]
      await r.insertWaits(store, ...waits)
      r.assertAccepted(await store.commit(r.answerWait('w2', '{"value":null}')))
      const now = waits.map((wait) => (wait.id === 'w2' ? { ...wait, resolution: '{"value":null}' } : wait))
      for (const wait of now) {
        assert.deepEqual(r.plain(await store.wait(wait.id)), wait)
        assert.deepEqual(r.plain(await store.waitByKeyHash(wait.keyHash)), wait)
      }
      assert.deepEqual(
        r.sortedBy(await store.waitsOf('c1'), (wait) => wait.id),
        now.slice(0, 2),
      )
      assert.equal(await store.wait('key of w1'), undefined)
      assert.equal(await store.waitByKeyHash('w1'), undefined)
      assert.deepEqual(await store.waitsOf('c3'), [])
    },
  },
]
