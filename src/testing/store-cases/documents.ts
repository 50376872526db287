// Store cases for documents: revisions, pages, erasure.

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
const writeDocuments = (...values: readonly (DocumentName & { value: string | null })[]): Change =>
  r.change({ documents: values })
const atRevision = (document: DocumentName, revision: number): Guard => ({ kind: 'kept', ...document, revision })
const keysOf = async (store: Store, query: Partial<Parameters<Store['documentsOf']>[0]> = {}): Promise<string[]> =>
  (await store.documentsOf({ of: 'things', after: '', limit: 100, ...query })).map(({ key }) => key)

export const documentCases: readonly StoreCase[] = [
  {
    topic: 'documents',
    name: 'a document is found by its full name, and each write raises its revision',
    async run(open) {
      const { store } = await open(manualClock())
      const others = [{ of: 'others' }, { tenant: 'u' }, { session: '' }, { key: 'A' }].map((over) => name('a', over))
      for (const [n, other] of others.entries())
        r.assertAccepted(await store.commit(writeDocuments({ ...other, value: `"other ${n}"` })))
      assert.equal(await store.document(name('a')), undefined)
      r.assertAccepted(await store.commit(writeDocuments({ ...name('a'), value: '"one"' })))
      assert.deepEqual(r.plain(await store.document(name('a'))), { ...name('a'), revision: 1, value: '"one"' })
      r.assertAccepted(await store.commit(writeDocuments({ ...name('a'), value: '"two \\u0000 é"' })))
      assert.deepEqual(r.plain(await store.document(name('a'))), {
        ...name('a'),
        revision: 2,
        value: '"two \\u0000 é"',
      })
      r.assertAccepted(
        await store.commit(writeDocuments({ ...name('a'), value: null }, { ...name('never'), value: null })),
      )
      assert.equal(await store.document(name('a')), undefined)
      r.assertAccepted(await store.commit(writeDocuments({ ...name('a'), value: '1' }, { ...name('a'), value: '2' })))
      assert.deepEqual(r.plain(await store.document(name('a'))), { ...name('a'), revision: 2, value: '2' })
      for (const [n, other] of others.entries())
        assert.deepEqual(r.plain(await store.document(other)), { ...other, revision: 1, value: `"other ${n}"` })
    },
  },
  {
    topic: 'documents',
    name: 'only one of many concurrent writers of the same revision is accepted',
    promise: ['POL-2', 'POL-3'],
    async run(open) {
      const { store } = await open(manualClock())
      const raise = (from: number): Promise<boolean>[] =>
        Array.from({ length: 20 }, async (_, n) => {
          const own = r.change({
            guards: [atRevision(name('a'), from)],
            documents: [{ ...name('a'), value: String(n) }],
          })
          const answer = await store.commit(own)
          if (!answer.ok) assert.deepEqual(answer.refused, atRevision(name('a'), from))
          return answer.ok
        })
      for (const from of [0, 1, 2]) assert.equal((await Promise.all(raise(from))).filter(Boolean).length, 1)
      assert.equal((await store.document(name('a')))?.revision, 3)
      r.assertRefused(await store.commit(r.change({ guards: [atRevision(name('a'), 0)] })), atRevision(name('a'), 0))
      r.assertRefused(await store.commit(r.change({ guards: [atRevision(name('b'), 1)] })), atRevision(name('b'), 1))
      r.assertAccepted(await store.commit(r.change({ guards: [atRevision(name('b'), 0), atRevision(name('a'), 3)] })))
    },
  },
  {
    topic: 'documents',
    name: 'pages run up or down from a key and stop at the end',
    promise: ['TASK-8'],
    async run(open) {
      const { store } = await open(manualClock())
      for (const key of ['b', 'd', 'a', 'c', 'Z'])
        r.assertAccepted(await store.commit(writeDocuments({ ...name(key), value: '1' })))
      r.assertAccepted(await store.commit(writeDocuments({ ...name('bb', { session: 'other' }), value: '1' })))
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
    topic: 'documents',
    name: 'a rejected change neither writes nor deletes documents',
    async run(open) {
      const { store } = await open(manualClock())
      r.assertAccepted(await store.commit(writeDocuments({ ...name('a'), value: '1' })))
      const refused = r.change({
        guards: [r.open('no such wait')],
        documents: [
          { ...name('a'), value: null },
          { ...name('b'), value: '2' },
        ],
      })
      r.assertRefused(await store.commit(refused), r.open('no such wait'))
      assert.deepEqual(await keysOf(store), ['a'])
    },
  },
  {
    topic: 'documents',
    name: 'pages are sorted by key, for all, one tenant, one session or no session',
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
      r.assertAccepted(await store.commit(writeDocuments(...placed.map((each) => ({ ...each, value: '1' })))))
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
    topic: 'documents',
    name: 'nonEmptyCollections returns the given collections with documents of a session',
    async run(open) {
      const { store } = await open(manualClock())
      const odd = 'odd \\ "name"'
      const placed = [
        name('a'),
        name('a', { of: odd }),
        name('a', { of: 'others', session: 'x' }),
        name('a', { of: 'foreign', tenant: 'u' }),
      ]
      r.assertAccepted(await store.commit(writeDocuments(...placed.map((each) => ({ ...each, value: '1' })))))
      const all = ['foreign', 'things', 'none', odd, 'others']
      const of = { tenant: 't', session: 's' }
      assert.deepEqual(new Set(await store.nonEmptyCollections(all, of)), new Set(['things', odd]))
      assert.deepEqual(await store.nonEmptyCollections(all, { tenant: 't', session: 'x' }), ['others'])
      assert.deepEqual(await store.nonEmptyCollections(['none'], of), [])
      assert.deepEqual(await store.nonEmptyCollections([], of), [])
      r.assertAccepted(await store.commit(writeDocuments({ ...name('a'), value: null })))
      assert.deepEqual(await store.nonEmptyCollections(all, of), [odd])
    },
  },
  {
    topic: 'documents',
    name: 'erasing a session or tenant deletes its documents; pruning calls does not',
    promise: ['DUR-10'],
    async run(open) {
      const { store } = await open(manualClock())
      const placed = [name('a'), name('b', { session: 'x' }), name('c', { session: '' }), name('d', { tenant: 'u' })]
      r.assertAccepted(await store.commit(writeDocuments(...placed.map((each) => ({ ...each, value: '1' })))))
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
    topic: 'documents',
    name: 'another handle sees documents, and one of two concurrent writers is rejected',
    needs: 'second handle',
    async run(open) {
      const { store, again } = await open(manualClock())
      const other = await again()
      const put = (by: Store, from: number): ReturnType<Store['commit']> =>
        by.commit(r.change({ guards: [atRevision(name('a'), from)], documents: [{ ...name('a'), value: '1' }] }))
      for (let from = 0; from < 20; from++) {
        const both = await Promise.all([put(store, from), put(other, from)])
        assert.equal(both.filter(({ ok }) => ok).length, 1)
      }
      assert.equal((await other.document(name('a')))?.revision, 20)
    },
  },
]
