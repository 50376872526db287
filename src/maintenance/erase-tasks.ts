// Deletes the data of tasks whose calls were erased: rows, messages, events, and the files the runtime wrote for them.
// Called by retention.ts.

import type { Scope } from '../core/scope.ts'
import { removedFileRows, readStoredFile } from '../storage/files/file-rows.ts'
import { childrenOf, logPath, resultPath, signalsOf } from '../store/records/task-record.ts'
import { isThere, unlessUnreadable } from '../store/skip-unreadable.ts'
import type { Store, DocumentWrite } from '../store/store.ts'
import { collections } from '../store/collections.ts'
import { deletionOf } from '../store/collection.ts'

/** Tasks per page. */
const pageSize = 100

/**
 * Deletes tasks whose call is gone, and monitors (which have no call) that ended before `before`. Returns the number of
 * deleted tasks.
 */
export async function pruneTasks(store: Store, before: number, tenant: string | undefined): Promise<number> {
  let pruned = 0
  for await (const rows of collections.taskOrder.pages(store, tenant === undefined ? {} : { tenant }, pageSize)) {
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
  }
  return pruned
}

/**
 * True if the task must stay: a monitor has no call and stays until it has ended. Deletes its messages older than
 * `before`.
 */
async function keepsMonitor(store: Store, of: Scope, id: string, before: number): Promise<boolean> {
  let isUnreadable = false
  const document = await unlessUnreadable(
    () => store.document(collections.task.name(of, id)),
    () => (isUnreadable = true),
  )
  if (isUnreadable) return true
  const { kind = '', ended, links } = document ? collections.task.parse(document.value) : {}
  if (kind !== 'monitor' || (ended && ended.at < before)) return false
  const schedule = ended
    ? undefined
    : ((await collections.schedule.read(store, of, links?.schedule ?? '')) as { monitor?: string } | undefined)
  if (!ended && schedule?.monitor !== id) return false
  const { key: until } = collections.taskMessage.name(of, id, before, '')
  const deletions: DocumentWrite[] = []
  for await (const message of collections.taskMessage.iterate(store, of, `${id}:`)) {
    if (message.key >= until) break
    deletions.push(deletionOf(message))
  }
  if (deletions.length > 0) await store.commit({ guards: [], documents: deletions, events: [] })
  return true
}

/** Deletes events emitted to this session only; their payload belongs to the session. Returns how many. */
export async function eraseEmittedEvents(store: Store, { tenant, session }: Scope): Promise<number> {
  let erased = 0
  for await (const event of collections.occurrence.iterate(store, { tenant, session: '' })) {
    if ((collections.occurrence.parse(event.value) as { only: string | null }).only !== session) continue
    await store.commit({ guards: [], documents: [deletionOf(event)], events: [] })
    erased++
  }
  return erased
}

/** Deletes events emitted before `before` that have no pending delivery and whose emitting call has settled. */
export async function pruneEmittedEvents(store: Store, before: number, tenant: string | undefined): Promise<number> {
  let pruned = 0
  const tenantFilter = tenant === undefined ? {} : { tenant }
  const undelivered = new Set<string>()
  for await (const { value } of collections.due.iterate(store, tenantFilter)) {
    const { delivery } = collections.due.parse(value) as { delivery?: { occurrence: string } }
    if (delivery) undelivered.add(delivery.occurrence)
  }
  for await (const event of collections.occurrence.iterate(store, tenantFilter)) {
    const { at, call } = collections.occurrence.parse(event.value) as { at: number; call?: string }
    if (at >= before || undelivered.has(event.key)) continue
    // While the call is open, its body may run again and emit the same event: it must then find the recorded one.
    const emitter = call === undefined ? undefined : await unlessUnreadable(() => store.call(call))
    if (emitter && emitter.state !== 'settled') continue
    await store.commit({ guards: [], documents: [deletionOf(event)], events: [] })
    pruned++
  }
  return pruned
}

async function deletionsOfTask(store: Store, of: Scope, id: string, uid: string): Promise<DocumentWrite[]> {
  const deletions: DocumentWrite[] = [
    collections.task.remove(of, id),
    collections.taskRun.remove(of, id),
    collections.taskWake.remove(of, id),
    collections.taskOrder.remove(of, uid),
  ]
  const { parent = null } = (await collections.task.read(store, of, id)) ?? {}
  if (parent !== null) deletions.push(collections.taskChild.remove(of, parent, id))
  const { taskMessage, taskEvent, taskChild, taskSignals } = collections
  for (const documents of [
    taskMessage.startingWith(store, of, `${id}:`),
    taskEvent.startingWith(store, of, `${id}:`),
    taskChild.startingWith(store, of, childrenOf(id)),
    taskSignals.startingWith(store, of, signalsOf(id)),
  ])
    for await (const document of documents) deletions.push(deletionOf(document))
  for (const path of [logPath(id), resultPath(id)]) {
    const file = await readStoredFile(store, of, path)
    if (file) deletions.push(...removedFileRows(of, path, file))
  }
  return deletions
}
