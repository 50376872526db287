// Store cases for leases: how long a worker counts as alive, and by which clock.

import assert from 'node:assert/strict'
import { manualClock } from '../manual-clock.ts'
import type { StoreCase } from './store-case.ts'
import * as r from './record-builders.ts'

/** A lease that outlasts every case, in milliseconds. */
const long = 600_000
const uids = (calls: readonly { uid: string }[]): string[] => calls.map((call) => call.uid)

export const leaseCases: readonly StoreCase[] = [
  {
    topic: 'lease',
    name: "leave() makes only this worker's calls claimable at once",
    promise: ['DUR-13'],
    async run(open) {
      const { store } = await open(manualClock())
      for (const worker of ['a', 'b', 'c']) await store.renew(worker, long)
      await r.insert(
        store,
        r.callRecord('of a', { owner: 'a', state: 'running' }),
        r.callRecord('of b', { owner: 'b', state: 'running' }),
      )
      await store.leave('nobody')
      assert.deepEqual(await store.claim('c', r.tools, 10), [])
      await store.leave('a')
      assert.deepEqual(uids(await store.claim('c', r.tools, 10)), ['of a'])
      await store.renew('a', long)
      assert.deepEqual(await store.claim('a', r.tools, 10), [])
    },
  },
  {
    topic: 'lease',
    name: 'leases and leave() apply across handles',
    promise: ['DUR-7', 'DUR-13'],
    needs: 'second handle',
    async run(open) {
      const { store, again } = await open(manualClock())
      const other = await again()
      await store.renew('a', long)
      await other.renew('b', long)
      await r.insert(store, r.callRecord('c1', { owner: 'a', state: 'running' }))
      assert.deepEqual(await other.claim('b', r.tools, 10), [])
      await store.leave('a')
      assert.deepEqual(uids(await other.claim('b', r.tools, 10)), ['c1'])
      assert.deepEqual(await store.claim('c', r.tools, 10), [])
    },
  },
  {
    topic: 'lease',
    name: 'a lease that is not renewed expires',
    promise: ['DUR-7'],
    async run(open) {
      const clock = manualClock()
      const { store } = await open(clock)
      await store.renew('silent', 300)
      await store.renew('alive', long)
      await r.insert(
        store,
        r.callRecord('of silent', { owner: 'silent', state: 'running' }),
        r.callRecord('of alive', { owner: 'alive' }),
      )
      const claimed = await r.eventually(clock, 'the end of a lease', async () => {
        const got = await store.claim('next', r.tools, 10)
        return got.length > 0 && got
      })
      assert.deepEqual(uids(claimed), ['of silent'])
    },
  },
  {
    topic: 'lease',
    name: 'a lease counts from its last renewal, to the millisecond of the given clock',
    promise: ['DUR-7'],
    needs: 'given clock',
    async run(open) {
      const clock = manualClock()
      const { store } = await open(clock)
      await r.insert(store, r.callRecord('c1', { owner: 'a', state: 'running' }))
      await store.renew('b', long)
      await store.renew('a', 1_000)
      await clock.advance(999)
      assert.deepEqual(await store.claim('b', r.tools, 10), [])
      await store.renew('a', 1_000)
      await clock.advance(999)
      assert.deepEqual(await store.claim('b', r.tools, 10), [])
      await clock.advance(1)
      assert.deepEqual(uids(await store.claim('b', r.tools, 10)), ['c1'])
    },
  },
  {
    topic: 'lease',
    name: 'changes of the wall clock neither end nor extend a lease',
    promise: ['DUR-7'],
    needs: 'given clock',
    async run(open) {
      const clock = manualClock()
      let shift = 0
      const { store } = await open({ ...clock, now: () => clock.now() + shift })
      await r.insert(store, r.callRecord('c1', { owner: 'a', state: 'running' }))
      await store.renew('a', 1_000)
      shift = 86_400_000
      assert.deepEqual(await store.claim('b', r.tools, 10), [])
      shift = -86_400_000
      await clock.advance(1_000)
      assert.deepEqual(uids(await store.claim('b', r.tools, 10)), ['c1'])
    },
  },
]
