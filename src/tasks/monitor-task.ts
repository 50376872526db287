// A monitor is the task that stands for a schedule. It has no call: its state is read from the schedule.
// schedules/schedule-monitor.ts writes it together with the schedule.

import type { Outcome } from '../core/outcome.ts'
import { scheduleName, type TaskRow } from '../store/records/task-record.ts'
import type { StoredDocument, Store } from '../store/store.ts'
import type { Task } from '../tools/context/tasks.ts'

/** The task that a schedule is made with. */
export interface Monitor {
  readonly id: string
  /** Where in a body it was made: that body, run again, does not make it again. */
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

export async function readMonitor(store: Store, kept: StoredDocument, row: TaskRow): Promise<Task> {
  const of = { tenant: kept.tenant, session: kept.session }
  const there = row.ended ? undefined : await store.document(scheduleName(of, row.links.schedule ?? ''))
  const schedule = there && (JSON.parse(there.value) as MonitoredSchedule)
  const mine = schedule?.monitor === kept.key ? schedule : undefined
  const {
    state = mine ? 'running' : 'cancelled',
    at = mine?.lastAt ?? row.createdAt,
    runs = mine?.runs ?? 0,
  } = row.ended ?? {}
  const outcome = state === 'running' ? null : state === 'succeeded' ? succeeded : cancelled
  return {
    id: kept.key,
    kind: row.kind,
    title: row.title,
    tool: row.tool,
    state,
    status:
      !mine || outcome
        ? null
        : mine.state === 'paused'
          ? 'Paused'
          : `Next at ${new Date(mine.nextAt ?? 0).toISOString()}`,
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
