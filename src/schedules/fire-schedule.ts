// Fires one slot of a schedule: one commit advances the schedule and records the task or the notice. The commit is
// guarded by the revisions of the schedule and of its `due` row, so exactly one worker fires the slot, even if clocks
// differ, and after a crash either everything is recorded or nothing.

import { isTerminal } from '../core/task-state.ts'
import { PawlError } from '../core/errors.ts'
import { decode } from '../core/tool-value.ts'
import type { Scope } from '../core/scope.ts'
import { type NewEvent, sessionSubject } from '../store/records/event.ts'
import { noticeAdded, noticeOf } from '../store/records/notice.ts'
import { noticeKey } from '../store/records/task-record.ts'
import type { Guard, StoredDocument } from '../store/store.ts'
import type { BackgroundHost, Owner } from '../tasks/ports.ts'
import { monitorFiredWrites } from './monitor-task-writes.ts'
import { readTask } from '../tasks/read-task.ts'
import { advanceSchedule, isCurrentDueRow, readRow, type ScheduleRow, type ScheduleSlot } from './schedule-row.ts'
import { scheduleTransition, type ScheduleWrites } from './schedule-events.ts'
import { maxCatchUp, type Plan, planSlots } from './due-slots.ts'
import type { SchedulesHost } from './ports.ts'
import { startTask } from '../tasks/start-task.ts'
import type { Logger } from '../tools/context/tool-context.ts'
import { collections } from '../store/collections.ts'

/** `left`: the row stays, for another worker or for later. `done`: this `due` row needs no more work. */
export type FireResult = 'done' | 'left'

const noWrites: ScheduleWrites = { documents: [], events: [] }

/** A slot that starts a task. */
interface SlotToFire {
  readonly owner: Owner
  readonly id: string
  readonly row: ScheduleRow
  readonly plan: Plan
  readonly slot: number
  readonly at: number
  readonly guards: readonly Guard[]
}

export async function fireSchedule(host: SchedulesHost, due: StoredDocument, id: string): Promise<FireResult> {
  const { store, clock } = host
  const of: Scope = { tenant: due.tenant, session: due.session }
  const [stored, sessionEnd] = await Promise.all([
    store.document(collections.schedule.name(of, id)),
    store.document(collections.sessionEnd.name(of)),
  ])
  const row = stored && readRow(stored)
  const guards: Guard[] = [
    { kind: 'kept', ...collections.schedule.name(of, id), revision: stored?.revision ?? 0 },
    { kind: 'kept', ...collections.due.name(of, due.key), revision: due.revision },
  ]
  // The `due` row is stale: it belongs to no current schedule. Remove it.
  if (!row || row.state !== 'active' || !isCurrentDueRow(due, id, row))
    return commitOnce(host, guards, {
      documents: [collections.due.remove(of, due.key)],
      events: [],
    })
  const at = clock.now()
  // The clock was set back since this worker read the row.
  if ((row.nextAt as number) > at) return 'left'
  const owner: Owner = { ...of, ...row.behalf }
  // Leave the slot to a worker that has the tool with background support.
  if (row.tool !== null && !host.registry.tool(owner, row.tool)?.background) return 'left'
  // An ended session starts nothing; session.end removes the row with the other schedules.
  if (sessionEnd) return 'left'
  const plan = planSlots(row, row.nextAt as number, at, host.limits.toleranceMs)
  const { fire: slot } = plan
  const advance = async (fired: ScheduleSlot | null, also = noWrites): Promise<FireResult> => {
    const after = advanceSchedule(row, plan, at, fired)
    const transition = await scheduleTransition(store, of, id, { before: row, after, at })
    const notEnded = { kind: 'kept', ...collections.sessionEnd.name(of), revision: 0 } as const
    return commitOnce(host, [...guards, notEnded], mergeWrites(transition, also))
  }
  if (slot === null) return advance(null)
  if (row.message !== null) {
    const noticeRow = { at, about: 'schedule', title: row.title, text: row.message } as const
    const notice = noticeOf(of, noticeKey(slot, `${id}.${row.born}`, 0), noticeRow)
    const also = {
      documents: [notice.row, ...host.wakes.rows(of, `${id}.${row.born}.${slot}`)],
      events: [noticeAdded(sessionSubject(of), notice.added, at)],
    }
    return advance({ slot, firedAt: at, outcome: 'started' }, also)
  }
  return start(host, { owner, id, row, plan, slot, at, guards }, advance)
}

/** Commits without retry: a rejection means that another worker processed the row. */
async function commitOnce(
  { store, logger }: SchedulesHost,
  guards: readonly Guard[],
  written: ScheduleWrites,
): Promise<FireResult> {
  const { ok } = await store.commit({ guards, ...written })
  if (ok) logMissed(logger, written.events)
  return 'done'
}

/** One line per schedule and commit. Slots that failed are logged with their error. */
function logMissed(logger: Logger, events: readonly NewEvent[]): void {
  const missed = events.flatMap((event) => (event.type === 'schedule.missed' ? [event] : []))
  for (const outcome of ['missed', 'overlap'] as const) {
    const slots = missed.flatMap(({ body }) => (body.outcome === outcome ? [body.slot] : []))
    const [first] = missed
    if (!first || slots.length === 0) continue
    const about = { schedule: first.body.schedule, session: first.session, slots: slots.length, last: slots.at(-1) }
    if (outcome === 'missed') logger.warn('A schedule missed slots: no worker fired them in time', about)
    else logger.info('A schedule skipped a slot: its last run has not ended', about)
  }
}

const mergeWrites = (one: ScheduleWrites, other: ScheduleWrites): ScheduleWrites => ({
  documents: [...one.documents, ...other.documents],
  events: [...one.events, ...other.events],
})

async function start(
  host: SchedulesHost,
  { owner, id, row, plan, slot, at, guards }: SlotToFire,
  advance: (fired: ScheduleSlot | null) => Promise<FireResult>,
): Promise<FireResult> {
  const { overlap } = row
  const running = overlap === 'parallel' ? [] : await openRuns(host, owner, row.running)
  if (running.length >= (overlap === 'skip' ? 1 : maxCatchUp))
    return advance({ slot, firedAt: at, outcome: 'overlap', task: running[0] as string })
  try {
    // If a task with the id of the slot exists, it belongs to an earlier schedule with this id or was started by the
    // host. It cannot be a run of this slot: that would have advanced the schedule in the same commit. Use the second
    // id.
    for (const task of [`${id}.${slot}`, `${id}.${slot}.${row.born}`]) {
      const fired: ScheduleSlot = { slot, firedAt: at, outcome: 'started', task }
      const after = advanceSchedule(row, plan, at, fired, overlap === 'parallel' ? [] : [...running, task])
      const transition = await scheduleTransition(host.store, owner, id, { before: row, after, at })
      const writes = mergeWrites(monitorFiredWrites(owner, row, slot, at), transition)
      const also = { guards, ...writes }
      const result = await startResult(
        startTask(host, owner, taskSpec(row, task), { ...taskOrigin(row, id, slot, running), also }),
      )
      if (result === 'taken') continue
      if (result === 'started') logMissed(host.logger, writes.events)
      return 'done'
    }
    // If another worker just fired the slot under the second id, the guards reject this commit.
    return await advance({ slot, firedAt: at, outcome: 'failed', why: 'Other tasks have the ids of its task.' })
  } catch (error) {
    if (!isStartError(error)) throw error
    // In the meantime the tool was removed from this worker (another one may have it), or the session ended.
    if (error.code === 'session_ended' || !host.registry.tool(owner, row.tool as string)?.background) return 'left'
    host.logger.warn('A schedule could not start its task', { schedule: id, session: owner.session, slot, error })
    return advance({ slot, firedAt: at, outcome: 'failed', why: error.message.slice(0, 500).toWellFormed() })
  }
}

/** `taken`: another task has the id. `refused`: another worker processed the row. */
async function startResult(starting: ReturnType<typeof startTask>): Promise<'started' | 'taken' | 'refused'> {
  try {
    const started = await starting
    return started === null ? 'refused' : started.existed ? 'taken' : 'started'
  } catch (error) {
    if (error instanceof PawlError && error.code === 'task_conflict') return 'taken'
    throw error
  }
}

/** Whether the error concerns the task to start, and not the store or this runtime. */
export const isStartError = (error: unknown): error is PawlError =>
  error instanceof PawlError && !['store_unavailable', 'lease_lost', 'runtime_closed'].includes(error.code)

export const taskSpec = ({ tool, input, title, wake }: ScheduleRow, id: string) => ({
  id,
  tool: tool as string,
  input: decode(input as string),
  title,
  wake,
})

/** `running`: earlier runs that are still open. */
export const taskOrigin = ({ overlap }: ScheduleRow, id: string, slot: number, running: readonly string[]) => ({
  kind: 'scheduled',
  links: { schedule: id, slot },
  ...(overlap === 'queue' ? { after: running } : {}),
})

/** The ids of the runs that have not ended. */
export async function openRuns(host: BackgroundHost, of: Scope, tasks: readonly string[]): Promise<readonly string[]> {
  const found = await Promise.all(tasks.map((task) => readTask(host, of, task)))
  return found.flatMap((task) => (task && !isTerminal(task.state) ? [task.id] : []))
}
