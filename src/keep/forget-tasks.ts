// What is kept of tasks whose calls were forgotten: rows, messages, events, and the files that the runtime wrote for them.

import { rowsOfGone, storedAt } from '../files/rows.ts'
import {
  childName,
  childrenOf,
  logPath,
  orderName,
  resultPath,
  runName,
  signalsOf,
  taskName,
  type TaskRow,
  wakeName,
} from '../journal/task.ts'
import { everyKept } from '../store/every-kept.ts'
import type { Change, Store } from '../store/store.ts'

interface Scope {
  readonly tenant: string
  readonly session: string
}

type Gone = NonNullable<Change['keep']>[number]

/** How many calls are asked about at once. */
const atOnce = 100

/** Tells how many there were. */
export async function forgetTasks(store: Store, tenant: string | undefined): Promise<number> {
  let forgotten = 0
  for (let after = ''; ;) {
    const rows = await store.keptOf({ of: 'task-order', ...(tenant === undefined ? {} : { tenant }), after, limit: atOnce })
    const calls = await Promise.all(rows.map(async ({ key }) => store.call(key)))
    for (const [order, { tenant: whose, session, key, value: id }] of rows.entries()) {
      if (calls[order] || (await standsForSchedule(store, { tenant: whose, session }, id))) continue
      await store.commit({ guards: [], keep: await rowsOfTask(store, { tenant: whose, session }, id, key), events: [] })
      forgotten++
    }
    const last = rows.at(-1)
    if (!last || rows.length < atOnce) return forgotten
    after = last.key
  }
}

/** A monitor has no call: it is there as long as its schedule is. */
async function standsForSchedule(store: Store, of: Scope, id: string): Promise<boolean> {
  const kept = await store.kept(taskName(of, id))
  const { schedule } = kept ? (JSON.parse(kept.value) as TaskRow).links : {}
  const there = schedule === undefined ? undefined : await store.kept({ of: 'schedule', ...of, key: schedule })
  return there !== undefined && (JSON.parse(there.value) as { monitor?: string }).monitor === id
}

/** Events that were emitted before then, and of which nothing is still to be delivered. */
export async function forgetOccurrences(store: Store, before: number, tenant: string | undefined): Promise<void> {
  const whose = tenant === undefined ? {} : { tenant }
  const due = new Set<string>()
  for await (const { value } of everyKept(store, { of: 'due', ...whose })) {
    const { delivery } = JSON.parse(value) as { delivery?: { occurrence: string } }
    if (delivery) due.add(delivery.occurrence)
  }
  for await (const { of, tenant: own, session, key, value } of everyKept(store, { of: 'occurrence', ...whose })) {
    if ((JSON.parse(value) as { at: number }).at >= before || due.has(key)) continue
    await store.commit({ guards: [], keep: [{ of, tenant: own, session, key, value: null }], events: [] })
  }
}

async function rowsOfTask(store: Store, of: Scope, id: string, uid: string): Promise<Gone[]> {
  const gone: Gone[] = [taskName(of, id), runName(of, id), wakeName(of, id), orderName(of, uid)].map((name) => ({ ...name, value: null }))
  const kept = await store.kept(taskName(of, id))
  const { parent } = kept ? (JSON.parse(kept.value) as TaskRow) : { parent: null }
  if (parent !== null) gone.push({ ...childName(of, parent, id), value: null })
  const collections = [
    ['task-message', `${id}:`],
    ['task-event', `${id}:`],
    ['task-child', childrenOf(id)],
    ['task-signals', signalsOf(id)],
  ] as const
  for (const [collection, prefix] of collections) {
    for await (const { key } of everyKept(store, { of: collection, ...of }, prefix)) {
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
