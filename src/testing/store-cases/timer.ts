// Store cases for timers: which waits are due, and when the next one is.

import assert from 'node:assert/strict'
import { manualClock } from '../manual-clock.ts'
import type { StoreCase } from './store-case.ts'
import * as r from './record-builders.ts'

export const timerCases: readonly StoreCase[] = [
  {
    topic: 'timer',
    name: 'dueWaits returns open waits up to now, soonest first, up to the limit',
    promise: ['TIME-2', 'WAIT-2'],
    async run(open) {
      const { store } = await open(manualClock())
      const at = { late: 500, now: 300, first: 100, answered: 200, second: 250 }
      await r.insertWaits(store, ...Object.entries(at).map(([id, deadline]) => r.waitRecord(id, 'c1', { deadline })))
      r.assertAccepted(await store.commit(r.answerWait('answered')))
      const due = async (now: number, limit: number): Promise<string[]> =>
        (await store.dueWaits(now, limit)).map((wait) => wait.id)
      assert.deepEqual(await due(99, 10), [])
      assert.deepEqual(await due(300, 10), ['first', 'second', 'now'])
      assert.deepEqual(await due(299, 10), ['first', 'second'])
      assert.deepEqual(await due(1_000, 2), ['first', 'second'])
      assert.deepEqual(r.plain((await store.dueWaits(100, 1))[0]), r.waitRecord('first', 'c1', { deadline: 100 }))
    },
  },
  {
    topic: 'timer',
    name: 'nextDeadline is the earliest of all open waits, or undefined',
    promise: ['TIME-2'],
    async run(open) {
      const { store } = await open(manualClock())
      assert.equal(await store.nextDeadline(), undefined)
      await r.insertWaits(
        store,
        r.waitRecord('w1', 'c1', { deadline: 2_000 }),
        r.waitRecord('w2', 'c2', { deadline: 9_000_000_000_000 }),
      )
      assert.equal(await store.nextDeadline(), 2_000)
      r.assertAccepted(await store.commit(r.answerWait('w1')))
      assert.equal(await store.nextDeadline(), 9_000_000_000_000)
      await r.insertWaits(store, r.waitRecord('w3', 'c1', { deadline: 3_000 }))
      assert.equal(await store.nextDeadline(), 3_000)
      r.assertAccepted(await store.commit(r.answerWait('w3')))
      r.assertAccepted(await store.commit(r.answerWait('w2')))
      assert.equal(await store.nextDeadline(), undefined)
    },
  },
]
