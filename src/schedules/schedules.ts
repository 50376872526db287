// The schedules of one session: runs of a tool, or messages, at recurring times or at one instant. This file creates
// and changes them; the scheduler fires them.

import { checkRequiredOptions, option, type OptionTable } from '../core/check-options.ts'
import { PawlError } from '../core/errors.ts'
import { lengthPrefixed } from '../core/ids.ts'
import { formatValue } from '../core/format-value.ts'
import { eventOf, sessionSubject } from '../store/records/event.ts'
import { noticeAdded, noticeOf } from '../store/records/notice.ts'
import { noticeKey } from '../store/records/task-record.ts'
import { nextAfter, nextTimes, checkTiming } from './next-cron-times.ts'
import type { Guard } from '../store/store.ts'
import { taskOrigin, taskSpec, openRuns } from './fire-schedule.ts'
import type { Owner } from '../tasks/ports.ts'
import type { Monitor } from '../tasks/read-schedule-monitor.ts'
import { monitorFiredWrites, monitorRows } from './monitor-task-writes.ts'
import {
  type ScheduleDefinition,
  scheduleRows,
  type Overlap,
  pauseSchedule,
  readRow,
  withHistory,
  resumeSchedule,
  sameDefinition,
  type Schedule,
  type ScheduleRow,
  type ScheduleSlot,
  toSchedule,
} from './schedule-row.ts'
import { scheduleTransition } from './schedule-events.ts'
import { type CatchUp, maxCatchUp } from './due-slots.ts'
import { startTask } from '../tasks/start-task.ts'
import type { SchedulesHost } from './ports.ts'
import { checkStartId, checkStart, rejectWith, startOptions, type StartSpec } from './start-target.ts'
import { collections } from '../store/collections.ts'

/** A schedule to create: what to start, and when. */
export interface CreateSchedule extends StartSpec {
  /** Five fields: minute, hour, day of month, month, day of week; or '@daily' and the like. Either this or `at`. */
  readonly cron?: string
  /** One instant: RFC 3339 with an offset or Z, milliseconds since 1970, or a Date. */
  readonly at?: string | number | Date
  /** An IANA time zone name (default 'UTC'). */
  readonly timezone?: string
  /**
   * Slots that no worker fired in time: start nothing for them (`skip`), one run for all of them (`once`, the default),
   * or one run for each of the last `cap` (`all`).
   */
  readonly catchUp?: CatchUp
  /** Maximum number of missed slots that `catchUp: 'all'` runs late (default 10, at most 100). */
  readonly cap?: number
  /**
   * If the previous run is open: skip the slot (`skip`, the default), run after it (`queue`), or at the same time
   * (`parallel`).
   */
  readonly overlap?: Overlap
}

/** Creates and manages the schedules of a session. */
export interface Schedules {
  /**
   * Durable when it resolves; any worker that has the tool fires it. Idempotent: the same `id` with the same content
   * returns the existing schedule.
   */
  create(schedule: CreateSchedule): Promise<Schedule>
  /** The schedule with this id; undefined if there is none. */
  get(id: string): Promise<Schedule | undefined>
  /** In order of creation, ended schedules included. */
  list(): Promise<Schedule[]>
  /**
   * Stops firing until `resume`. Slots during the pause are not made up for; slots already due are recorded as missed.
   */
  pause(id: string): Promise<Schedule>
  /** Continues with the next slot. A one-time schedule whose instant passed during the pause ends. */
  resume(id: string): Promise<Schedule>
  /** Removes the schedule. Tasks it started continue. False if there was none. */
  cancel(id: string): Promise<boolean>
  /**
   * Starts a run now, independent of its slots, and returns the task id; null for a message, which becomes a notice.
   */
  runNow(id: string): Promise<{ readonly task: string | null }>
  /** The next due instants; for a paused schedule, those after resuming now. `count`: default 5, at most 1000. */
  nextTimes(id: string, count?: number): Promise<number[]>
  /** The outcomes of its last slots (at most 50), oldest first. */
  history(id: string): Promise<ScheduleSlot[]>
}

/** Paused schedules allowed in addition to the active ones, and ended schedules that are remembered. */
const maxInactive = 50
const maxTimes = 1_000
const maxAttempts = 1_000
export const scheduleOptions = {
  ...startOptions,
  cron: option.string,
  at: option.anything,
  timezone: option.string,
  catchUp: option.oneOf('skip', 'once', 'all'),
  cap: option.wholeNumber(1, maxCatchUp),
  overlap: option.oneOf('skip', 'queue', 'parallel'),
} satisfies OptionTable<CreateSchedule>
const refuse = rejectWith('schedule_invalid')

/** The new row, or `row: null` to remove the schedule. Null: leave it unchanged. */
type ScheduleChange = { readonly row: ScheduleRow | null } | null
interface Found {
  readonly row: ScheduleRow
  readonly guards: readonly Guard[]
}

/**
 * `monitor`: the monitor task to create with a schedule that a model makes. `fence`: guards of a schedule that a body
 * makes: the body still holds the lease of its call.
 */
export function openSchedules(
  host: SchedulesHost,
  owner: Owner,
  { monitor, fence }: { monitor?: Monitor; fence?: (() => readonly Guard[]) | undefined } = {},
): Schedules {
  const { store, clock, ids } = host
  const of = { tenant: owner.tenant, session: owner.session }
  const gate = collections.scheduleGate.name(of)

  const find = async (id: string): Promise<Found | undefined> => {
    if (typeof id !== 'string' || id === '') return undefined
    const [stored, gateRow] = await Promise.all([
      store.document(collections.schedule.name(of, id)),
      store.document(gate),
    ])
    if (!stored) return undefined
    const guards: Guard[] = [
      { kind: 'kept', ...collections.schedule.name(of, id), revision: stored.revision },
      { kind: 'kept', ...gate, revision: gateRow?.revision ?? 0 },
    ]
    return { row: readRow(stored), guards }
  }
  const requireSchedule = async (id: string): Promise<Found> => {
    const existing = await find(id)
    if (!existing) throw new PawlError('schedule_unknown', `The id is ${formatValue(id)}.`)
    return existing
  }
  const rows = async (): Promise<{ id: string; row: ScheduleRow }[]> => {
    const all: { id: string; row: ScheduleRow }[] = []
    for await (const stored of collections.schedule.iterate(store, of))
      all.push({ id: stored.key, row: readRow(stored) })
    return all.toSorted((a, b) => a.row.createdAt - b.row.createdAt || (a.row.born < b.row.born ? -1 : 1))
  }
  const checkRoom = (others: readonly { row: ScheduleRow }[]): void => {
    const active = others.filter(({ row }) => row.state === 'active').length
    if (active >= host.limits.active)
      throw new PawlError('schedules_full', `${active} schedules are active; the limit is ${host.limits.active}.`)
    const open = others.filter(({ row }) => row.state !== 'ended').length
    if (open >= host.limits.active + maxInactive)
      throw new PawlError(
        'schedules_full',
        `${open} schedules are active or paused; the limit is ${host.limits.active + maxInactive}.`,
      )
  }
  /** Repeats an attempt until its commit is not rejected by a concurrent change, such as a slot being fired. */
  const retryUntilCommitted = <T>(attempt: () => Promise<T | undefined>): Promise<T> =>
    host.mutex.run(lengthPrefixed('schedules', of.tenant, of.session), async () => {
      for (let tries = 0; tries < maxAttempts; tries++) {
        const result = await attempt()
        if (result !== undefined) return result
      }
      throw new PawlError(
        'store_unavailable',
        'Too many concurrent changes to the schedules; nothing was written. Try again.',
      )
    })
  const notEnded = { kind: 'kept', ...collections.sessionEnd.name(of), revision: 0 } as const
  /** Throws for a rejection that a retry cannot resolve. */
  const throwIfPermanent = (refused: Guard): undefined => {
    if (refused.kind === 'holds') throw new PawlError('lease_lost')
    if (refused.kind === 'kept' && refused.of === notEnded.of) throw new PawlError('session_ended')
  }
  const bump = { ...gate, value: '1' }
  const change = (
    id: string,
    make: (row: ScheduleRow) => ScheduleChange | Promise<ScheduleChange>,
  ): Promise<Schedule | null> =>
    retryUntilCommitted(async () => {
      const { row, guards } = await requireSchedule(id)
      const next = await make(row)
      if (!next) return toSchedule(id, row)
      const { documents, events } = await scheduleTransition(store, of, id, {
        before: row,
        after: next.row,
        at: clock.now(),
      })
      if (!(await store.commit({ guards, documents: [...documents, bump], events })).ok) return undefined
      if (next.row && next.row.nextAt !== null) host.due.dueAt(next.row.nextAt)
      return next.row && toSchedule(id, next.row)
    })

  return {
    async create(request) {
      checkRequiredOptions(request, scheduleOptions, 'schedules.create()', 'schedule_invalid')
      const id = checkStartId(request.id ?? `schedule_${ids.next()}`, 'schedule_invalid')
      const now = clock.now()
      // A repeated request is validated as of the first creation: its instant may have passed since.
      const before = await store.document(collections.schedule.name(of, id))
      const { secret, ...definition } = await checkDefinition(
        host,
        owner,
        request,
        before ? readRow(before).createdAt : now,
      )
      const { principal, policy, unattended } = owner
      const nextAt = nextAfter(definition.timing, now)
      const row: ScheduleRow = {
        ...definition,
        born: ids.next(),
        behalf: { principal, ...(policy === undefined ? {} : { policy }), ...(unattended ? { unattended } : {}) },
        ...(secret ? { secret: true as const } : {}),
        ...(monitor === undefined ? {} : { monitor: monitor.id }),
        state: 'active',
        nextAt,
        lastAt: null,
        runs: 0,
        running: [],
        createdAt: now,
        history: [],
      }
      return retryUntilCommitted(async () => {
        const stored = await store.document(collections.schedule.name(of, id))
        if (stored) {
          const existing = readRow(stored)
          if (!sameDefinition(existing, definition) || (monitor && existing.monitor !== monitor.id))
            throw new PawlError('schedule_conflict', `The id is '${id}'.`)
          return toSchedule(id, existing)
        }
        if (nextAt === null) return refuse('`at` is in the past.')
        const gateRow = await store.document(gate)
        const others = await rows()
        checkRoom(others)
        const ended = others.filter((each) => each.row.state === 'ended')
        const pruned = ended.slice(0, Math.max(0, ended.length + 1 - maxInactive))
        const { title, tool } = row
        const about = { schedule: id, order: ids.next(), title, tool: tool ?? '', at: now, secret }
        const monitorWrites = monitor && (await monitorRows(store, of, monitor, about))
        const written = await store.commit({
          guards: [
            notEnded,
            { kind: 'kept', ...collections.schedule.name(of, id), revision: 0 },
            { kind: 'kept', ...gate, revision: gateRow?.revision ?? 0 },
            ...(monitorWrites?.guards ?? []),
            ...(fence?.() ?? []),
          ],
          documents: [
            ...scheduleRows(of, id, null, row),
            bump,
            ...(monitorWrites?.documents ?? []),
            ...pruned.flatMap((each) => scheduleRows(of, each.id, each.row, null)),
          ],
          events: [
            eventOf({ ...sessionSubject(of), call: monitor?.call ?? '' }, 'schedule.created', now, { schedule: id }),
            ...(monitorWrites?.events ?? []),
          ],
        })
        if (!written.ok) return throwIfPermanent(written.refused)
        host.due.dueAt(nextAt)
        return toSchedule(id, row)
      })
    },
    async get(id) {
      const existing = await find(id)
      return existing && toSchedule(id, existing.row)
    },
    list: async () => (await rows()).map(({ id, row }) => toSchedule(id, row)),
    pause: async (id) =>
      (await change(id, (row) => {
        if (row.state === 'ended') throw new PawlError('schedule_over', `The id is '${id}'.`)
        return row.state === 'paused' ? null : { row: pauseSchedule(row, clock.now()) }
      })) as Schedule,
    resume: async (id) =>
      (await change(id, async (row) => {
        if (row.state === 'ended') throw new PawlError('schedule_over', `The id is '${id}'.`)
        if (row.state === 'active') return null
        const next = resumeSchedule(row, clock.now())
        if (next.state === 'active') checkRoom((await rows()).filter((each) => each.id !== id))
        return { row: next }
      })) as Schedule,
    async cancel(id) {
      if (!(await find(id))) return false
      try {
        await change(id, () => ({ row: null }))
        return true
      } catch (error) {
        if (error instanceof PawlError && error.code === 'schedule_unknown') return false
        throw error
      }
    },
    async runNow(id) {
      const runId = ids.next()
      return retryUntilCommitted(async () => {
        const { row, guards } = await requireSchedule(id)
        const at = clock.now()
        if (row.message !== null) {
          const noticeRow = { at, about: 'schedule', title: row.title, text: row.message } as const
          const notice = noticeOf(of, noticeKey(at, `${id}.${runId}`, 0), noticeRow)
          const after = withHistory(row, [{ slot: at, firedAt: at, outcome: 'started', byHand: true }])
          const { documents, events } = await scheduleTransition(store, of, id, { before: row, after, at })
          const written = await store.commit({
            guards: [notEnded, ...guards],
            documents: [...documents, bump, notice.row, ...host.wakes.rows(of, `${id}.${runId}`)],
            events: [...events, noticeAdded(sessionSubject(of), notice.added, at)],
          })
          return written.ok ? { task: null } : throwIfPermanent(written.refused)
        }
        const task = `${id}.${runId}`
        const running = row.overlap === 'parallel' ? [] : await openRuns(host, of, row.running)
        const open = row.overlap === 'parallel' ? [] : [...running, task]
        const after = withHistory(row, [{ slot: at, firedAt: at, outcome: 'started', task, byHand: true }], open)
        const transition = await scheduleTransition(store, of, id, { before: row, after, at })
        const fired = monitorFiredWrites(of, row, at, at)
        const also = {
          guards,
          documents: [...transition.documents, bump, ...fired.documents],
          events: [...transition.events, ...fired.events],
        }
        const started = await startTask(host, { ...of, ...row.behalf }, taskSpec(row, task), {
          ...taskOrigin(row, id, at, running),
          also,
        })
        return started ? { task } : undefined
      })
    },
    async nextTimes(id, count = 5) {
      if (!Number.isSafeInteger(count) || count < 1 || count > maxTimes)
        refuse(`count is ${String(count)}; it must be an integer from 1 to ${maxTimes}.`)
      const { row } = await requireSchedule(id)
      const { nextAt } = row.state === 'paused' ? resumeSchedule(row, clock.now()) : row
      // A slot that is due but not fired yet is included.
      return nextAt === null ? [] : nextTimes(row.timing, nextAt - 1, count)
    },
    history: async (id) => [...(await requireSchedule(id)).row.history],
  }
}

async function checkDefinition(
  host: SchedulesHost,
  owner: Owner,
  request: CreateSchedule,
  now: number,
): Promise<ScheduleDefinition & { readonly secret: boolean }> {
  const { cron, at, timezone, catchUp = 'once', cap = 10, overlap = 'skip' } = request
  const timing = checkTiming({ cron, at, timezone }, now, { leastMs: host.limits.leastMs })
  const start = await checkStart(host, owner, request, { code: 'schedule_invalid' })
  return { timing, ...start, catchUp, cap, overlap }
}
