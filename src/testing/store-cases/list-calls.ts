// Store cases for callsOf(): the calls of a session in pages.

import assert from 'node:assert/strict'
import { manualClock } from '../manual-clock.ts'
import type { StoreCase } from './store-case.ts'
import * as r from './record-builders.ts'

const mine = { tenant: 't', session: 's' }
const uids = (calls: readonly { uid: string }[]): string[] => calls.map(({ uid }) => uid)

export const listCases: readonly StoreCase[] = [
  {
    topic: 'list',
    name: 'the calls of a session are listed in uid order, whatever their batch and state',
    async run(open) {
      const { store } = await open(manualClock())
      const [b, a, d, c] = ['b', 'a', 'd', 'c'].map((uid, n) =>
        r.callRecord(uid, { position: r.callPosition({ id: uid, batch: `batch ${9 - n}` }), createdAt: r.longAgo + n }),
      ) as [r.Call, r.Call, r.Call, r.Call]
      await r.insert(store, b, a, d, c)
      r.assertAccepted(
        await store.commit(r.change({ updateCall: { uid: 'c', progress: r.settledProgress(c), release: true } })),
      )
      const found = await store.callsOf(mine, { after: '', limit: 10 })
      assert.deepEqual(uids(found), ['a', 'b', 'c', 'd'])
      assert.deepEqual(found[0], a)
      assert.deepEqual(found[2], { ...c, ...r.settledProgress(c) })
      assert.deepEqual(found[2], await store.call('c'))
    },
  },
  {
    topic: 'list',
    name: 'a page starts after the given uid, respects the limit, and the next continues',
    async run(open) {
      const { store } = await open(manualClock())
      await r.insert(store, ...['a', 'b', 'c', 'd', 'e'].map((uid) => r.callRecord(uid)))
      const pages: string[][] = []
      for (let after = ''; pages.length < 9;) {
        const page = uids(await store.callsOf(mine, { after, limit: 2 }))
        if (page.length === 0) break
        pages.push(page)
        after = page.at(-1) as string
      }
      assert.deepEqual(pages, [['a', 'b'], ['c', 'd'], ['e']])
      assert.deepEqual(uids(await store.callsOf(mine, { after: 'bb', limit: 9 })), ['c', 'd', 'e'])
    },
  },
  {
    topic: 'list',
    name: 'a listing contains no calls of other sessions or tenants',
    async run(open) {
      const { store } = await open(manualClock())
      const at = (uid: string, tenant: string, session: string): r.Call =>
        r.callRecord(uid, { position: r.callPosition({ id: uid, tenant, session }) })
      await r.insert(
        store,
        at('a', 't', 's'),
        at('b', 't', 'other'),
        at('c', 'other', 's'),
        at('d', 'ts', ''),
        at('e', 't', 'S'),
        at('f', 't\\0', 's'),
      )
      for (const [uid, tenant, session] of [
        ['a', 't', 's'],
        ['b', 't', 'other'],
        ['c', 'other', 's'],
        ['e', 't', 'S'],
        ['f', 't\\0', 's'],
      ] as const) {
        assert.deepEqual(uids(await store.callsOf({ tenant, session }, { after: '', limit: 9 })), [uid])
      }
      assert.deepEqual(await store.callsOf({ tenant: 't', session: 'none' }, { after: '', limit: 9 }), [])
    },
  },
  {
    topic: 'list',
    name: 'recent calls are those of the tenant in a window of all, newest first, and the next window continues',
    async run(open) {
      const { store } = await open(manualClock())
      const at = (uid: string, tenant: string): r.Call =>
        r.callRecord(uid, { position: r.callPosition({ id: uid, tenant, session: `s-${uid}` }) })
      await r.insert(store, at('b', 't'), at('d', 'other'), at('a', 't'), at('e', 't'), at('c', 't'))
      const read = async (before: string | null, scan: number, tenant?: string): Promise<unknown> => {
        const found = await store.recentCalls({ before, scan, ...(tenant === undefined ? {} : { tenant }) })
        return [uids(found.calls), found.next]
      }
      assert.deepEqual(await read(null, 3, 't'), [['e', 'c'], 'c'])
      assert.deepEqual(await read('c', 3, 't'), [['b', 'a'], null])
      assert.deepEqual(await read('c', 2, 't'), [['b', 'a'], 'a'])
      assert.deepEqual(await read('a', 2, 't'), [[], null])
      assert.deepEqual(await read(null, 9), [['e', 'd', 'c', 'b', 'a'], null])
      assert.deepEqual(await read(null, 9, 'none'), [[], null])
      const { calls } = await store.recentCalls({ before: null, scan: 1 })
      assert.deepEqual(calls[0], await store.call('e'))
    },
  },
]
