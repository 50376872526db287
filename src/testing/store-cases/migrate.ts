// Store cases for opening: the first handle creates the schema, later handles find it and do not disturb live workers.

import assert from 'node:assert/strict'
import { manualClock } from '../manual-clock.ts'
import type { StoreCase } from './store-case.ts'
import * as r from './record-builders.ts'

export const migrateCases: readonly StoreCase[] = [
  {
    topic: 'migrate',
    name: 'data is still there after all handles were closed and one is reopened',
    promise: ['DUR-9'],
    needs: 'second handle',
    async run(open) {
      const { store, again } = await open(manualClock())
      const call = r.callRecord('u', { state: 'running', owner: 'w' })
      await r.insert(store, call)
      r.assertAccepted(
        await store.commit(
          r.change({
            steps: [r.stepRecord('u', 'a')],
            events: [r.eventRecord(1)],
            insertWaits: [r.waitRecord('w', 'u')],
          }),
        ),
      )
      const { schema } = await store.inspect()
      await store.close()
      const later = await again()
      assert.deepEqual(await later.call('u'), call)
      assert.equal((await later.steps('u')).length, 1)
      assert.equal((await later.events({ after: 0, limit: 10 })).length, 1)
      assert.equal(await later.nextDeadline(), r.waitRecord('w', 'u').deadline)
      assert.equal((await later.inspect()).schema, schema)
    },
  },
  {
    topic: 'migrate',
    name: 'concurrent first opens all find a complete schema',
    promise: ['DUR-9'],
    needs: 'second handle',
    async run(open) {
      const { again } = await open(manualClock())
      const stores = await Promise.all(Array.from({ length: 5 }, () => again()))
      await Promise.all(stores.map((store, index) => store.commit(r.change({ events: [r.eventRecord(index)] }))))
      for (const store of stores) assert.equal((await store.events({ after: 0, limit: 10 })).length, stores.length)
    },
  },
  {
    topic: 'migrate',
    name: 'opening another handle does not take calls from live workers',
    promise: ['DUR-9', 'DUR-7'],
    needs: 'second handle',
    async run(open) {
      const { store, again } = await open(manualClock())
      await store.renew('w', 60_000)
      const call = r.callRecord('u', { state: 'running', owner: 'w' })
      await r.insert(store, call)
      const other = await again()
      assert.deepEqual(await other.claim('other', r.tools, 10), [])
      r.assertAccepted(
        await store.commit(
          r.change({
            guards: [r.holds(call)],
            updateCall: { uid: 'u', progress: r.settledProgress(call), release: true },
          }),
        ),
      )
    },
  },
  {
    topic: 'migrate',
    name: 'a setting keeps the value of its first writer',
    promise: ['DUR-9'],
    async run(open) {
      const { store } = await open(manualClock())
      assert.equal(await store.setting('k', 'first \0 \\'), 'first \0 \\')
      assert.equal(await store.setting('k', 'second'), 'first \0 \\')
      assert.equal(await store.setting('other', 'second'), 'second')
    },
  },
]
