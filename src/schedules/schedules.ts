// SCHEDULES of a session (CRON-1 to CRON-3): runs of a tool, or messages, at times that are given once. They are kept here; who fires them is the scheduler.

import { PawlError } from '../core/errors.ts'
import { frame } from '../core/ids.ts'
import { formatValue } from '../core/format-value.ts'
import { eventOf, ofSession } from '../store/records/event.ts'
import { noticeAdded, noticeOf } from '../store/records/notice.ts'
import { endName, noticeKey } from '../store/records/task-record.ts'
import { nextAfter, nextTimes, timingOf } from './cron.ts'
import { iterateDocuments } from '../store/iterate-documents.ts'
import type { Guard } from '../store/store.ts'
import { howOf, specOf, stillOpen } from './fire-schedule.ts'
import type { BackgroundHost, Owner } from '../tasks/ports.ts'
import type { Monitor } from '../tasks/monitor-task.ts'
import { monitorFired, rowsOfMonitor } from './schedule-monitor.ts'
import {
  type Definition,
  gateName,
  keepSchedule,
  type Overlap,
  paused,
  readRow,
  remembered,
  resumed,
  sameDefinition,
  type Schedule,
  type ScheduleRow,
  type ScheduleSlot,
  shownSchedule,
} from './schedule-row.ts'
import { scheduleMoves } from './schedule-events.ts'
import { type CatchUp, mostCap } from './due-slots.ts'
import type { CheckedLimits } from './schedule-limits.ts'
import { startTask } from '../tasks/start-task.ts'
import { scheduleName } from '../store/records/task-record.ts'
import type { KeyedMutex } from '../core/keyed-mutex.ts'
import { checkedId, checkFields, checkStart, refusing, type WhatStarts } from './start-spec.ts'

export interface CreateSchedule extends WhatStarts {
  /** Five fields: minute, hour, day of month, month, day of week; or '@daily' and the like. Either this or `at`. */
  readonly cron?: string
  /** One instant: RFC 3339 with an offset or Z, milliseconds since 1970, or a Date. */
  readonly at?: string | number | Date
  /** An IANA name; 'UTC' unless given. */
  readonly timezone?: string
  /** Of slots that nobody fired in time: none (`skip`), one run for all of them (`once`, the default), or one for each of the last `cap` (`all`). */
  readonly catchUp?: CatchUp
  /** With `all`; 10 unless given, 100 at most. */
  readonly cap?: number
  /** While a run is open: the next is left out (`skip`, the default), waits for it (`queue`), or runs beside it (`parallel`). */
  readonly overlap?: Overlap
}

export interface Schedules {
  /** On record when it resolves; any worker that has the tool fires it. The same `id` with the same content is the same schedule. */
  create(schedule: CreateSchedule): Promise<Schedule>
  get(id: string): Promise<Schedule | undefined>
  /** In the order in which they were made. Those that have ended too. */
  list(): Promise<Schedule[]>
  /** No slot of it is fired until it is resumed; those in between are not made up for, and one that was due before is on record as missed. */
  pause(id: string): Promise<Schedule>
  /** Goes on with the next slot. An instant that has passed meanwhile has ended. */
  resume(id: string): Promise<Schedule>
  /** Removes it. Tasks that it started go on. False if there was none. */
  cancel(id: string): Promise<boolean>
  /** Starts a run now, whatever its times say; tells the task. Null for a message: that is among the notices. */
  runNow(id: string): Promise<{ readonly task: string | null }>
  /** The next instants at which it will be due; of one that is paused, would be. */
  nextTimes(id: string, count?: number): Promise<number[]>
  /** What became of its last slots, oldest first. */
  history(id: string): Promise<ScheduleSlot[]>
}

export interface SchedulesHost extends BackgroundHost {
  readonly most: CheckedLimits
  readonly mutex: KeyedMutex
  /** Something will be due at this instant. */
  due(at: number): void
}

/** Besides those that are active; and how many of those that have ended are remembered. */
const mostKept = 50
const mostTimes = 1_000
const mostTries = 1_000
const fields = [
  'tool',
  'input',
  'message',
  'cron',
  'at',
  'timezone',
  'title',
  'catchUp',
  'cap',
  'overlap',
  'wake',
  'id',
] as const
const refuse = refusing('schedule_invalid')

/** What is to be kept instead of it: another row, or nothing. Null: it stays as it is. */
type Changed = { readonly row: ScheduleRow | null } | null
interface Found {
  readonly row: ScheduleRow
  readonly guards: readonly Guard[]
}

/** `monitor`: the task by which a model sees what it made; then a tool is named by a model. `fence`: what must hold for one that a body makes. */
export function openSchedules(
  host: SchedulesHost,
  owner: Owner,
  { monitor, fence }: { monitor?: Monitor; fence?: (() => readonly Guard[]) | undefined } = {},
): Schedules {
  const { store, clock, ids } = host
  const of = { tenant: owner.tenant, session: owner.session }
  const gate = gateName(of)

  const find = async (id: string): Promise<Found | undefined> => {
    if (typeof id !== 'string' || id === '') return undefined
    const [kept, opened] = await Promise.all([store.document(scheduleName(of, id)), store.document(gate)])
    if (!kept) return undefined
    const guards: Guard[] = [
      { kind: 'kept', ...scheduleName(of, id), revision: kept.revision },
      { kind: 'kept', ...gate, revision: opened?.revision ?? 0 },
    ]
    return { row: readRow(kept), guards }
  }
  const found = async (id: string): Promise<Found> => {
    const there = await find(id)
    if (!there) throw new PawlError('schedule_unknown', `The id is ${formatValue(id)}.`)
    return there
  }
  const rows = async (): Promise<{ id: string; row: ScheduleRow }[]> => {
    const all: { id: string; row: ScheduleRow }[] = []
    for await (const kept of iterateDocuments(store, { of: 'schedule', ...of }))
      all.push({ id: kept.key, row: readRow(kept) })
    return all.toSorted((a, b) => a.row.createdAt - b.row.createdAt || (a.row.born < b.row.born ? -1 : 1))
  }
  const checkRoom = (others: readonly { row: ScheduleRow }[]): void => {
    const active = others.filter(({ row }) => row.state === 'active').length
    if (active >= host.most.active) throw new PawlError('schedules_full', `${active} are active, as many as may be.`)
    const open = others.filter(({ row }) => row.state !== 'ended').length
    if (open >= host.most.active + mostKept)
      throw new PawlError('schedules_full', `${open} are there, active or paused.`)
  }
  /** Until nobody else was first: a slot may be fired, or another change made, at the same moment. */
  const until = <T>(attempt: () => Promise<T | undefined>): Promise<T> =>
    host.mutex.run(frame('schedules', of.tenant, of.session), async () => {
      for (let tries = 0; tries < mostTries; tries++) {
        const ended = await attempt()
        if (ended !== undefined) return ended
      }
      throw new PawlError('store_unavailable', 'Others were always first to change this schedule.')
    })
  const ended = { kind: 'kept', ...endName(of, ''), revision: 0 } as const
  /** Somebody was first, and it is looked at again; unless it can never be. */
  const first = (refused: Guard): undefined => {
    if (refused.kind === 'holds') throw new PawlError('lease_lost')
    if (refused.kind === 'kept' && refused.of === ended.of) throw new PawlError('session_ended')
  }
  const bump = { ...gate, value: '1' }
  const change = (id: string, make: (row: ScheduleRow) => Changed | Promise<Changed>): Promise<Schedule | null> =>
    until(async () => {
      const { row, guards } = await found(id)
      const next = await make(row)
      if (!next) return shownSchedule(id, row)
      const { documents, events } = await scheduleMoves(store, of, id, {
        before: row,
        after: next.row,
        at: clock.now(),
      })
      if (!(await store.commit({ guards, documents: [...documents, bump], events })).ok) return undefined
      if (next.row && next.row.nextAt !== null) host.due(next.row.nextAt)
      return next.row && shownSchedule(id, next.row)
    })

  return {
    async create(request) {
      checkFields(request, fields, 'schedule_invalid')
      const id = checkedId(request.id ?? `schedule_${ids.next()}`, 'schedule_invalid')
      const now = clock.now()
      // Asked for again it is judged as it was then: its instant may have passed.
      const before = await store.document(scheduleName(of, id))
      const { secret, ...definition } = await definitionOf(
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
      return until(async () => {
        const there = await store.document(scheduleName(of, id))
        if (there) {
          const asked = readRow(there)
          if (!sameDefinition(asked, definition) || (monitor && asked.monitor !== monitor.id))
            throw new PawlError('schedule_conflict', `The id is '${id}'.`)
          return shownSchedule(id, asked)
        }
        if (nextAt === null) return refuse('Its instant has passed.')
        const opened = await store.document(gate)
        const others = await rows()
        checkRoom(others)
        const over = others.filter((each) => each.row.state === 'ended')
        const forgotten = over.slice(0, Math.max(0, over.length + 1 - mostKept))
        const { title, tool } = row
        const about = { schedule: id, order: ids.next(), title, tool: tool ?? '', at: now, secret }
        const seen = monitor && (await rowsOfMonitor(store, of, monitor, about))
        const written = await store.commit({
          guards: [
            ended,
            { kind: 'kept', ...scheduleName(of, id), revision: 0 },
            { kind: 'kept', ...gate, revision: opened?.revision ?? 0 },
            ...(seen?.guards ?? []),
            ...(fence?.() ?? []),
          ],
          documents: [
            ...keepSchedule(of, id, null, row),
            bump,
            ...(seen?.documents ?? []),
            ...forgotten.flatMap((each) => keepSchedule(of, each.id, each.row, null)),
          ],
          events: [
            eventOf({ ...ofSession(of), call: monitor?.call ?? '' }, 'schedule.created', now, { schedule: id }),
            ...(seen?.events ?? []),
          ],
        })
        if (!written.ok) return first(written.refused)
        host.due(nextAt)
        return shownSchedule(id, row)
      })
    },
    async get(id) {
      const there = await find(id)
      return there && shownSchedule(id, there.row)
    },
    list: async () => (await rows()).map(({ id, row }) => shownSchedule(id, row)),
    pause: async (id) =>
      (await change(id, (row) => {
        if (row.state === 'ended') throw new PawlError('schedule_over', `The id is '${id}'.`)
        return row.state === 'paused' ? null : { row: paused(row, clock.now()) }
      })) as Schedule,
    resume: async (id) =>
      (await change(id, async (row) => {
        if (row.state === 'ended') throw new PawlError('schedule_over', `The id is '${id}'.`)
        if (row.state === 'active') return null
        const next = resumed(row, clock.now())
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
      const which = ids.next()
      return until(async () => {
        const { row, guards } = await found(id)
        const at = clock.now()
        if (row.message !== null) {
          const said = { at, about: 'schedule', title: row.title, text: row.message } as const
          const notice = noticeOf(of, noticeKey(at, `${id}.${which}`, 0), said)
          const after = remembered(row, [{ slot: at, firedAt: at, outcome: 'started', byHand: true }])
          const { documents, events } = await scheduleMoves(store, of, id, { before: row, after, at })
          const written = await store.commit({
            guards: [ended, ...guards],
            documents: [...documents, bump, notice.row, ...host.wakes.rows(of, `${id}.${which}`)],
            events: [...events, noticeAdded(ofSession(of), notice.added, at)],
          })
          return written.ok ? { task: null } : first(written.refused)
        }
        const task = `${id}.${which}`
        const running = row.overlap === 'parallel' ? [] : await stillOpen(host, of, row.running)
        const open = row.overlap === 'parallel' ? [] : [...running, task]
        const after = remembered(row, [{ slot: at, firedAt: at, outcome: 'started', task, byHand: true }], open)
        const moved = await scheduleMoves(store, of, id, { before: row, after, at })
        const told = monitorFired(of, row, at, at)
        const also = {
          guards,
          documents: [...moved.documents, bump, ...told.documents],
          events: [...moved.events, ...told.events],
        }
        const started = await startTask(host, { ...of, ...row.behalf }, specOf(row, task), {
          ...howOf(row, id, at, running),
          also,
        })
        return started ? { task } : undefined
      })
    },
    async nextTimes(id, count = 5) {
      if (!Number.isSafeInteger(count) || count < 1 || count > mostTimes)
        refuse(`count is ${String(count)}; it must be a whole number from 1 to ${mostTimes}.`)
      const { row } = await found(id)
      const { nextAt } = row.state === 'paused' ? resumed(row, clock.now()) : row
      // One that is due and not fired yet comes first.
      return nextAt === null ? [] : nextTimes(row.timing, nextAt - 1, count)
    },
    history: async (id) => [...(await found(id)).row.history],
  }
}

const catchUps: readonly unknown[] = ['skip', 'once', 'all']
const overlaps: readonly unknown[] = ['skip', 'queue', 'parallel']

async function definitionOf(
  host: SchedulesHost,
  owner: Owner,
  request: CreateSchedule,
  now: number,
): Promise<Definition & { readonly secret: boolean }> {
  const { cron, at, timezone, catchUp = 'once', cap = 10, overlap = 'skip' } = request
  const timing = timingOf({ cron, at, timezone }, now, { leastMs: host.most.leastMs })
  if (!catchUps.includes(catchUp)) refuse(`catchUp is ${formatValue(catchUp)}, not 'skip', 'once' or 'all'.`)
  if (!overlaps.includes(overlap)) refuse(`overlap is ${formatValue(overlap)}, not 'skip', 'queue' or 'parallel'.`)
  if (!Number.isSafeInteger(cap) || cap < 1 || cap > mostCap)
    refuse(`cap is ${String(cap)}; it must be a whole number from 1 to ${mostCap}.`)
  const what = await checkStart(host, owner, request, { code: 'schedule_invalid' })
  return { timing, ...what, catchUp, cap, overlap }
}
