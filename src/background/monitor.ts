// A monitor: the task by which a model sees a schedule that it made (TASK-1). It is no call and has no state of its own: it is read from the schedule. It
// runs as long as that is there, has succeeded when that is over, and is cancelled with it.

import { messageName, orderName, taskName, type TaskRow } from '../journal/task.ts'
import type { Outcome } from '../kernel/outcome.ts'
import type { Change, Kept, Store } from '../store/store.ts'
import type { Task, TaskMessage } from '../tool/task.ts'
import { readRow, scheduleName, type ScheduleRow, type Scope } from './schedule-row.ts'

export const monitorKind = 'monitor'

type Keep = NonNullable<Change['keep']>

/** Its rows, on record with the schedule. `order`: where it stands among the tasks of its session. */
export function rowsOfMonitor(
  of: Scope,
  id: string,
  schedule: string,
  about: { order: string; title: string; tool: string; at: number },
): Keep {
  const { order, title, tool, at } = about
  const row: TaskRow = {
    uid: order,
    kind: monitorKind,
    title,
    tool,
    wake: 'silent',
    parent: null,
    onEnd: 'cancel',
    createdAt: at,
    links: { schedule },
  }
  return [
    { ...taskName(of, id), value: JSON.stringify(row) },
    { ...orderName(of, order), value: id },
  ]
}

/** With a slot that is fired: it tells so. */
export function monitorFired(of: Scope, { monitor }: ScheduleRow, slot: number, at: number): Keep {
  if (monitor === undefined) return []
  const message: TaskMessage = { id: `${monitor}.${slot}`, direction: 'out', text: `Monitor fired at ${new Date(slot).toISOString()}.`, at }
  return [{ ...messageName(of, monitor, at, `out.${slot}`), value: JSON.stringify(message) }]
}

export async function readMonitor(store: Store, kept: Kept, row: TaskRow): Promise<Task> {
  const of = { tenant: kept.tenant, session: kept.session }
  const there = await store.kept(scheduleName(of, row.links.schedule ?? ''))
  const schedule = there && readRow(there)
  const mine = schedule?.monitor === kept.key ? schedule : undefined
  const ended: Outcome | null = !mine
    ? { status: 'cancelled', cancellation: { message: 'The schedule was cancelled', source: 'cancellation' } }
    : mine.state === 'ended'
      ? { status: 'success', value: null, summary: 'Scheduled monitor completed' }
      : null
  const at = mine?.lastAt ?? row.createdAt
  return {
    id: kept.key,
    kind: row.kind,
    title: row.title,
    tool: row.tool,
    state: ended === null ? 'running' : ended.status === 'success' ? 'succeeded' : 'cancelled',
    status: !mine || ended ? null : mine.state === 'paused' ? 'Paused' : `Next at ${new Date(mine.nextAt ?? 0).toISOString()}`,
    progress: null,
    inputRequest: null,
    artifacts: [],
    summary: ended === null ? null : ended.status === 'success' ? 'Scheduled monitor completed' : 'The schedule was cancelled',
    outcome: ended,
    logPath: null,
    resultPath: null,
    wake: row.wake,
    parent: row.parent,
    attempt: mine?.runs ?? 0,
    createdAt: row.createdAt,
    startedAt: row.createdAt,
    finishedAt: ended === null ? null : at,
    updatedAt: at,
    call: '',
    links: row.links,
  }
}
