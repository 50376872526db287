// Moves a running call to the background: it continues as a task. The caller, the model or a policy rule requests it.
// The call keeps its position, timeouts and attempts, but its caller no longer waits; a notice reports its end.

import { eventOf } from '../store/records/event.ts'
import { type CallPosition, type CallRecord, parseCallOptions } from '../store/records/call-record.ts'
import { isStepBatch } from '../store/records/conversation.ts'
import { movedId, type TaskRow } from '../store/records/task-record.ts'
import { PawlError } from '../core/errors.ts'
import { isName } from '../core/ids.ts'
import type { Store } from '../store/store.ts'
import type { AdoptTask, Task } from '../tools/context/task-interfaces.ts'
import type { BackgroundHost, Owner } from './ports.ts'
import { movedKind, readTask } from './read-task.ts'
import { backgroundTool, reserveModelSlot, taskTitle } from './start-task.ts'
import { collections } from '../store/collections.ts'
import { isReserved, keyBatch } from '../store/journal-keys.ts'

/** Null if the call has already settled: the caller can read its outcome directly. */
export async function adoptTask(
  host: BackgroundHost,
  owner: Owner,
  call: CallRecord,
  { title, wake = 'on_terminal', byModel = false }: AdoptTask,
): Promise<Task | null> {
  const { store, clock } = host
  const { tenant, session } = call.position
  if (tenant !== owner.tenant || session !== owner.session)
    throw new PawlError('task_unknown', 'The call belongs to another session. Use the id of a call of this session.')
  const { name = call.tool, root, task } = parseCallOptions(call.options)
  if (task) return (await readTask(host, owner, task.id)) ?? null
  if (root !== undefined)
    throw new PawlError('task_invalid', 'A nested call cannot be moved: its parent call waits for it.')
  const tool = backgroundTool(host, owner, { tool: name, byModel })
  const id = movedId(call.uid)
  const createdAt = clock.now()
  const row: TaskRow = {
    uid: call.uid,
    kind: movedKind,
    title: taskTitle(title, tool),
    tool: tool.name,
    wake,
    parent: null,
    onEnd: 'cancel',
    createdAt,
    links: { call: call.uid },
  }
  const taskDocumentName = collections.task.name(owner, id)
  const slot = byModel && !(await store.document(taskDocumentName)) ? await reserveModelSlot(host, owner) : null
  const ended = collections.sessionEnd.name(owner)
  const committed = await store.commit({
    guards: [
      { kind: 'unsettled', call: call.uid },
      { kind: 'kept', ...taskDocumentName, revision: 0 },
      // session.end cancels the tasks that exist at that moment, so none may be added afterwards.
      { kind: 'kept', ...ended, revision: 0 },
      ...(slot?.guards ?? []),
    ],
    documents: [
      { ...taskDocumentName, value: JSON.stringify(row) },
      { ...collections.taskOrder.name(owner, call.uid), value: id },
      // Listed whatever its wake policy: the worker that settles the call does not know of the move, and a task lost
      // with its worker must be reported even if it is silent.
      { ...collections.taskWake.name(owner, id), value: '1' },
      ...(wake === 'silent' ? [] : host.wakes.rows(owner, id, call.uid)),
      ...(slot?.documents ?? []),
    ],
    events: [
      eventOf({ tenant, session, call: call.uid }, 'task.created', createdAt, {
        task: id,
        kind: row.kind,
        tool: tool.name,
      }),
    ],
  })
  if (!committed.ok && committed.refused.kind === 'unsettled') return null
  // Another start won the race: count the open tasks again.
  if (!committed.ok && committed.refused.kind === 'kept' && committed.refused.of === collections.taskStarts.of)
    return adoptTask(host, owner, call, { ...(title === undefined ? {} : { title }), wake, byModel })
  host.movedCalls.check(call.uid)
  const found = await readTask(host, owner, id)
  if (!found && (await store.document(ended))) throw new PawlError('session_ended')
  return found ?? null
}

/** The call with this id: in `batch` if it is given, otherwise the open one. */
export async function findCall(
  { store, engine }: BackgroundHost,
  { tenant, session }: Owner,
  id: string,
  { batch, occurrence }: { batch: string | undefined; occurrence: number | undefined },
): Promise<CallRecord | undefined> {
  if (!isName(id))
    throw new PawlError('task_invalid', 'The call id must be a non-empty string of at most 512 characters.')
  const at = (position: Pick<CallPosition, 'batch' | 'id' | 'occurrence'>): Promise<CallRecord | undefined> =>
    engine.recorded({ tenant, session, ...position })
  const matches: CallPosition[] = []
  // A call that was submitted a moment ago may not be in the store's list of unsettled calls yet.
  const first = await at({ batch: batch ?? '', id, occurrence: occurrence ?? 0 })
  if (first && (first.state !== 'settled' || occurrence !== undefined)) return first
  for (let after = ''; ;) {
    const open = await store.unsettled({ of: { tenant, session }, after, limit: page })
    for (const { uid, position } of open) {
      const same =
        position.batch === keyBatch
          ? (await callIdOf(store, uid)) === id
          : position.id === id && !isReservedBatch(position.batch)
      if (same && (batch === undefined || position.batch === batch)) matches.push(position)
    }
    const last = open.at(-1)
    if (!last || open.length < page) break
    after = last.uid
  }
  if (new Set(matches.map((position) => position.batch)).size > 1)
    throw new PawlError('task_invalid', `Several open calls have the id ${JSON.stringify(id)}. Pass \`batch\` as well.`)
  const [only] = matches
  return only ? at(only) : first
}

const page = 200
/** Batches of tasks, turns and nested calls: their ids do not come from the caller. */
const isReservedBatch = (batch: string): boolean => isReserved(batch) && !isStepBatch(batch)

async function callIdOf(store: Store, uid: string): Promise<string | undefined> {
  const options = (await store.call(uid))?.options ?? null
  return options === null ? undefined : parseCallOptions(options).callId
}
