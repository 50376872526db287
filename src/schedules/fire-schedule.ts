// Fires one slot of a schedule (CRON-2): one change moves the schedule on and puts the task, or the notice, on record. It is guarded by the
// revision of the schedule and by its row among what is due, so of all workers that look one fires, whatever their clocks say; and a crash
// leaves either the slot as it was or everything of it.

import { isTerminal } from '../core/task-state.ts'
import { PawlError } from '../core/errors.ts'
import { decode } from '../core/value.ts'
import { ofSession } from '../store/records/event.ts'
import { noticeAdded, noticeOf } from '../store/records/notice.ts'
import { endName, noticeKey } from '../store/records/task-record.ts'
import type { Guard, StoredDocument } from '../store/store.ts'
import type { BackgroundHost, Owner } from '../tasks/ports.ts'
import { monitorFired } from './schedule-monitor.ts'
import { readTask } from '../tasks/read-task.ts'
import { scheduleName } from '../store/records/task-record.ts'
import { afterSlot, isDueOf, readRow, type ScheduleRow, type ScheduleSlot, type Scope } from './schedule-row.ts'
import { scheduleMoves, type Written } from './schedule-events.ts'
import { mostCap, type Plan, planOf } from './due-slots.ts'
import { startTask } from '../tasks/start-task.ts'

/** `left`: not for this worker, or not now. Else there is nothing more to do about this row. */
export type Fired = 'done' | 'left'

export interface FireHost extends BackgroundHost {
  /** A slot that is fired later than this was missed. */
  readonly toleranceMs: number
}

const nothing: Written = { documents: [], events: [] }

/** What the change of a slot is made of. */
interface Firing {
  readonly owner: Owner
  readonly id: string
  readonly row: ScheduleRow
  readonly plan: Plan
  readonly slot: number
  readonly at: number
  readonly guards: readonly Guard[]
}

export async function fireSchedule(host: FireHost, due: StoredDocument, id: string): Promise<Fired> {
  const { store, clock } = host
  const of: Scope = { tenant: due.tenant, session: due.session }
  const [kept, over] = await Promise.all([store.document(scheduleName(of, id)), store.document(endName(of, ''))])
  const row = kept && readRow(kept)
  const guards: Guard[] = [
    { kind: 'kept', ...scheduleName(of, id), revision: kept?.revision ?? 0 },
    { kind: 'kept', of: 'due', ...of, key: due.key, revision: due.revision },
  ]
  // Of no schedule that there is: it is only in the way.
  if (!row || row.state !== 'active' || !isDueOf(due, id, row))
    return done(host, guards, { documents: [{ of: 'due', ...of, key: due.key, value: null }], events: [] })
  const at = clock.now()
  // The clock was put back since this worker looked.
  if ((row.nextAt as number) > at) return 'left'
  const owner: Owner = { ...of, ...row.behalf }
  // Whoever has the tool, and can run it so, has the slot.
  if (row.tool !== null && !host.tool(owner, row.tool)?.background) return 'left'
  // Nothing begins in it any more; it goes with the session's other schedules.
  if (over) return 'left'
  const plan = planOf(row, row.nextAt as number, at, host.toleranceMs)
  const { fire: slot } = plan
  const advance = async (fired: ScheduleSlot | null, also = nothing): Promise<Fired> => {
    const moved = await scheduleMoves(store, of, id, { before: row, after: afterSlot(row, plan, at, fired), at })
    return done(host, [...guards, { kind: 'kept', ...endName(of, ''), revision: 0 }], together(moved, also))
  }
  if (slot === null) return advance(null)
  if (row.message !== null) {
    const said = { at, about: 'schedule', title: row.title, text: row.message } as const
    const notice = noticeOf(of, noticeKey(slot, `${id}.${row.born}`, 0), said)
    const also = {
      documents: [notice.row, ...host.wakes.rows(of, `${id}.${row.born}.${slot}`)],
      events: [noticeAdded(ofSession(of), notice.added, at)],
    }
    return advance({ slot, firedAt: at, outcome: 'started' }, also)
  }
  return start(host, { owner, id, row, plan, slot, at, guards }, advance)
}

/** Written, or another was first: then there is nothing left to do here. */
async function done({ store }: FireHost, guards: readonly Guard[], written: Written): Promise<Fired> {
  await store.commit({ guards, ...written })
  return 'done'
}

const together = (one: Written, other: Written): Written => ({
  documents: [...one.documents, ...other.documents],
  events: [...one.events, ...other.events],
})

async function start(
  host: FireHost,
  { owner, id, row, plan, slot, at, guards }: Firing,
  advance: (fired: ScheduleSlot | null) => Promise<Fired>,
): Promise<Fired> {
  const { overlap } = row
  const running = overlap === 'parallel' ? [] : await stillOpen(host, owner, row.running)
  if (running.length >= (overlap === 'skip' ? 1 : mostCap))
    return advance({ slot, firedAt: at, outcome: 'overlap', task: running[0] as string })
  try {
    // A task that has the name of its slot is of a schedule that had this id before, or somebody's: what this one starts is on record with it.
    for (const task of [`${id}.${slot}`, `${id}.${slot}.${row.born}`]) {
      const fired: ScheduleSlot = { slot, firedAt: at, outcome: 'started', task }
      const after = afterSlot(row, plan, at, fired, overlap === 'parallel' ? [] : [...running, task])
      const moved = await scheduleMoves(host.store, owner, id, { before: row, after, at })
      const also = { guards, ...together(monitorFired(owner, row, slot, at), moved) }
      const taken = await isTaken(startTask(host, owner, specOf(row, task), { ...howOf(row, id, slot, running), also }))
      if (!taken) return 'done'
    }
    // Another worker fired it a moment ago, under the second: then nothing is written here.
    return await advance({ slot, firedAt: at, outcome: 'failed', why: 'Other tasks have the ids of its task.' })
  } catch (error) {
    if (!isRefusal(error)) throw error
    // It went meanwhile: another worker may have it. Or the session ended, and its schedules go with it.
    if (error.code === 'session_ended' || !host.tool(owner, row.tool as string)?.background) return 'left'
    host.logger.warn('A schedule could not start its task', { schedule: id, session: owner.session, slot, error })
    return advance({ slot, firedAt: at, outcome: 'failed', why: error.message.slice(0, 500).toWellFormed() })
  }
}

/** Whether another task has the id. */
async function isTaken(starting: ReturnType<typeof startTask>): Promise<boolean> {
  try {
    return (await starting)?.there === true
  } catch (error) {
    if (error instanceof PawlError && error.code === 'task_conflict') return true
    throw error
  }
}

/** It says something about what was to start; not about the store, or about this runtime. */
export const isRefusal = (error: unknown): error is PawlError =>
  error instanceof PawlError && !['store_unavailable', 'lease_lost', 'runtime_closed'].includes(error.code)

export const specOf = ({ tool, input, title, wake }: ScheduleRow, id: string) => ({
  id,
  tool: tool as string,
  input: decode(input as string),
  title,
  wake,
})

/** `running`: the runs before it that are open. */
export const howOf = ({ overlap }: ScheduleRow, id: string, slot: number, running: readonly string[]) => ({
  kind: 'scheduled',
  links: { schedule: id, slot },
  ...(overlap === 'queue' ? { after: running } : {}),
})

/** Those that have not ended. */
export async function stillOpen(host: BackgroundHost, of: Scope, tasks: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(tasks.map((task) => readTask(host, of, task)))
  return found.flatMap((task) => (task && !isTerminal(task.state) ? [task.id] : []))
}
