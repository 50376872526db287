// Store cases for semaphores (TakeSlots in store.ts): capacity across workers, queue order, all slots or none.

import assert from 'node:assert/strict'
import { manualClock } from '../manual-clock.ts'
import type { Change, Committed, Store, TakeSlots, TakenSlot } from '../../store/store.ts'
import type { StoreCase } from './store-case.ts'
import * as r from './record-builders.ts'

/** A lease that outlasts every case, in milliseconds. */
const long = 600_000

const takeSlots = (holder: string, ...slots: (string | TakenSlot)[]): Change =>
  r.change({
    takeSlots: {
      holder,
      worker: 'w',
      slots: slots.map((each) => (typeof each === 'string' ? { name: each, capacity: 1 } : each)),
    },
  })
const queueForSlot = (holder: string, name: string, worker = 'w'): Change =>
  r.change({ queueForSlot: { holder, worker, name } })
const releaseSlots = (holder: string, ...names: string[]): Change =>
  r.change({ releaseSlots: names.length > 0 ? { holder, names } : { holder } })
const assertFull = (answer: Committed, name: string): void => r.assertRefused(answer, { kind: 'room', name })
const rate = (entry: string, ms: number, capacity = 1): TakenSlot => ({ name: 'rate', capacity, lasts: { ms, entry } })
const holders = async (store: Store, name: string): Promise<string[]> =>
  (await store.holds())
    .filter((each) => each.name === name && each.ticket === null)
    .map((each) => each.holder)
    .toSorted()

export const semaphoreCases: readonly StoreCase[] = [
  {
    topic: 'semaphore',
    name: 'a semaphore admits holders up to its capacity; a released slot is reusable',
    promise: ['SCHED-2', 'SCHED-3'],
    async run(open) {
      const { store } = await open(manualClock())
      const two = { name: 'k', capacity: 2 }
      r.assertAccepted(await store.commit(takeSlots('a', two)))
      r.assertAccepted(await store.commit(takeSlots('b', two)))
      assertFull(await store.commit(takeSlots('c', two)), 'k')
      r.assertAccepted(await store.commit(releaseSlots('a')))
      r.assertAccepted(await store.commit(takeSlots('c', two)))
      assert.deepEqual(await holders(store, 'k'), ['b', 'c'])
    },
  },
  {
    topic: 'semaphore',
    name: 'either all slots are taken with the change or none',
    promise: ['SCHED-2'],
    async run(open) {
      const { store } = await open(manualClock())
      const call = r.callRecord('c')
      await r.insert(store, call)
      r.assertAccepted(await store.commit(takeSlots('a', 'k')))
      const start = { ...takeSlots('b', 'free', 'k', 'also free'), guards: [r.holds(call)], events: [r.eventRecord(1)] }
      const updateCall = { uid: 'c', progress: r.progressOf(call, { state: 'running' }) }
      assertFull(await store.commit({ ...start, updateCall, steps: [r.stepRecord('c', 'k')] }), 'k')
      assert.deepEqual(await holders(store, 'free'), [])
      assert.equal((await store.call('c'))?.state, 'received')
      assert.deepEqual(await store.steps('c'), [])
      assert.deepEqual(await store.events({ after: 0, limit: 10 }), [])
      // No slot is taken either if another guard rejects the change.
      const stale = { ...takeSlots('b', 'free'), guards: [r.holds(call, 9)] }
      r.assertRefused(await store.commit(stale), r.holds(call, 9))
      assert.deepEqual(await holders(store, 'free'), [])
      r.assertAccepted(
        await store.commit({ ...takeSlots('b', 'free', 'also free'), guards: [r.holds(call)], updateCall }),
      )
      assert.equal((await store.call('c'))?.state, 'running')
    },
  },
  {
    topic: 'semaphore',
    name: "a holder's own slots do not count against it and are released by name",
    promise: ['SCHED-4'],
    async run(open) {
      const { store } = await open(manualClock())
      r.assertAccepted(await store.commit(takeSlots('a', 'k', 'l')))
      r.assertAccepted(await store.commit(takeSlots('a', 'k', 'm')))
      // Slots of parent calls do not count either: a nested call borrows them.
      const nested = takeSlots('below', 'k')
      assertFull(await store.commit(nested), 'k')
      r.assertAccepted(
        await store.commit({ ...nested, takeSlots: { ...(nested.takeSlots as TakeSlots), above: ['x', 'a'] } }),
      )
      r.assertAccepted(await store.commit(releaseSlots('below')))
      r.assertAccepted(await store.commit(releaseSlots('a', 'k', 'unheard of')))
      assert.deepEqual(
        (await store.holds()).map(({ name, holder }) => [name, holder]),
        [
          ['l', 'a'],
          ['m', 'a'],
        ],
      )
      r.assertAccepted(await store.commit(releaseSlots('a')))
      assert.deepEqual(await store.holds(), [])
    },
  },
  {
    topic: 'semaphore',
    name: 'queued holders are admitted in order, before newcomers',
    promise: ['SCHED-3'],
    async run(open) {
      const { store } = await open(manualClock())
      await store.renew('w', long)
      r.assertAccepted(await store.commit(takeSlots('a', 'k')))
      for (const each of ['b', 'c', 'b']) r.assertAccepted(await store.commit(queueForSlot(each, 'k')))
      r.assertAccepted(await store.commit(releaseSlots('a')))
      assertFull(await store.commit(takeSlots('new', 'k')), 'k')
      assertFull(await store.commit(takeSlots('c', 'k')), 'k')
      assert.deepEqual(
        await store.full(
          ['new', 'c', 'b'].map((holder) => ({ holder, worker: 'w', slots: [{ name: 'k', capacity: 1 }] })),
        ),
        [true, true, false],
      )
      r.assertAccepted(await store.commit(takeSlots('b', 'k')))
      assertFull(await store.commit(takeSlots('c', 'k')), 'k')
      r.assertAccepted(await store.commit(releaseSlots('b')))
      r.assertAccepted(await store.commit(takeSlots('c', 'k')))
      r.assertAccepted(await store.commit(releaseSlots('c')))
      assert.deepEqual(await store.holds(), [])
    },
  },
  {
    topic: 'semaphore',
    name: 'queued holders do not block a current holder or its nested calls',
    promise: ['SCHED-2', 'SCHED-4'],
    async run(open) {
      const { store } = await open(manualClock())
      await store.renew('w', long)
      r.assertAccepted(await store.commit(takeSlots('a', 'k')))
      r.assertAccepted(await store.commit(queueForSlot('b', 'k')))
      r.assertAccepted(await store.commit(takeSlots('a', 'k')))
      const nested = takeSlots('below', 'k')
      r.assertAccepted(
        await store.commit({ ...nested, takeSlots: { ...(nested.takeSlots as TakeSlots), above: ['a'] } }),
      )
      assertFull(await store.commit(takeSlots('c', 'k')), 'k')
      r.assertAccepted(await store.commit(releaseSlots('a')))
      assertFull(await store.commit(takeSlots('b', 'k')), 'k')
      // 'a' released its slot, so it waits behind the queued holder.
      assertFull(await store.commit(takeSlots('a', 'k')), 'k')
      r.assertAccepted(await store.commit(releaseSlots('below')))
      assertFull(await store.commit(takeSlots('a', 'k')), 'k')
      r.assertAccepted(await store.commit(takeSlots('b', 'k')))
    },
  },
  {
    topic: 'semaphore',
    name: 'a holder leaves the queue when it gets its slots or releases',
    promise: ['SCHED-3'],
    async run(open) {
      const { store } = await open(manualClock())
      await store.renew('w', long)
      r.assertAccepted(await store.commit(queueForSlot('a', 'k')))
      r.assertAccepted(await store.commit(queueForSlot('b', 'k')))
      r.assertAccepted(await store.commit(takeSlots('a', 'other')))
      r.assertAccepted(await store.commit(takeSlots('b', 'k')))
      r.assertAccepted(await store.commit(releaseSlots('b')))
      r.assertAccepted(await store.commit(queueForSlot('c', 'k')))
      r.assertAccepted(await store.commit(releaseSlots('c')))
      r.assertAccepted(await store.commit(takeSlots('d', 'k')))
    },
  },
  {
    topic: 'semaphore',
    name: 'a slot outlives its worker; a queue ticket does not',
    promise: ['SCHED-2', 'DUR-7'],
    async run(open) {
      const { store } = await open(manualClock())
      await store.renew('w', long)
      await store.renew('x', long)
      r.assertAccepted(await store.commit(takeSlots('a', 'k')))
      r.assertAccepted(await store.commit(queueForSlot('b', 'k', 'x')))
      await store.leave('w')
      await store.leave('x')
      assertFull(await store.commit(takeSlots('c', 'k')), 'k')
      r.assertAccepted(await store.commit(releaseSlots('a')))
      r.assertAccepted(await store.commit(takeSlots('c', 'k')))
    },
  },
  {
    topic: 'semaphore',
    name: 'a slot with a duration expires by itself, and not earlier',
    promise: ['SCHED-3'],
    needs: 'given clock',
    async run(open) {
      const clock = manualClock()
      const { store } = await open(clock)
      r.assertAccepted(await store.commit(takeSlots('a', rate('a 1', 1_000, 2))))
      await clock.advance(500)
      r.assertAccepted(await store.commit(takeSlots('a', rate('a 2', 1_000, 2))))
      r.assertAccepted(await store.commit(releaseSlots('a')))
      assertFull(await store.commit(takeSlots('b', rate('b 1', 1_000, 2))), 'rate')
      await clock.advance(499)
      assertFull(await store.commit(takeSlots('b', rate('b 1', 1_000, 2))), 'rate')
      await clock.advance(1)
      r.assertAccepted(await store.commit(takeSlots('b', rate('b 1', 1_000, 2))))
      assertFull(await store.commit(takeSlots('c', rate('c 1', 1_000, 2))), 'rate')
    },
  },
  {
    topic: 'semaphore',
    name: 'in one group each change sees the slots taken and released before it',
    promise: ['SCHED-2'],
    async run(open) {
      const { store } = await open(manualClock())
      const answers = await Promise.all(
        [
          takeSlots('a', 'k'),
          takeSlots('b', 'k'),
          releaseSlots('a'),
          takeSlots('c', 'k'),
          takeSlots('d', 'k'),
          takeSlots('d', 'l'),
        ].map((each) => store.commit(each)),
      )
      for (const at of [0, 2, 3, 5]) r.assertAccepted(answers[at] as Committed)
      for (const at of [1, 4]) assertFull(answers[at] as Committed, 'k')
      assert.deepEqual(await holders(store, 'k'), ['c'])
    },
  },
  {
    topic: 'semaphore',
    name: 'another handle sees slots at once, and one of two concurrent takers wins',
    promise: ['SCHED-2'],
    needs: 'second handle',
    async run(open) {
      const { store, again } = await open(manualClock())
      const other = await again()
      for (let round = 0; round < 10; round++) {
        const [one, two] = await Promise.all([
          store.commit(takeSlots('a', `k${round}`)),
          other.commit(takeSlots('b', `k${round}`)),
        ])
        assert.equal(Number(one.ok) + Number(two.ok), 1)
      }
    },
  },
  {
    topic: 'semaphore',
    name: 'slot names may contain any characters',
    promise: ['DUR-11'],
    async run(open) {
      const { store } = await open(manualClock())
      const names = ['', 'a\u0000b', 'a\\0b', 'ключ', '🗝', "'", 'x'.repeat(10_000)]
      r.assertAccepted(await store.commit(takeSlots('h\u0000', ...names)))
      for (const name of names) assertFull(await store.commit(takeSlots('other', name)), name)
      assert.deepEqual((await store.holds()).map((each) => each.name).toSorted(), names.toSorted())
      assert.ok((await store.holds()).every((each) => each.holder === 'h\u0000'))
    },
  },
  {
    topic: 'semaphore',
    name: 'renew() returns the number of live workers',
    promise: ['SCHED-3'],
    async run(open) {
      const { store } = await open(manualClock())
      assert.equal(await store.renew('w', long), 1)
      assert.equal(await store.renew('x', long), 2)
      assert.equal(await store.renew('w', long), 2)
      await store.leave('x')
      assert.equal(await store.renew('w', long), 1)
    },
  },
]
