// Erasing and pruning delete exactly the collections whose declaration says so.

import { expect, test } from 'vitest'
import type { Scope } from '../../src/core/scope.ts'
import { erase, prune } from '../../src/maintenance/retention.ts'
import { fileRows } from '../../src/storage/files/file-rows.ts'
import { filePath } from '../../src/storage/files/file-path.ts'
import type { Collection, CollectionTerms } from '../../src/store/collection.ts'
import { collections } from '../../src/store/collections.ts'
import { logPath, signalsOf } from '../../src/store/records/task-record.ts'
import type { Store, DocumentWrite } from '../../src/store/store.ts'
import { onEveryStore } from '../kit/stores/all-stores.ts'

type Erasure = CollectionTerms['erasedBy'][number]

const all = Object.values(collections) as Collection<unknown>[]
const declared = (how: Erasure): string[] =>
  all
    .filter(({ terms }) => terms.erasedBy.includes(how))
    .map(({ of }) => of)
    .toSorted()

/**
 * Documents of the task `x`, whose call is gone, an expired rule, an old event emitted to the session only, and an expired
 * token, which is stored for the whole store.
 */
const special = (tenant: string, session: string): Record<string, { key: string; value?: string }> => ({
  task: { key: 'x', value: '{"kind":"tool","parent":null}' },
  'task-order': { key: `gone-${session}`, value: 'x' },
  'task-child': { key: 'x:y' },
  'task-signals': { key: `${signalsOf('x')}go` },
  'task-message': { key: 'x:000000000000001:out' },
  'task-event': { key: 'x:000000001' },
  rule: { key: `x-${session}`, value: '{"until":1}' },
  occurrence: { key: `x-${session}`, value: JSON.stringify({ only: session, at: 1 }) },
  token: { key: `${tenant}-${session}`, value: JSON.stringify({ tenant, expiresAt: 1, revokedAt: null }) },
})

/** One document of every collection, each in the scope it declares. */
function documentsIn(tenant: string, session: string): DocumentWrite[] {
  const scopes: Record<CollectionTerms['scope'], Scope> = {
    session: { tenant, session },
    any: { tenant, session },
    tenant: { tenant, session: '' },
    store: { tenant: '', session: '' },
  }
  const log = fileRows(scopes.session, filePath(logPath('x')), 'log', { at: 1, version: 'v' }).documents
  const plain = all
    .filter(({ of }) => log.every((row) => row.of !== of))
    .map(({ of, terms }) => ({
      of,
      ...scopes[terms.scope],
      key: `x-${session}`,
      value: '{}',
      ...special(tenant, session)[of],
    }))
  // Keyed by the id of the task.
  const ofTask = ['task-run', 'task-wake']
  return [...plain.map((row) => (ofTask.includes(row.of) ? { ...row, key: 'x' } : row)), ...log]
}

async function goneFrom(store: Store, rows: readonly DocumentWrite[]): Promise<string[]> {
  const found = await Promise.all(rows.map(async (row) => ({ of: row.of, gone: !(await store.document(row)) })))
  return found
    .filter(({ gone }) => gone)
    .map(({ of }) => of)
    .toSorted()
}

onEveryStore('collections', (ground) => {
  const put = async (tenant: string, session: string): Promise<DocumentWrite[]> => {
    const documents = documentsIn(tenant, session)
    expect(documents.map(({ of }) => of).toSorted()).toEqual(all.map(({ of }) => of).toSorted())
    await ground.store.commit({ guards: [], documents, events: [] })
    return documents
  }
  const host = () => ({ store: ground.store, clock: ground.clock, engine: { cancel: async () => false } })

  test('DUR-10: erasing a session deletes exactly the collections that declare it', async () => {
    const rows = await put('a', 's')
    const others = (await put('a', 'other')).filter(({ session }) => session === 'other')
    const rule = { ...collections.rule.name({ tenant: 'a', session: '' }, 'shared'), value: '{"until":1}' }
    await ground.store.commit({ guards: [], documents: [rule], events: [] })
    await erase(host(), { tenant: 'a', session: 's' })
    expect(await goneFrom(ground.store, rows)).toEqual(declared('session'))
    expect(await goneFrom(ground.store, [...others, rule])).toEqual([])
  })

  test('DUR-10: erasing a tenant deletes exactly the collections that declare it', async () => {
    const rows = await put('b', 's')
    const others = (await put('c', 's')).filter(({ tenant }) => tenant === 'c')
    await erase(host(), { tenant: 'b' })
    expect(await goneFrom(ground.store, rows)).toEqual(declared('tenant'))
    expect(await goneFrom(ground.store, others)).toEqual([])
  })

  test('DUR-10: pruning deletes exactly the collections that declare it', async () => {
    const rows = await put('d', 's')
    const others = (await put('e', 's')).filter(({ tenant }) => tenant === 'e')
    await prune(host(), { settledBefore: ground.clock.now(), tenant: 'd' })
    expect(await goneFrom(ground.store, rows)).toEqual(declared('prune'))
    expect(await goneFrom(ground.store, others)).toEqual([])
  })
})
