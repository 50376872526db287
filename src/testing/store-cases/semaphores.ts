// TESTING: places that calls hold across workers (Take in store.ts): room for so many, in turn, all or none.

import assert from 'node:assert/strict'
import { manualClock } from '../manual-clock.ts'
import type { Change, Committed, Store, Take, TakenPlace } from '../../store/store.ts'
import type { StoreCase } from './store-case.ts'
import * as r from './record-builders.ts'

/** Longer than any case runs in real time. */
const long = 600_000

const take = (holder: string, ...places: (string | TakenPlace)[]): Change =>
  r.change({
    take: {
      holder,
      worker: 'w',
      places: places.map((each) => (typeof each === 'string' ? { name: each, capacity: 1 } : each)),
    },
  })
const line = (holder: string, name: string, worker = 'w'): Change => r.change({ line: { holder, worker, name } })
const give = (holder: string, ...names: string[]): Change =>
  r.change({ give: names.length > 0 ? { holder, names } : { holder } })
const noRoom = (answer: Committed, name: string): void => r.refused(answer, { kind: 'room', name })
const rate = (entry: string, ms: number, capacity = 1): TakenPlace => ({ name: 'rate', capacity, lasts: { ms, entry } })
const holders = async (store: Store, name: string): Promise<string[]> =>
  (await store.holds())
    .filter((each) => each.name === name && each.ticket === null)
    .map((each) => each.holder)
    .toSorted()

export const placeCases: readonly StoreCase[] = [
  {
    topic: 'place',
    name: 'there are as many as there is room for; one that is given back can be had again',
    promise: ['SCHED-2', 'SCHED-3'],
    async run(open) {
      const { store } = await open(manualClock())
      const two = { name: 'k', capacity: 2 }
      r.accepted(await store.commit(take('a', two)))
      r.accepted(await store.commit(take('b', two)))
      noRoom(await store.commit(take('c', two)), 'k')
      r.accepted(await store.commit(give('a')))
      r.accepted(await store.commit(take('c', two)))
      assert.deepEqual(await holders(store, 'k'), ['b', 'c'])
    },
  },
  {
    topic: 'place',
    name: 'all of them or none, and with them the change',
    promise: ['SCHED-2'],
    async run(open) {
      const { store } = await open(manualClock())
      const call = r.callRecord('c')
      await r.insert(store, call)
      r.accepted(await store.commit(take('a', 'k')))
      const begun = { ...take('b', 'free', 'k', 'also free'), guards: [r.holds(call)], events: [r.eventRecord(1)] }
      const updateCall = { uid: 'c', progress: r.progressOf(call, { state: 'running' }) }
      noRoom(await store.commit({ ...begun, updateCall, steps: [r.stepRecord('c', 'k')] }), 'k')
      assert.deepEqual(await holders(store, 'free'), [])
      assert.equal((await store.call('c'))?.state, 'received')
      assert.deepEqual(await store.steps('c'), [])
      assert.deepEqual(await store.events({ after: 0, limit: 10 }), [])
      // And none when another guard says no.
      const stale = { ...take('b', 'free'), guards: [r.holds(call, 9)] }
      r.refused(await store.commit(stale), r.holds(call, 9))
      assert.deepEqual(await holders(store, 'free'), [])
      r.accepted(await store.commit({ ...take('b', 'free', 'also free'), guards: [r.holds(call)], updateCall }))
      assert.equal((await store.call('c'))?.state, 'running')
    },
  },
  {
    topic: 'place',
    name: 'what a holder has is not counted against it, and is given back by name',
    promise: ['SCHED-4'],
    async run(open) {
      const { store } = await open(manualClock())
      r.accepted(await store.commit(take('a', 'k', 'l')))
      r.accepted(await store.commit(take('a', 'k', 'm')))
      // Nor what the calls above it have: they lend it.
      const nested = take('below', 'k')
      noRoom(await store.commit(nested), 'k')
      r.accepted(await store.commit({ ...nested, take: { ...(nested.take as Take), above: ['x', 'a'] } }))
      r.accepted(await store.commit(give('below')))
      r.accepted(await store.commit(give('a', 'k', 'unheard of')))
      assert.deepEqual(
        (await store.holds()).map(({ name, holder }) => [name, holder]),
        [
          ['l', 'a'],
          ['m', 'a'],
        ],
      )
      r.accepted(await store.commit(give('a')))
      assert.deepEqual(await store.holds(), [])
    },
  },
  {
    topic: 'place',
    name: 'who stands in line goes before who comes later, and a newcomer behind all of them',
    promise: ['SCHED-3'],
    async run(open) {
      const { store } = await open(manualClock())
      await store.renew('w', long)
      r.accepted(await store.commit(take('a', 'k')))
      for (const each of ['b', 'c', 'b']) r.accepted(await store.commit(line(each, 'k')))
      r.accepted(await store.commit(give('a')))
      noRoom(await store.commit(take('new', 'k')), 'k')
      noRoom(await store.commit(take('c', 'k')), 'k')
      assert.deepEqual(
        await store.full(
          ['new', 'c', 'b'].map((holder) => ({ holder, worker: 'w', places: [{ name: 'k', capacity: 1 }] })),
        ),
        [true, true, false],
      )
      r.accepted(await store.commit(take('b', 'k')))
      noRoom(await store.commit(take('c', 'k')), 'k')
      r.accepted(await store.commit(give('b')))
      r.accepted(await store.commit(take('c', 'k')))
      r.accepted(await store.commit(give('c')))
      assert.deepEqual(await store.holds(), [])
    },
  },
  {
    topic: 'place',
    name: 'those in line are not before one who has a place there, nor before what runs under it',
    promise: ['SCHED-2', 'SCHED-4'],
    async run(open) {
      const { store } = await open(manualClock())
      await store.renew('w', long)
      r.accepted(await store.commit(take('a', 'k')))
      r.accepted(await store.commit(line('b', 'k')))
      r.accepted(await store.commit(take('a', 'k')))
      const nested = take('below', 'k')
      r.accepted(await store.commit({ ...nested, take: { ...(nested.take as Take), above: ['a'] } }))
      noRoom(await store.commit(take('c', 'k')), 'k')
      r.accepted(await store.commit(give('a')))
      noRoom(await store.commit(take('b', 'k')), 'k')
      // Its place is another's now: it waits behind those who waited before.
      noRoom(await store.commit(take('a', 'k')), 'k')
      r.accepted(await store.commit(give('below')))
      noRoom(await store.commit(take('a', 'k')), 'k')
      r.accepted(await store.commit(take('b', 'k')))
    },
  },
  {
    topic: 'place',
    name: 'who gets what it wanted stands in no line any more, nor who gives up',
    promise: ['SCHED-3'],
    async run(open) {
      const { store } = await open(manualClock())
      await store.renew('w', long)
      r.accepted(await store.commit(line('a', 'k')))
      r.accepted(await store.commit(line('b', 'k')))
      r.accepted(await store.commit(take('a', 'other')))
      r.accepted(await store.commit(take('b', 'k')))
      r.accepted(await store.commit(give('b')))
      r.accepted(await store.commit(line('c', 'k')))
      r.accepted(await store.commit(give('c')))
      r.accepted(await store.commit(take('d', 'k')))
    },
  },
  {
    topic: 'place',
    name: 'a place outlives its worker; a turn in line does not',
    promise: ['SCHED-2', 'DUR-7'],
    async run(open) {
      const { store } = await open(manualClock())
      await store.renew('w', long)
      await store.renew('x', long)
      r.accepted(await store.commit(take('a', 'k')))
      r.accepted(await store.commit(line('b', 'k', 'x')))
      await store.leave('w')
      await store.leave('x')
      noRoom(await store.commit(take('c', 'k')), 'k')
      r.accepted(await store.commit(give('a')))
      r.accepted(await store.commit(take('c', 'k')))
    },
  },
  {
    topic: 'place',
    name: 'one that lasts is free by itself when its time has passed, and not before',
    promise: ['SCHED-3'],
    needs: 'given clock',
    async run(open) {
      const clock = manualClock()
      const { store } = await open(clock)
      r.accepted(await store.commit(take('a', rate('a 1', 1_000, 2))))
      await clock.advance(500)
      r.accepted(await store.commit(take('a', rate('a 2', 1_000, 2))))
      r.accepted(await store.commit(give('a')))
      noRoom(await store.commit(take('b', rate('b 1', 1_000, 2))), 'rate')
      await clock.advance(499)
      noRoom(await store.commit(take('b', rate('b 1', 1_000, 2))), 'rate')
      await clock.advance(1)
      r.accepted(await store.commit(take('b', rate('b 1', 1_000, 2))))
      noRoom(await store.commit(take('c', rate('c 1', 1_000, 2))), 'rate')
    },
  },
  {
    topic: 'place',
    name: 'in one group each change sees what those before it took and gave',
    promise: ['SCHED-2'],
    async run(open) {
      const { store } = await open(manualClock())
      const answers = await Promise.all(
        [take('a', 'k'), take('b', 'k'), give('a'), take('c', 'k'), take('d', 'k'), take('d', 'l')].map((each) =>
          store.commit(each),
        ),
      )
      for (const at of [0, 2, 3, 5]) r.accepted(answers[at] as Committed)
      for (const at of [1, 4]) noRoom(answers[at] as Committed, 'k')
      assert.deepEqual(await holders(store, 'k'), ['c'])
    },
  },
  {
    topic: 'place',
    name: 'another handle sees them at once, and of two that come together one is in',
    promise: ['SCHED-2'],
    needs: 'second handle',
    async run(open) {
      const { store, again } = await open(manualClock())
      const other = await again()
      for (let round = 0; round < 10; round++) {
        const [one, two] = await Promise.all([
          store.commit(take('a', `k${round}`)),
          other.commit(take('b', `k${round}`)),
        ])
        assert.equal(Number(one.ok) + Number(two.ok), 1)
      }
    },
  },
  {
    topic: 'place',
    name: 'any name will do',
    promise: ['DUR-11'],
    async run(open) {
      const { store } = await open(manualClock())
      const names = ['', 'a\u0000b', 'a\\0b', 'ключ', '🗝', "'", 'x'.repeat(10_000)]
      r.accepted(await store.commit(take('h\u0000', ...names)))
      for (const name of names) noRoom(await store.commit(take('other', name)), name)
      assert.deepEqual((await store.holds()).map((each) => each.name).toSorted(), names.toSorted())
      assert.ok((await store.holds()).every((each) => each.holder === 'h\u0000'))
    },
  },
  {
    topic: 'place',
    name: 'a renewal tells how many workers live',
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
