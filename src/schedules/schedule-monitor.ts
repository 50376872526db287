// A monitor: the task by which a model sees a schedule that it made (TASK-1). It is no call: what it does is read from the schedule. It runs as long as
// that is there, has succeeded when that is over, and is cancelled with it. How it ended is on record with the end of the schedule, and stays.

import { eventOf, ofSession, type NewEvent } from '../store/records/event.ts'
import { messageName, orderName, taskName, type TaskRow } from '../store/records/task-record.ts'
import { PawlError } from '../core/errors.ts'
import { iterateDocuments } from '../store/iterate-documents.ts'
import type { Change, Guard, Store } from '../store/store.ts'
import type { TaskMessage } from '../tools/context/tasks.ts'
import { monitorKind } from '../core/task-state.ts'
import type { Monitor } from '../tasks/monitor-task.ts'
import type { ScheduleRow, Scope } from './schedule-row.ts'

type Keep = NonNullable<Change['documents']>

/** Rows, and what the feed tells of them. */
interface Told {
  readonly documents: Keep
  readonly events: readonly NewEvent[]
}

const nothing: Told = { documents: [], events: [] }

/**
 * Its rows, on record with the schedule, and what must hold for them: no task has its id, or a monitor whose schedule is gone. `order`: where it stands
 * among the tasks of its session.
 */
export async function rowsOfMonitor(
  store: Store,
  of: Scope,
  { id, place, call }: Monitor,
  about: { schedule: string; order: string; title: string; tool: string; at: number; secret: boolean },
): Promise<{ guards: Guard[] } & Told> {
  const { schedule, order, title, tool, at, secret } = about
  const there = await store.document(taskName(of, id))
  const before = there && (JSON.parse(there.value) as TaskRow)
  if (before && before.kind !== monitorKind) throw new PawlError('task_conflict', `The id is '${id}'.`)
  // Made anew it begins anew.
  const gone: Keep[number][] = before ? [{ ...orderName(of, before.uid), value: null }] : []
  for await (const { key } of before ? iterateDocuments(store, { of: 'task-message', ...of }, `${id}:`) : []) {
    if (!key.startsWith(`${id}:`)) break
    gone.push({ of: 'task-message', ...of, key, value: null })
  }
  const row: TaskRow = {
    uid: order,
    kind: monitorKind,
    title,
    tool,
    wake: 'silent',
    parent: null,
    onEnd: 'cancel',
    createdAt: at,
    links: { schedule, ...(call === undefined ? {} : { call }) },
    ...(place === undefined ? {} : { place }),
  }
  return {
    guards: [{ kind: 'kept', ...taskName(of, id), revision: there?.revision ?? 0 }],
    documents: [
      ...gone,
      { ...taskName(of, id), ...(secret ? { secret } : {}), value: JSON.stringify(row) },
      { ...orderName(of, order), value: id },
    ],
    events: [
      eventOf({ ...ofSession(of), call: call ?? '' }, 'task.created', at, { task: id, kind: monitorKind, tool }),
    ],
  }
}

/** With a slot that is fired: it tells so. */
export function monitorFired(of: Scope, { monitor }: ScheduleRow, slot: number, at: number): Told {
  if (monitor === undefined) return nothing
  const message: TaskMessage = {
    id: `${monitor}.${slot}`,
    direction: 'out',
    text: `Monitor fired at ${new Date(slot).toISOString()}.`,
    at,
  }
  return {
    documents: [{ ...messageName(of, monitor, at, `out.${slot}`), value: JSON.stringify(message) }],
    events: [eventOf(ofSession(of), 'task.message', at, { task: monitor, message: message.id, direction: 'out' })],
  }
}

/** With what becomes of its schedule: has that ended, or is it removed (null), it has ended too. */
export async function monitorEnds(
  store: Store,
  of: Scope,
  before: ScheduleRow,
  after: ScheduleRow | null,
  at: number,
): Promise<Told> {
  const { monitor } = before
  if (monitor === undefined || before.state === 'ended' || (after && after.state !== 'ended')) return nothing
  const kept = await store.document(taskName(of, monitor))
  const row = kept && (JSON.parse(kept.value) as TaskRow)
  if (!row || row.kind !== monitorKind || row.ended) return nothing
  const ended = { state: after ? ('succeeded' as const) : ('cancelled' as const), at, runs: (after ?? before).runs }
  return {
    documents: [
      {
        ...taskName(of, monitor),
        ...(before.secret ? { secret: true as const } : {}),
        value: JSON.stringify({ ...row, ended }),
      },
    ],
    events: [eventOf(ofSession(of), 'task.ended', at, { task: monitor, state: ended.state })],
  }
}
