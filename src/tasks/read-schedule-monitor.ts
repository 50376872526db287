// Reads monitors. A monitor is the task that represents a schedule made by a model. It has no call: its state is read
// from the schedule. schedules/monitor-task-writes.ts writes it together with the schedule.

import type { Outcome } from '../core/outcome.ts'
import { type TaskRow } from '../store/records/task-record.ts'
import type { StoredDocument, Store } from '../store/store.ts'
import type { Task } from '../tools/context/task-interfaces.ts'
import { collections } from '../store/collections.ts'

/** The monitor to create with a schedule. */
export interface Monitor {
  readonly id: string
  /** The position in the body that created it, so that a rerun of the body does not create it again. */
  readonly place?: string
  readonly call?: string
}

/** The fields of a schedule that its monitor shows. */
interface MonitoredSchedule {
  readonly monitor?: string
  readonly state: 'active' | 'paused' | 'ended'
  readonly nextAt: number | null
  readonly lastAt: number | null
  readonly runs: number
}

const succeeded: Outcome = { status: 'success', value: null, summary: 'Scheduled monitor completed' }
const cancelled: Outcome = {
  status: 'cancelled',
  cancellation: { message: 'The schedule was cancelled', source: 'cancellation' },
}

export async function readMonitor(store: Store, stored: StoredDocument, row: TaskRow): Promise<Task> {
  const of = { tenant: stored.tenant, session: stored.session }
  const scheduleRow = row.ended
    ? undefined
    : await store.document(collections.schedule.name(of, row.links.schedule ?? ''))
  const found = scheduleRow && (collections.schedule.parse(scheduleRow.value) as MonitoredSchedule)
  // The id may belong to a later schedule with another monitor.
  const schedule = found?.monitor === stored.key ? found : undefined
  const {
    state = schedule ? 'running' : 'cancelled',
    at = schedule?.lastAt ?? row.createdAt,
    runs = schedule?.runs ?? 0,
  } = row.ended ?? {}
  const outcome = state === 'running' ? null : state === 'succeeded' ? succeeded : cancelled
  return {
    id: stored.key,
    kind: row.kind,
    title: row.title,
    tool: row.tool,
    state,
    status:
      !schedule || outcome
        ? null
        : schedule.state === 'paused'
          ? 'Paused'
          : `Next at ${new Date(schedule.nextAt ?? 0).toISOString()}`,
    progress: null,
    inputRequest: null,
    artifacts: [],
    summary:
      outcome === null ? null : outcome === succeeded ? 'Scheduled monitor completed' : 'The schedule was cancelled',
    outcome,
    logPath: null,
    resultPath: null,
    wake: row.wake,
    parent: row.parent,
    attempt: runs,
    createdAt: row.createdAt,
    startedAt: row.createdAt,
    finishedAt: outcome === null ? null : at,
    updatedAt: at,
    call: '',
    links: row.links,
  }
}
