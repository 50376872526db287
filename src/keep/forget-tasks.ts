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
    const calls = await Promise.all(rows.map(({ key }) => store.call(key)))
    for (const [order, { tenant: whose, session, key, value: id }] of rows.entries()) {
      if (calls[order]) continue
      await store.commit({ guards: [], keep: await rowsOfTask(store, { tenant: whose, session }, id, key), events: [] })
      forgotten++
    }
    const last = rows.at(-1)
    if (!last || rows.length < atOnce) return forgotten
    after = last.key
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
