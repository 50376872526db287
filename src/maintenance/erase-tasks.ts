// Deletes the data of tasks whose calls were erased: rows, messages, events, and the files the runtime wrote for them.
// Called by retention.ts.

import type { Scope } from '../core/scope.ts'
import { removedFileRows, readStoredFile } from '../storage/files/file-rows.ts'
import {
  childName,
  childrenOf,
  logPath,
  messageName,
  orderName,
  resultPath,
  runName,
  signalsOf,
  taskName,
  type TaskRow,
  wakeName,
} from '../store/records/task-record.ts'
import { iterateDocuments } from '../store/iterate-documents.ts'
import { isThere, unlessUnreadable } from '../store/skip-unreadable.ts'
import type { Change, Store } from '../store/store.ts'

type Deletion = NonNullable<Change['documents']>[number]

/** Tasks per page. */
const pageSize = 100

/**
 * Deletes tasks whose call is gone, and monitors (which have no call) that ended before `before`. Returns the number of
 * deleted tasks.
 */
export async function pruneTasks(store: Store, before: number, tenant: string | undefined): Promise<number> {
  let pruned = 0
  for (let after = ''; ;) {
    const rows = await store.documentsOf({
      of: 'task-order',
      ...(tenant === undefined ? {} : { tenant }),
      after,
      limit: pageSize,
    })
    const calls = await Promise.all(rows.map(async ({ key }) => isThere(() => store.call(key))))
    for (const [order, { tenant: owner, session, key, value: id }] of rows.entries()) {
      if (calls[order] || (await keepsMonitor(store, { tenant: owner, session }, id, before))) continue
      await store.commit({
        guards: [],
        documents: await deletionsOfTask(store, { tenant: owner, session }, id, key),
        events: [],
      })
      pruned++
    }
    const last = rows.at(-1)
    if (!last || rows.length < pageSize) return pruned
    after = last.key
  }
}

/**
 * True if the task must stay: a monitor has no call and stays until it has ended. Deletes its messages older than
 * `before`.
 */
async function keepsMonitor(store: Store, of: Scope, id: string, before: number): Promise<boolean> {
  let isUnreadable = false
  const document = await unlessUnreadable(
    () => store.document(taskName(of, id)),
    () => (isUnreadable = true),
  )
  if (isUnreadable) return true
  const { kind = '', ended, links } = document ? (JSON.parse(document.value) as TaskRow) : {}
  if (kind !== 'monitor' || (ended && ended.at < before)) return false
  const schedule = ended ? undefined : await store.document({ of: 'schedule', ...of, key: links?.schedule ?? '' })
  if (!ended && (schedule === undefined || (JSON.parse(schedule.value) as { monitor?: string }).monitor !== id))
    return false
  const { key: until } = messageName(of, id, before, '')
  const deletions: Deletion[] = []
  for await (const { key } of iterateDocuments(store, { of: 'task-message', ...of }, `${id}:`)) {
    if (key >= until) break
    deletions.push({ of: 'task-message', ...of, key, value: null })
  }
  if (deletions.length > 0) await store.commit({ guards: [], documents: deletions, events: [] })
  return true
}

/** Deletes events emitted to this session only; their payload belongs to the session. */
export async function eraseEmittedEvents(store: Store, { tenant, session }: Scope): Promise<void> {
  for await (const { of, key, value } of iterateDocuments(store, { of: 'occurrence', tenant, session: '' }))
    if ((JSON.parse(value) as { only: string | null }).only === session)
      await store.commit({ guards: [], documents: [{ of, tenant, session: '', key, value: null }], events: [] })
}

/** Deletes events emitted before `before` that have no pending delivery and whose emitting call has settled. */
export async function pruneEmittedEvents(store: Store, before: number, tenant: string | undefined): Promise<void> {
  const tenantFilter = tenant === undefined ? {} : { tenant }
  const undelivered = new Set<string>()
  for await (const { value } of iterateDocuments(store, { of: 'due', ...tenantFilter })) {
    const { delivery } = JSON.parse(value) as { delivery?: { occurrence: string } }
    if (delivery) undelivered.add(delivery.occurrence)
  }
  for await (const { of, tenant: own, session, key, value } of iterateDocuments(store, {
    of: 'occurrence',
    ...tenantFilter,
  })) {
    const { at, call } = JSON.parse(value) as { at: number; call?: string }
    if (at >= before || undelivered.has(key)) continue
    // While the call is open, its body may run again and emit the same event: it must then find the recorded one.
    const emitter = call === undefined ? undefined : await unlessUnreadable(() => store.call(call))
    if (emitter && emitter.state !== 'settled') continue
    await store.commit({ guards: [], documents: [{ of, tenant: own, session, key, value: null }], events: [] })
  }
}

async function deletionsOfTask(store: Store, of: Scope, id: string, uid: string): Promise<Deletion[]> {
  const deletions: Deletion[] = [taskName(of, id), runName(of, id), wakeName(of, id), orderName(of, uid)].map(
    (name) => ({
      ...name,
      value: null,
    }),
  )
  const document = await store.document(taskName(of, id))
  const { parent } = document ? (JSON.parse(document.value) as TaskRow) : { parent: null }
  if (parent !== null) deletions.push({ ...childName(of, parent, id), value: null })
  const collections = [
    ['task-message', `${id}:`],
    ['task-event', `${id}:`],
    ['task-child', childrenOf(id)],
    ['task-signals', signalsOf(id)],
  ] as const
  for (const [collection, prefix] of collections) {
    for await (const { key } of iterateDocuments(store, { of: collection, ...of }, prefix)) {
      if (!key.startsWith(prefix)) break
      deletions.push({ of: collection, ...of, key, value: null })
    }
  }
  for (const path of [logPath(id), resultPath(id)]) {
    const file = await readStoredFile(store, of, path)
    if (file) deletions.push(...removedFileRows(of, path, file))
  }
  return deletions
}
