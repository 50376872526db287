// What is kept of tasks whose calls were forgotten: rows, messages, events, and the files that the runtime wrote for them.

import { rowsOfGone, storedAt } from '../storage/files/file-rows.ts'
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
import { isThere, unlessUnreadable } from '../store/read-or-report.ts'
import type { Change, Store } from '../store/store.ts'

interface Scope {
  readonly tenant: string
  readonly session: string
}

type Gone = NonNullable<Change['documents']>[number]

/** How many calls are asked about at once. */
const atOnce = 100

/** `before`: what has no call, and ended before then, goes too. Tells how many there were. */
export async function forgetTasks(store: Store, before: number, tenant: string | undefined): Promise<number> {
  let forgotten = 0
  for (let after = ''; ;) {
    const rows = await store.documentsOf({
      of: 'task-order',
      ...(tenant === undefined ? {} : { tenant }),
      after,
      limit: atOnce,
    })
    const calls = await Promise.all(rows.map(async ({ key }) => isThere(() => store.call(key))))
    for (const [order, { tenant: whose, session, key, value: id }] of rows.entries()) {
      if (calls[order] || (await staysByItself(store, { tenant: whose, session }, id, before))) continue
      await store.commit({
        guards: [],
        documents: await rowsOfTask(store, { tenant: whose, session }, id, key),
        events: [],
      })
      forgotten++
    }
    const last = rows.at(-1)
    if (!last || rows.length < atOnce) return forgotten
    after = last.key
  }
}

/** A monitor has no call: it is there until it has ended. What it said before then is forgotten while it goes on. */
async function staysByItself(store: Store, of: Scope, id: string, before: number): Promise<boolean> {
  let broken = false
  const kept = await unlessUnreadable(
    () => store.document(taskName(of, id)),
    () => (broken = true),
  )
  if (broken) return true
  const { kind = '', ended, links } = kept ? (JSON.parse(kept.value) as TaskRow) : {}
  if (kind !== 'monitor' || (ended && ended.at < before)) return false
  const there = ended ? undefined : await store.document({ of: 'schedule', ...of, key: links?.schedule ?? '' })
  if (!ended && (there === undefined || (JSON.parse(there.value) as { monitor?: string }).monitor !== id)) return false
  const { key: until } = messageName(of, id, before, '')
  const gone: Gone[] = []
  for await (const { key } of iterateDocuments(store, { of: 'task-message', ...of }, `${id}:`)) {
    if (key >= until) break
    gone.push({ of: 'task-message', ...of, key, value: null })
  }
  if (gone.length > 0) await store.commit({ guards: [], documents: gone, events: [] })
  return true
}

/** Events that were emitted to one session alone: what they carry is that session's. */
export async function eraseOccurrences(store: Store, { tenant, session }: Scope): Promise<void> {
  for await (const { of, key, value } of iterateDocuments(store, { of: 'occurrence', tenant, session: '' }))
    if ((JSON.parse(value) as { only: string | null }).only === session)
      await store.commit({ guards: [], documents: [{ of, tenant, session: '', key, value: null }], events: [] })
}

/** Events that were emitted before then, of which nothing is still to be delivered, and whose emitter is not open. */
export async function forgetOccurrences(store: Store, before: number, tenant: string | undefined): Promise<void> {
  const whose = tenant === undefined ? {} : { tenant }
  const due = new Set<string>()
  for await (const { value } of iterateDocuments(store, { of: 'due', ...whose })) {
    const { delivery } = JSON.parse(value) as { delivery?: { occurrence: string } }
    if (delivery) due.add(delivery.occurrence)
  }
  for await (const { of, tenant: own, session, key, value } of iterateDocuments(store, {
    of: 'occurrence',
    ...whose,
  })) {
    const { at, call } = JSON.parse(value) as { at: number; call?: string }
    if (at >= before || due.has(key)) continue
    // A body that runs again emits it again.
    const emitter = call === undefined ? undefined : await unlessUnreadable(() => store.call(call))
    if (emitter && emitter.state !== 'settled') continue
    await store.commit({ guards: [], documents: [{ of, tenant: own, session, key, value: null }], events: [] })
  }
}

async function rowsOfTask(store: Store, of: Scope, id: string, uid: string): Promise<Gone[]> {
  const gone: Gone[] = [taskName(of, id), runName(of, id), wakeName(of, id), orderName(of, uid)].map((name) => ({
    ...name,
    value: null,
  }))
  const kept = await store.document(taskName(of, id))
  const { parent } = kept ? (JSON.parse(kept.value) as TaskRow) : { parent: null }
  if (parent !== null) gone.push({ ...childName(of, parent, id), value: null })
  const collections = [
    ['task-message', `${id}:`],
    ['task-event', `${id}:`],
    ['task-child', childrenOf(id)],
    ['task-signals', signalsOf(id)],
  ] as const
  for (const [collection, prefix] of collections) {
    for await (const { key } of iterateDocuments(store, { of: collection, ...of }, prefix)) {
      if (!key.startsWith(prefix)) break
      gone.push({ of: collection, ...of, key, value: null })
    }
  }
  for (const path of [logPath(id), resultPath(id)]) {
    const file = await storedAt(store, of, path)
    if (file) gone.push(...rowsOfGone(of, path, file))
  }
  return gone
}
