// A schedule as it is kept: one row with all about it, and one among what is due, in the order of time, as long as something of it will be.

import { hash } from 'node:crypto'
import { canonical } from '../core/canonical-json.ts'
import { frame } from '../core/ids.ts'
import { messageName, scheduleName } from '../store/records/task-record.ts'
import type { WakePolicy } from '../core/task-state.ts'
import { decode, type Json } from '../core/value.ts'
import { lastSlots, nextAfter, type Timing } from './cron.ts'
import type { Change, StoredDocument, DocumentName } from '../store/store.ts'
import type { Owner } from '../tasks/ports.ts'
import { type CatchUp, longestHistory, type Plan } from './due-slots.ts'

/** While a run of it is open: the next is left out, waits for it, or runs beside it. */
export type Overlap = 'skip' | 'queue' | 'parallel'

export type ScheduleState = 'active' | 'paused' | 'ended'

/** What became of a slot. */
export interface ScheduleSlot {
  /** When it was due; of a run that was asked for, when that was. */
  readonly slot: number
  readonly firedAt: number
  /** `missed`: nobody was there in time, and the policy makes it up for no more. `overlap`: the run before was open. `failed`: nothing could start. */
  readonly outcome: 'started' | 'missed' | 'overlap' | 'failed'
  /** The task that it started; a message starts none. */
  readonly task?: string
  /** Somebody asked for it with runNow. */
  readonly byHand?: true
  readonly why?: string
}

/** What was asked for. */
export interface Definition {
  readonly timing: Timing
  readonly tool: string | null
  /** The arguments in their recorded form. */
  readonly input: string | null
  readonly message: string | null
  readonly title: string
  readonly catchUp: CatchUp
  readonly cap: number
  readonly overlap: Overlap
  readonly wake: WakePolicy
}

/** On whose behalf it starts what it starts. */
export type Behalf = Pick<Owner, 'principal' | 'policy' | 'unattended'>

export interface ScheduleRow extends Definition {
  /** Tells it from one that had its id before. */
  readonly born: string
  readonly behalf: Behalf
  /** The tool's payloads are sealed at rest, so these are. */
  readonly secret?: true
  readonly state: ScheduleState
  readonly nextAt: number | null
  /** While it is paused: the first slot that nobody has dealt with. It goes on there, or later, whatever the clocks say. */
  readonly resumesAt?: number | null
  readonly lastAt: number | null
  /** The task by which a model sees it. */
  readonly monitor?: string
  /** How many runs it has started. */
  readonly runs: number
  /** Tasks of it that may be open: kept where they must not overlap. */
  readonly running: readonly string[]
  readonly createdAt: number
  readonly history: readonly ScheduleSlot[]
}

/** A schedule as it stands. */
export interface Schedule extends Pick<
  ScheduleRow,
  | 'tool'
  | 'message'
  | 'title'
  | 'catchUp'
  | 'cap'
  | 'overlap'
  | 'wake'
  | 'state'
  | 'nextAt'
  | 'lastAt'
  | 'runs'
  | 'createdAt'
> {
  readonly id: string
  readonly input: Json
  readonly cron: string | null
  readonly at: number | null
  readonly timezone: string
}

export interface Scope {
  readonly tenant: string
  readonly session: string
}

/** Whatever makes or changes schedules of a session by hand goes through this one by compare-and-set: so they are counted right. */
export const gateName = ({ tenant, session }: Scope): DocumentName => ({
  of: 'schedule-gate',
  tenant,
  session,
  key: 'gate',
})

/** Across all tenants it is read in the order of time; so what follows the time is unique in all of them. */
export const dueKey = (at: number, ...what: readonly string[]): string =>
  `${String(at).padStart(15, '0')}:${hash('sha256', frame(...what), 'base64url')}`
export const dueAt = ({ key }: Pick<StoredDocument, 'key'>): number => Number(key.slice(0, 15))

const dueName = ({ tenant, session }: Scope, id: string, { born }: ScheduleRow, at: number): DocumentName => ({
  of: 'due',
  tenant,
  session,
  key: dueKey(at, tenant, session, id, born),
})

type Keep = NonNullable<Change['documents']>

/** Puts a schedule on record instead of the one that was there, and in its place among what is due. */
export function keepSchedule(of: Scope, id: string, before: ScheduleRow | null, row: ScheduleRow | null): Keep {
  const name = scheduleName(of, id)
  const sealed = row?.secret ? { secret: true as const } : {}
  // What a monitor said of a slot is kept as long as the slot is.
  const past = row?.monitor === undefined ? [] : (before?.history ?? []).filter((slot) => !row.history.includes(slot))
  const said = past.map(({ firedAt, slot }) => ({
    ...messageName(of, row?.monitor ?? '', firedAt, `out.${slot}`),
    value: null,
  }))
  const documents: Keep[number][] = [
    ...said,
    row ? { ...name, ...sealed, value: JSON.stringify(row) } : { ...name, value: null },
  ]
  if (before?.nextAt !== row?.nextAt) {
    if (before && before.nextAt !== null) documents.push({ ...dueName(of, id, before, before.nextAt), value: null })
    if (row && row.nextAt !== null)
      documents.push({ ...dueName(of, id, row, row.nextAt), value: JSON.stringify({ schedule: id }) })
  }
  return documents
}

/** Whether a row among what is due is the one of this schedule. */
export const isDueOf = (due: StoredDocument, id: string, row: ScheduleRow): boolean =>
  row.nextAt !== null && dueName(due, id, row, row.nextAt).key === due.key

/** The schedule after a slot. */
export function afterSlot(
  row: ScheduleRow,
  { missed, nextAt }: Plan,
  at: number,
  fired: ScheduleSlot | null,
  running = row.running,
): ScheduleRow {
  const past = missed.map((slot): ScheduleSlot => ({ slot, firedAt: at, outcome: 'missed' }))
  const next = remembered(row, [...past, ...(fired ? [fired] : [])], running)
  return { ...next, nextAt, state: nextAt === null ? 'ended' : row.state }
}

/** Paused: what was due before is past, and on record as that. */
export function paused(row: ScheduleRow, at: number): ScheduleRow {
  const first = row.nextAt ?? at
  const missed = lastSlots(row.timing, first - 1, at, longestHistory)
  const past = missed.map((slot): ScheduleSlot => ({ slot, firedAt: at, outcome: 'missed' }))
  const resumesAt = nextAfter(row.timing, Math.max(at, first - 1))
  return { ...remembered(row, past), state: 'paused', nextAt: null, resumesAt }
}

/** Going on after a pause; one whose last slot has passed meanwhile is over. */
export function resumed({ resumesAt, ...row }: ScheduleRow, at: number): ScheduleRow {
  const nextAt = resumesAt === null ? null : nextAfter(row.timing, Math.max(at, (resumesAt ?? 0) - 1))
  return { ...row, state: nextAt === null ? 'ended' : 'active', nextAt }
}

/** The schedule with more in its history. */
export function remembered(row: ScheduleRow, slots: readonly ScheduleSlot[], running = row.running): ScheduleRow {
  const started = slots.filter(({ outcome }) => outcome === 'started')
  return {
    ...row,
    running,
    runs: row.runs + started.length,
    lastAt: started.at(-1)?.firedAt ?? row.lastAt,
    history: [...row.history, ...slots].slice(-longestHistory),
  }
}

export const readRow = ({ value }: StoredDocument): ScheduleRow => JSON.parse(value) as ScheduleRow

export function shownSchedule(id: string, row: ScheduleRow): Schedule {
  const { tool, message, title, catchUp, cap, overlap, wake, state, nextAt, lastAt, runs, createdAt, timing, input } =
    row
  return {
    id,
    title,
    state,
    tool,
    input: input === null ? null : decode(input),
    message,
    cron: timing.kind === 'cron' ? timing.cron : null,
    at: timing.kind === 'at' ? timing.at : null,
    timezone: timing.timezone,
    catchUp,
    cap,
    overlap,
    wake,
    nextAt,
    lastAt,
    runs,
    createdAt,
  }
}

/** Whether two ask for the same. */
export const sameDefinition = (a: Definition, b: Definition): boolean => textOf(a) === textOf(b)

function textOf({ timing, tool, input, message, title, catchUp, cap, overlap, wake }: Definition): string {
  const content = input === null ? null : canonical(JSON.parse(input) as Json)
  return canonical({ timing: { ...timing }, tool, content, message, title, catchUp, cap, overlap, wake })
}

/** Due at once, whatever the clock of whoever wrote it says to the others; and in the order of that clock. */
export const longPast = (at: number): number => Math.floor(at / 1_000)
