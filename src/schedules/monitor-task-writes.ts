// Writes monitors: the task through which a model sees a schedule that it made. A monitor has no call. It is running
// while its schedule exists, succeeded when the schedule has ended, and cancelled when the schedule is removed; that
// end is recorded in the commit that ends the schedule. tasks/read-schedule-monitor.ts reads it.

import { eventOf, sessionSubject, type NewEvent } from '../store/records/event.ts'
import { type TaskRow } from '../store/records/task-record.ts'
import { PawlError } from '../core/errors.ts'
import type { Guard, Store, DocumentWrite } from '../store/store.ts'
import type { TaskMessage } from '../tools/context/task-interfaces.ts'
import { monitorKind } from '../core/task-state.ts'
import type { Scope } from '../core/scope.ts'
import type { Monitor } from '../tasks/read-schedule-monitor.ts'
import type { ScheduleRow } from './schedule-row.ts'
import { collections } from '../store/collections.ts'
import { deletionOf } from '../store/collection.ts'

/** Rows and feed events. */
interface MonitorWrites {
  readonly documents: readonly DocumentWrite[]
  readonly events: readonly NewEvent[]
}

const noWrites: MonitorWrites = { documents: [], events: [] }

/**
 * The rows of a new monitor, to commit with its schedule. The guard requires that its id is free or belongs to a
 * monitor whose schedule is gone. `order`: its sort key among the tasks of the session.
 */
export async function monitorRows(
  store: Store,
  of: Scope,
  { id, place, call }: Monitor,
  about: { schedule: string; order: string; title: string; tool: string; at: number; secret: boolean },
): Promise<{ guards: Guard[] } & MonitorWrites> {
  const { schedule, order, title, tool, at, secret } = about
  const stored = await store.document(collections.task.name(of, id))
  const before = stored && collections.task.parse(stored.value)
  if (before && before.kind !== monitorKind) throw new PawlError('task_conflict', `The id is '${id}'.`)
  // A monitor that replaces an ended one starts without its messages.
  const removed: DocumentWrite[] = before ? [collections.taskOrder.remove(of, before.uid)] : []
  for await (const message of before ? collections.taskMessage.startingWith(store, of, `${id}:`) : [])
    removed.push(deletionOf(message))
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
    guards: [{ kind: 'kept', ...collections.task.name(of, id), revision: stored?.revision ?? 0 }],
    documents: [
      ...removed,
      { ...collections.task.name(of, id), ...(secret ? { secret } : {}), value: JSON.stringify(row) },
      { ...collections.taskOrder.name(of, order), value: id },
    ],
    events: [
      eventOf({ ...sessionSubject(of), call: call ?? '' }, 'task.created', at, { task: id, kind: monitorKind, tool }),
    ],
  }
}

/** A message of the monitor for a fired slot. */
export function monitorFiredWrites(of: Scope, { monitor }: ScheduleRow, slot: number, at: number): MonitorWrites {
  if (monitor === undefined) return noWrites
  const message: TaskMessage = {
    id: `${monitor}.${slot}`,
    direction: 'out',
    text: `Monitor fired at ${new Date(slot).toISOString()}.`,
    at,
  }
  return {
    documents: [collections.taskMessage.write(message, of, monitor, at, `out.${slot}`)],
    events: [eventOf(sessionSubject(of), 'task.message', at, { task: monitor, message: message.id, direction: 'out' })],
  }
}

/** Ends the monitor if its schedule ends or is removed (`after` null). */
export async function monitorEndWrites(
  store: Store,
  of: Scope,
  before: ScheduleRow,
  after: ScheduleRow | null,
  at: number,
): Promise<MonitorWrites> {
  const { monitor } = before
  if (monitor === undefined || before.state === 'ended' || (after && after.state !== 'ended')) return noWrites
  const stored = await store.document(collections.task.name(of, monitor))
  const row = stored && collections.task.parse(stored.value)
  if (!row || row.kind !== monitorKind || row.ended) return noWrites
  const ended = { state: after ? ('succeeded' as const) : ('cancelled' as const), at, runs: (after ?? before).runs }
  return {
    documents: [
      {
        ...collections.task.name(of, monitor),
        ...(before.secret ? { secret: true as const } : {}),
        value: JSON.stringify({ ...row, ended }),
      },
    ],
    events: [eventOf(sessionSubject(of), 'task.ended', at, { task: monitor, state: ended.state })],
  }
}
