// A call that somebody waits for goes on as a task: its caller, its model or a rule moves it to the background. It stays the call it is, with its place,
// its clocks and its attempts; from now on nobody waits for it, and how it ended is told as of any task.

import { eventOf } from '../journal/event.ts'
import type { CallOptions, CallRecord } from '../journal/call-state.ts'
import { endName, orderName, taskName, type TaskRow, wakeName } from '../journal/task.ts'
import { PawlError } from '../kernel/errors.ts'
import type { Soon } from '../kernel/soon.ts'
import type { Store } from '../store/store.ts'
import type { AdoptTask, Task } from '../tool/task.ts'
import type { BackgroundHost, Owner } from './host.ts'
import { movedId, readTask } from './read-task.ts'
import { backgroundTool } from './start-task.ts'

/** Null if the call has settled: its outcome is there, and nobody need wait for it. */
export async function adoptTask(
  host: BackgroundHost,
  owner: Owner,
  call: CallRecord,
  { title, wake = 'on_terminal' }: AdoptTask,
): Promise<Task | null> {
  const { store, clock } = host
  const { tenant, session } = call.position
  if (tenant !== owner.tenant || session !== owner.session) throw new PawlError('task_unknown', 'It is not a call of this session.')
  const { name = call.tool, root, task } = call.options === null ? ({} as CallOptions) : (JSON.parse(call.options) as CallOptions)
  if (task) return (await readTask(host, owner, task.id)) ?? null
  if (root !== undefined) throw new PawlError('task_invalid', 'It runs under another call, which waits for it.')
  const tool = backgroundTool(host, owner, { tool: name })
  const id = movedId(call.uid)
  const createdAt = clock.now()
  const row: TaskRow = {
    uid: call.uid,
    kind: 'moved_call',
    title: title?.trim() || (tool.title ?? `Background ${tool.name}`),
    tool: tool.name,
    wake,
    parent: null,
    onEnd: 'cancel',
    createdAt,
    links: { call: call.uid },
  }
  const place = taskName(owner, id)
  const ended = endName(owner, '')
  const moved = await store.commit({
    guards: [
      { kind: 'unsettled', call: call.uid },
      { kind: 'kept', ...place, revision: 0 },
      // Whoever ends the session sees to the tasks that it has then: none may come after.
      { kind: 'kept', ...ended, revision: 0 },
    ],
    keep: [
      { ...place, value: JSON.stringify(row) },
      { ...orderName(owner, call.uid), value: id },
      ...(wake === 'silent' ? [] : [{ ...wakeName(owner, id), value: '1' }]),
    ],
    events: [eventOf({ tenant, session, call: call.uid }, 'task.created', createdAt, { task: id, kind: row.kind, tool: tool.name })],
  })
  if (!moved.ok && moved.refused.kind === 'unsettled') return null
  host.moved(call.uid)
  const found = await readTask(host, owner, id)
  if (!found && (await store.kept(ended))) throw new PawlError('session_ended')
  return found ?? null
}

/** The call of this id: in its batch if that is named, else the one that is open. */
export async function callMeant(
  store: Store,
  { tenant, session }: Owner,
  id: string,
  { batch, occurrence = 0 }: { batch: string | undefined; occurrence: number | undefined },
): Promise<CallRecord | undefined> {
  const at = (name: string): Soon<CallRecord | undefined> => store.callAt({ tenant, session, batch: name, id, occurrence })
  if (batch !== undefined) return at(batch)
  const batches = new Set<string>()
  for (let after = ''; ;) {
    const open = await store.unsettled({ of: { tenant, session }, after, limit: page })
    for (const { position } of open) if (position.id === id && !isOurs(position.batch)) batches.add(position.batch)
    const last = open.at(-1)
    if (!last || open.length < page) break
    after = last.uid
  }
  if (batches.size > 1) throw new PawlError('task_invalid', `Several open calls have the id ${JSON.stringify(id)}: name the batch too.`)
  const [only = ''] = batches
  return at(only)
}

const page = 200
/** Tasks, and calls under others. */
const isOurs = (batch: string): boolean => batch.startsWith('pawl:')
