// A call that somebody waits for goes on as a task: its caller, its model or a rule moves it to the background. It stays the call it is, with its place,
// its clocks and its attempts; from now on nobody waits for it, and how it ended is told as of any task.

import { eventOf } from '../store/records/event.ts'
import type { CallOptions, CallPosition, CallRecord } from '../store/records/call-record.ts'
import { isStepBatch } from '../store/records/conversation.ts'
import { endName, movedId, orderName, taskName, type TaskRow, wakeName } from '../store/records/task-record.ts'
import { PawlError } from '../core/errors.ts'
import { isName } from '../core/ids.ts'
import type { Store } from '../store/store.ts'
import type { AdoptTask, Task } from '../tools/context/tasks.ts'
import type { BackgroundHost, Owner } from './ports.ts'
import { movedKind, readTask } from './read-task.ts'
import { backgroundTool, checkWords, roomForModel, startsCollection, titleOf } from './start-task.ts'

/** Null if the call has settled: its outcome is there, and nobody need wait for it. */
export async function adoptTask(
  host: BackgroundHost,
  owner: Owner,
  call: CallRecord,
  { title, wake = 'on_terminal', byModel = false }: AdoptTask,
): Promise<Task | null> {
  const { store, clock } = host
  const { tenant, session } = call.position
  if (tenant !== owner.tenant || session !== owner.session)
    throw new PawlError('task_unknown', 'It is not a call of this session.')
  if (title !== undefined && typeof title !== 'string') throw new PawlError('task_invalid', 'The title is a text.')
  const {
    name = call.tool,
    root,
    task,
  } = call.options === null ? ({} as CallOptions) : (JSON.parse(call.options) as CallOptions)
  if (task) return (await readTask(host, owner, task.id)) ?? null
  if (root !== undefined) throw new PawlError('task_invalid', 'It runs under another call, which waits for it.')
  const tool = backgroundTool(host, owner, { tool: name })
  const id = movedId(call.uid)
  const createdAt = clock.now()
  const row: TaskRow = {
    uid: call.uid,
    kind: movedKind,
    title: titleOf(title, tool),
    tool: tool.name,
    wake,
    parent: null,
    onEnd: 'cancel',
    createdAt,
    links: { call: call.uid },
  }
  checkWords({ wake })
  const place = taskName(owner, id)
  const full = byModel && !(await store.document(place)) ? await roomForModel(host, owner) : null
  const ended = endName(owner, '')
  const moved = await store.commit({
    guards: [
      { kind: 'unsettled', call: call.uid },
      { kind: 'kept', ...place, revision: 0 },
      // Whoever ends the session sees to the tasks that it has then: none may come after.
      { kind: 'kept', ...ended, revision: 0 },
      ...(full?.guards ?? []),
    ],
    documents: [
      { ...place, value: JSON.stringify(row) },
      { ...orderName(owner, call.uid), value: id },
      // Whoever takes it up cannot tell that it was lost: it is on the list, whatever its policy.
      { ...wakeName(owner, id), value: '1' },
      ...(wake === 'silent' ? [] : host.wakes.rows(owner, id, call.uid)),
      ...(full?.documents ?? []),
    ],
    events: [
      eventOf({ tenant, session, call: call.uid }, 'task.created', createdAt, {
        task: id,
        kind: row.kind,
        tool: tool.name,
      }),
    ],
  })
  if (!moved.ok && moved.refused.kind === 'unsettled') return null
  // Another start was first: it is counted anew.
  if (!moved.ok && moved.refused.kind === 'kept' && moved.refused.of === startsCollection)
    return adoptTask(host, owner, call, { ...(title === undefined ? {} : { title }), wake, byModel })
  host.moved(call.uid)
  const found = await readTask(host, owner, id)
  if (!found && (await store.document(ended))) throw new PawlError('session_ended')
  return found ?? null
}

/** The call of this id: in its batch if that is named, else the one that is open. */
export async function callMeant(
  { store, engine }: BackgroundHost,
  { tenant, session }: Owner,
  id: string,
  { batch, occurrence }: { batch: string | undefined; occurrence: number | undefined },
): Promise<CallRecord | undefined> {
  if (!isName(id)) throw new PawlError('task_invalid', 'The id of a call is a text.')
  const at = (place: Pick<CallPosition, 'batch' | 'id' | 'occurrence'>): Promise<CallRecord | undefined> =>
    engine().recorded({ tenant, session, ...place })
  const meant: CallPosition[] = []
  // One that has only just been asked for is not among what is open yet.
  const first = await at({ batch: batch ?? '', id, occurrence: occurrence ?? 0 })
  if (first && (first.state !== 'settled' || occurrence !== undefined)) return first
  for (let after = ''; ;) {
    const open = await store.unsettled({ of: { tenant, session }, after, limit: page })
    for (const { uid, position } of open) {
      const same =
        position.batch === keyBatch
          ? (await callIdOf(store, uid)) === id
          : position.id === id && !isOurs(position.batch)
      if (same && (batch === undefined || position.batch === batch)) meant.push(position)
    }
    const last = open.at(-1)
    if (!last || open.length < page) break
    after = last.uid
  }
  if (new Set(meant.map((position) => position.batch)).size > 1)
    throw new PawlError('task_invalid', `Several open calls have the id ${JSON.stringify(id)}: name the batch too.`)
  const [only] = meant
  return only ? at(only) : first
}

const page = 200
/** Where calls with an idempotency key lie. */
const keyBatch = 'pawl:key'
/** Tasks, turns, and calls under others. */
const isOurs = (batch: string): boolean => batch.startsWith('pawl:') && !isStepBatch(batch)

async function callIdOf(store: Store, uid: string): Promise<string | undefined> {
  const options = (await store.call(uid))?.options ?? null
  return options === null ? undefined : (JSON.parse(options) as CallOptions).callId
}
