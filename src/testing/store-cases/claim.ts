// Store cases for claim(): which calls a worker gets, in which order, and that no call is claimed twice.

import assert from 'node:assert/strict'
import { manualClock } from '../manual-clock.ts'
import type { CallState } from '../../store/records/call-record.ts'
import type { Store } from '../../store/store.ts'
import type { StoreCase } from './store-case.ts'
import * as r from './record-builders.ts'

/** A lease that outlasts every case, in milliseconds. */
const long = 600_000
const uids = (calls: readonly { uid: string }[]): string[] => calls.map((call) => call.uid)

/** Eight workers, spread over the handles, claim forty calls concurrently in small batches. */
async function claimConcurrently(handles: readonly Store[]): Promise<void> {
  const first = handles[0] as Store
  await r.insert(first, ...Array.from({ length: 40 }, (_, index) => r.callRecord(`c${index}`)))
  const workers = Array.from({ length: 8 }, (_, index) => ({
    id: `w${index}`,
    store: handles[index % handles.length] as Store,
  }))
  for (const { id, store } of workers) await store.renew(id, long)
  const taken = await Promise.all(
    workers.map(async ({ id, store }) => {
      const own = []
      for (let turn = 0; turn < 8; turn++) own.push(...(await store.claim(id, r.tools, 3)))
      return own
    }),
  )
  const all = taken.flat()
  assert.equal(new Set(uids(all)).size, all.length, 'a call was claimed twice')
  assert.equal(all.length, 40, 'a call was left behind')
  for (const call of all) {
    assert.equal(call.fence, 2)
    assert.deepEqual(await first.call(call.uid), call)
  }
}

export const claimCases: readonly StoreCase[] = [
  {
    topic: 'claim',
    name: 'a claim takes all calls of a batch, and no other live worker shares it',
    promise: ['SCHED-1'],
    async run(open) {
      const { store } = await open(manualClock())
      let at = r.longAgo
      const of = (uid: string, line: string | null, over: object = {}) =>
        r.callRecord(uid, { line, createdAt: at++, ...over })
      await r.insert(
        store,
        of('a1', 'A'),
        of('b1', 'B'),
        of('a2', 'A'),
        of('x', null),
        of('a3', 'A', { tool: 'unknown' }),
      )
      await store.renew('w', long)
      await store.renew('v', long)
      assert.deepEqual(uids(await store.claim('w', r.tools, 1)), ['a1', 'a2'])
      // Later calls of a batch go to the same worker, except for calls that resume after an answer.
      await r.insert(store, of('a4', 'A'), of('a5', 'A', { wait: 'w1', state: 'queued' }))
      assert.deepEqual(uids(await store.claim('v', [...r.tools, 'unknown'], 10)), ['b1', 'x', 'a5'])
      assert.deepEqual(uids(await store.claim('w', r.tools, 10)), ['a4'])
      await store.leave('w')
      assert.deepEqual(uids(await store.claim('v', [...r.tools, 'unknown'], 10)), ['a1', 'a2', 'a3', 'a4'])
    },
  },
  {
    topic: 'claim',
    name: 'two handles that claim concurrently never share a batch',
    promise: ['SCHED-1'],
    needs: 'second handle',
    async run(open) {
      const { store, again } = await open(manualClock())
      const other = await again()
      await store.renew('w', long)
      await other.renew('v', long)
      const calls = Array.from({ length: 60 }, (_, index) =>
        r.callRecord(`c${String(index).padStart(2, '0')}`, { line: `line ${index % 6}` }),
      )
      await r.insert(store, ...calls)
      const taken = await Promise.all(
        Array.from({ length: 8 }, async (_, turn) =>
          turn % 2 ? store.claim('w', r.tools, 3) : other.claim('v', r.tools, 3),
        ),
      )
      const owner = new Map<string, string | null>()
      for (const { line, owner: own } of taken.flat()) {
        assert.equal(owner.get(line ?? '') ?? own, own)
        owner.set(line ?? '', own)
      }
      assert.equal(taken.flat().length, 60)
    },
  },
  {
    topic: 'claim',
    name: 'claim takes received, queued and running calls, not parked or settled ones',
    promise: ['DUR-3'],
    async run(open) {
      const { store } = await open(manualClock())
      const states: CallState[] = ['received', 'queued', 'running', 'parked', 'settled']
      await r.insert(
        store,
        ...states.map((state, index) => r.callRecord(state, { state, createdAt: r.longAgo + index })),
      )
      await store.renew('w', long)
      assert.deepEqual(uids(await store.claim('w', r.tools, 10)), ['received', 'queued', 'running'])
    },
  },
  {
    topic: 'claim',
    name: 'claim takes only calls of the given tools',
    promise: ['CALL-7'],
    async run(open) {
      const { store } = await open(manualClock())
      await r.insert(
        store,
        ...['a', 'b', 'A', 'a,b', 'c'].map((tool, index) =>
          r.callRecord(`of ${tool}`, { tool, createdAt: r.longAgo + index }),
        ),
      )
      await store.renew('w', long)
      assert.deepEqual(await store.claim('w', [], 10), [])
      assert.deepEqual(uids(await store.claim('w', ['a', 'c', 'none'], 10)), ['of a', 'of c'])
      assert.deepEqual(uids(await store.claim('w', ['a,b'], 10)), ['of a,b'])
    },
  },
  {
    topic: 'claim',
    name: 'claim takes the oldest calls first, up to the limit',
    async run(open) {
      const { store } = await open(manualClock())
      for (let age = 0; age < 10; age++)
        await r.insert(store, r.callRecord(`uid ${9 - age}`, { createdAt: r.longAgo + age }))
      await store.renew('w', long)
      assert.deepEqual(await store.claim('w', r.tools, 0), [])
      assert.deepEqual(uids(await store.claim('w', r.tools, 3)), ['uid 9', 'uid 8', 'uid 7'])
      assert.deepEqual(uids(await store.claim('w', r.tools, 3)), ['uid 6', 'uid 5', 'uid 4'])
      assert.deepEqual(uids(await store.claim('w', r.tools, 30)), ['uid 3', 'uid 2', 'uid 1', 'uid 0'])
    },
  },
  {
    topic: 'claim',
    name: 'claim sets the owner and the next fence, and returns the call as recorded',
    promise: ['DUR-7'],
    async run(open) {
      const { store } = await open(manualClock())
      const calls = [
        r.callRecord('c1', { fence: 1, principal: 'p', args: '[]' }),
        r.callRecord('c2', { fence: 41, owner: 'dead', createdAt: r.longAgo + 1 }),
      ]
      await r.insert(store, ...calls)
      let owner = ''
      for (const round of [1, 2, 3]) {
        if (owner) await store.leave(owner)
        owner = `w${round}`
        await store.renew(owner, long)
        const claimed = await store.claim(owner, r.tools, 10)
        assert.deepEqual(
          claimed,
          calls.map((call) => ({ ...call, owner, fence: call.fence + round })),
        )
        for (const call of claimed) {
          assert.deepEqual(await store.call(call.uid), call)
          assert.deepEqual(await store.callAt(call.position), call)
        }
      }
    },
  },
  {
    topic: 'claim',
    name: 'claim skips calls owned by a live worker, including the claimer',
    promise: ['DUR-7'],
    async run(open) {
      const { store } = await open(manualClock())
      await store.renew('a', long)
      await store.renew('b', long)
      await r.insert(
        store,
        r.callRecord('of a', { owner: 'a' }),
        r.callRecord('of b', { owner: 'b', state: 'running' }),
        r.callRecord('of nobody'),
      )
      assert.deepEqual(uids(await store.claim('a', r.tools, 10)), ['of nobody'])
      assert.deepEqual(await store.claim('a', r.tools, 10), [])
      assert.deepEqual(await store.claim('b', r.tools, 10), [])
    },
  },
  {
    topic: 'claim',
    name: 'claim takes calls whose owner never had a lease',
    promise: ['DUR-7'],
    async run(open) {
      const { store } = await open(manualClock())
      await r.insert(store, r.callRecord('c1', { owner: 'unheard of' }))
      assert.deepEqual(uids(await store.claim('w', r.tools, 10)), ['c1'])
    },
  },
  {
    topic: 'claim',
    name: 'claim never returns a worker its own calls, even after its lease expired',
    promise: ['DUR-7'],
    async run(open) {
      const { store } = await open(manualClock())
      await r.insert(store, r.callRecord('c1'))
      const [first] = await store.claim('late', r.tools, 10)
      await store.renew('late', long)
      await store.leave('late')
      assert.deepEqual(await store.claim('late', r.tools, 10), [])
      assert.deepEqual(await store.call('c1'), first)
      assert.equal((await store.claim('other', r.tools, 10))[0]?.fence, 3)
    },
  },
  {
    topic: 'claim',
    name: 'eight concurrent workers claim every call exactly once',
    promise: ['DUR-7'],
    run: async (open) => claimConcurrently([(await open(manualClock())).store]),
  },
  {
    topic: 'claim',
    name: 'eight workers on two handles claim every call exactly once',
    promise: ['DUR-7'],
    needs: 'second handle',
    async run(open) {
      const { store, again } = await open(manualClock())
      await claimConcurrently([store, await again()])
    },
  },
]
