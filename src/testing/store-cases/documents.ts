// TESTING: what is kept by name beside calls: revisions, pages, erasure.

import assert from 'node:assert/strict'
import { manualClock } from '../manual-clock.ts'
import type { Change, Guard, DocumentName, Store } from '../../store/store.ts'
import type { StoreCase } from './store-case.ts'
import * as r from './record-builders.ts'

const name = (key: string, over: Partial<DocumentName> = {}): DocumentName => ({
  of: 'things',
  tenant: 't',
  session: 's',
  key,
  ...over,
})
const keeping = (...values: readonly (DocumentName & { value: string | null })[]): Change =>
  r.change({ documents: values })
const at = (kept: DocumentName, revision: number): Guard => ({ kind: 'kept', ...kept, revision })
const keysOf = async (store: Store, query: Partial<Parameters<Store['documentsOf']>[0]> = {}): Promise<string[]> =>
  (await store.documentsOf({ of: 'things', after: '', limit: 100, ...query })).map(({ key }) => key)

export const keptCases: readonly StoreCase[] = [
  {
    topic: 'kept',
    name: 'what is kept is found by its whole name, replaced with a higher revision, and gone when it is taken away',
    async run(open) {
      const { store } = await open(manualClock())
      const others = [{ of: 'others' }, { tenant: 'u' }, { session: '' }, { key: 'A' }].map((over) => name('a', over))
      for (const [n, other] of others.entries())
        r.accepted(await store.commit(keeping({ ...other, value: `"other ${n}"` })))
      assert.equal(await store.document(name('a')), undefined)
      r.accepted(await store.commit(keeping({ ...name('a'), value: '"one"' })))
      assert.deepEqual(r.plain(await store.document(name('a'))), { ...name('a'), revision: 1, value: '"one"' })
      r.accepted(await store.commit(keeping({ ...name('a'), value: '"two \\u0000 é"' })))
      assert.deepEqual(r.plain(await store.document(name('a'))), {
        ...name('a'),
        revision: 2,
        value: '"two \\u0000 é"',
      })
      r.accepted(await store.commit(keeping({ ...name('a'), value: null }, { ...name('never'), value: null })))
      assert.equal(await store.document(name('a')), undefined)
      r.accepted(await store.commit(keeping({ ...name('a'), value: '1' }, { ...name('a'), value: '2' })))
      assert.deepEqual(r.plain(await store.document(name('a'))), { ...name('a'), revision: 2, value: '2' })
      for (const [n, other] of others.entries())
        assert.deepEqual(r.plain(await store.document(other)), { ...other, revision: 1, value: `"other ${n}"` })
    },
  },
  {
    topic: 'kept',
    name: 'of many who write at once on the same revision one is accepted, in one tick and one after the other',
    promise: ['POL-2', 'POL-3'],
    async run(open) {
      const { store } = await open(manualClock())
      const raise = (from: number): Promise<boolean>[] =>
        Array.from({ length: 20 }, async (_, n) => {
          const own = r.change({ guards: [at(name('a'), from)], documents: [{ ...name('a'), value: String(n) }] })
          const answer = await store.commit(own)
          if (!answer.ok) assert.deepEqual(answer.refused, at(name('a'), from))
          return answer.ok
        })
      for (const from of [0, 1, 2]) assert.equal((await Promise.all(raise(from))).filter(Boolean).length, 1)
      assert.equal((await store.document(name('a')))?.revision, 3)
      r.refused(await store.commit(r.change({ guards: [at(name('a'), 0)] })), at(name('a'), 0))
      r.refused(await store.commit(r.change({ guards: [at(name('b'), 1)] })), at(name('b'), 1))
      r.accepted(await store.commit(r.change({ guards: [at(name('b'), 0), at(name('a'), 3)] })))
    },
  },
  {
    topic: 'kept',
    name: 'pages go up from a key, or down from it, and end where there is no more',
    promise: ['TASK-8'],
    async run(open) {
      const { store } = await open(manualClock())
      for (const key of ['b', 'd', 'a', 'c', 'Z']) r.accepted(await store.commit(keeping({ ...name(key), value: '1' })))
      r.accepted(await store.commit(keeping({ ...name('bb', { session: 'other' }), value: '1' })))
      const mine = { tenant: 't', session: 's' }
      assert.deepEqual(await keysOf(store, mine), ['Z', 'a', 'b', 'c', 'd'])
      assert.deepEqual(await keysOf(store, { ...mine, newest: true }), ['d', 'c', 'b', 'a', 'Z'])
      assert.deepEqual(await keysOf(store, { ...mine, newest: true, limit: 2 }), ['d', 'c'])
      assert.deepEqual(await keysOf(store, { ...mine, newest: true, limit: 2, after: 'c' }), ['b', 'a'])
      assert.deepEqual(await keysOf(store, { newest: true, after: 'c', tenant: 't' }), ['bb', 'b', 'a', 'Z'])
      assert.deepEqual(await keysOf(store, { newest: true, after: 'Z' }), [])
    },
  },
  {
    topic: 'kept',
    name: 'a refused change keeps and takes away nothing',
    async run(open) {
      const { store } = await open(manualClock())
      r.accepted(await store.commit(keeping({ ...name('a'), value: '1' })))
      const refused = r.change({
        guards: [r.open('no such wait')],
        documents: [
          { ...name('a'), value: null },
          { ...name('b'), value: '2' },
        ],
      })
      r.refused(await store.commit(refused), r.open('no such wait'))
      assert.deepEqual(await keysOf(store), ['a'])
    },
  },
  {
    topic: 'kept',
    name: 'pages come in the order of keys, of all, of a tenant, of a session, and of none',
    promise: ['POL-6'],
    async run(open) {
      const { store } = await open(manualClock())
      const placed = [
        name('e', { tenant: 'u' }),
        name('c', { session: 'x' }),
        name('b'),
        name('d', { session: '' }),
        name('a'),
        name('f', { of: 'others' }),
      ]
      r.accepted(await store.commit(keeping(...placed.map((each) => ({ ...each, value: '1' })))))
      assert.deepEqual(await keysOf(store), ['a', 'b', 'c', 'd', 'e'])
      assert.deepEqual(await keysOf(store, { after: 'b', limit: 2 }), ['c', 'd'])
      assert.deepEqual(await keysOf(store, { tenant: 't' }), ['a', 'b', 'c', 'd'])
      assert.deepEqual(await keysOf(store, { tenant: 't', session: 's' }), ['a', 'b'])
      assert.deepEqual(await keysOf(store, { tenant: 't', session: '' }), ['d'])
      assert.deepEqual(await keysOf(store, { tenant: 't', session: 's', after: 'a' }), ['b'])
      assert.deepEqual(await keysOf(store, { tenant: 'nobody' }), [])
    },
  },
  {
    topic: 'kept',
    name: 'which collections have something of a session is told, of those that are asked about',
    async run(open) {
      const { store } = await open(manualClock())
      const odd = 'odd \\ "name"'
      const placed = [
        name('a'),
        name('a', { of: odd }),
        name('a', { of: 'others', session: 'x' }),
        name('a', { of: 'foreign', tenant: 'u' }),
      ]
      r.accepted(await store.commit(keeping(...placed.map((each) => ({ ...each, value: '1' })))))
      const all = ['foreign', 'things', 'none', odd, 'others']
      const of = { tenant: 't', session: 's' }
      assert.deepEqual(new Set(await store.keptIn(all, of)), new Set(['things', odd]))
      assert.deepEqual(await store.keptIn(all, { tenant: 't', session: 'x' }), ['others'])
      assert.deepEqual(await store.keptIn(['none'], of), [])
      assert.deepEqual(await store.keptIn([], of), [])
      r.accepted(await store.commit(keeping({ ...name('a'), value: null })))
      assert.deepEqual(await store.keptIn(all, of), [odd])
    },
  },
  {
    topic: 'kept',
    name: 'what is kept goes with its session or tenant when that is erased, and not with old calls',
    promise: ['DUR-10'],
    async run(open) {
      const { store } = await open(manualClock())
      const placed = [name('a'), name('b', { session: 'x' }), name('c', { session: '' }), name('d', { tenant: 'u' })]
      r.accepted(await store.commit(keeping(...placed.map((each) => ({ ...each, value: '1' })))))
      await store.erase({
        of: { tenant: 't', session: 's' },
        settledBefore: Number.MAX_SAFE_INTEGER,
        after: '',
        limit: 10,
      })
      assert.deepEqual(await keysOf(store), ['a', 'b', 'c', 'd'])
      await store.erase({ of: { tenant: 't', session: 's' }, after: '', limit: 10 })
      assert.deepEqual(await keysOf(store), ['b', 'c', 'd'])
      await store.erase({ of: { tenant: 't' }, after: '', limit: 10 })
      assert.deepEqual(await keysOf(store), ['d'])
    },
  },
  {
    topic: 'kept',
    name: 'another handle sees what is kept, and of two that write at once one is refused',
    needs: 'second handle',
    async run(open) {
      const { store, again } = await open(manualClock())
      const other = await again()
      const put = (by: Store, from: number): ReturnType<Store['commit']> =>
        by.commit(r.change({ guards: [at(name('a'), from)], documents: [{ ...name('a'), value: '1' }] }))
      for (let from = 0; from < 20; from++) {
        const both = await Promise.all([put(store, from), put(other, from)])
        assert.equal(both.filter(({ ok }) => ok).length, 1)
      }
      assert.equal((await other.document(name('a')))?.revision, 20)
    },
  },
]
