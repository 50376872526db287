// The rows of a schedule and the pure functions that change them: one row with its definition and state, and, while it
// has a next slot, one row in the `due` collection, which is ordered by time across all sessions.

import { hash } from 'node:crypto'
import { canonicalJson, canonicalText } from '../core/canonical-json.ts'
import { lengthPrefixed } from '../core/ids.ts'
import type { WakePolicy } from '../core/task-state.ts'
import { decode, type Json } from '../core/tool-value.ts'
import type { Scope } from '../core/scope.ts'
import { lastSlots, nextAfter, type Timing } from './next-cron-times.ts'
import type { StoredDocument, DocumentName, DocumentWrite } from '../store/store.ts'
import type { Owner } from '../tasks/ports.ts'
import { type CatchUp, maxHistory, type Plan } from './due-slots.ts'
import { collections } from '../store/collections.ts'

/** If the previous run is still open, the next one is skipped, queued behind it, or started in parallel. */
export type Overlap = 'skip' | 'queue' | 'parallel'

export type ScheduleState = 'active' | 'paused' | 'ended'

/** The outcome of one slot. */
export interface ScheduleSlot {
  /** When it was due, in milliseconds since 1970; for runNow, when that was called. */
  readonly slot: number
  /** When it was handled, in milliseconds since 1970. */
  readonly firedAt: number
  /**
   * `missed`: no worker fired it in time and `catchUp` does not make up for it. `overlap`: the previous run was still
   * open. `failed`: the task could not start.
   */
  readonly outcome: 'started' | 'missed' | 'overlap' | 'failed'
  /** The task it started; absent for a message. */
  readonly task?: string
  /** Started with runNow. */
  readonly byHand?: true
  /** Why it failed or was skipped. */
  readonly why?: string
}

/** The validated request of a schedule. */
export interface ScheduleDefinition {
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

/** The identity and policy under which a schedule starts its runs. */
export type StartIdentity = Pick<Owner, 'principal' | 'policy' | 'unattended'>

export interface ScheduleRow extends ScheduleDefinition {
  /** Unique id of this schedule, to distinguish it from an earlier one with the same id. */
  readonly born: string
  readonly behalf: StartIdentity
  /** The tool is sensitive, so this row is sealed at rest too. */
  readonly secret?: true
  readonly state: ScheduleState
  readonly nextAt: number | null
  /** While paused: the first unprocessed slot. Resuming never goes back before it, even if the clock was set back. */
  readonly resumesAt?: number | null
  readonly lastAt: number | null
  /** The id of the monitor task through which a model sees the schedule. */
  readonly monitor?: string
  /** Number of runs started. */
  readonly runs: number
  /** Runs that may still be open; empty with `overlap: 'parallel'`. */
  readonly running: readonly string[]
  readonly createdAt: number
  readonly history: readonly ScheduleSlot[]
}

/** The current state of a schedule. */
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
  /** The given or generated id. */
  readonly id: string
  /** Arguments of the tool. */
  readonly input: Json
  /** The cron expression; null for a single run. */
  readonly cron: string | null
  /** Time of the single run, in milliseconds since 1970; null for a cron schedule. */
  readonly at: number | null
  /** IANA time zone in which the cron expression is read. */
  readonly timezone: string
}

/** `due` rows are read in time order across all tenants, so the part after the time is unique across all of them. */
export const dueKey = (at: number, ...what: readonly string[]): string =>
  `${String(at).padStart(15, '0')}:${hash('sha256', lengthPrefixed(...what), 'base64url')}`
export const dueAt = ({ key }: Pick<StoredDocument, 'key'>): number => Number(key.slice(0, 15))

const dueName = (of: Scope, id: string, { born }: ScheduleRow, at: number): DocumentName =>
  collections.due.name(of, dueKey(at, of.tenant, of.session, id, born))

/** Writes that replace a schedule and move its `due` row. `before` null: it is new. `row` null: it is removed. */
export function scheduleRows(
  of: Scope,
  id: string,
  before: ScheduleRow | null,
  row: ScheduleRow | null,
): readonly DocumentWrite[] {
  const name = collections.schedule.name(of, id)
  const sealed = row?.secret ? { secret: true as const } : {}
  // Messages of a monitor are removed together with the slots they report.
  const dropped =
    row?.monitor === undefined ? [] : (before?.history ?? []).filter((slot) => !row.history.includes(slot))
  const droppedMessages = dropped.map(({ firedAt, slot }) => ({
    ...collections.taskMessage.name(of, row?.monitor ?? '', firedAt, `out.${slot}`),
    value: null,
  }))
  const documents: DocumentWrite[] = [
    ...droppedMessages,
    row ? { ...name, ...sealed, value: JSON.stringify(row) } : { ...name, value: null },
  ]
  if (before?.nextAt !== row?.nextAt) {
    if (before && before.nextAt !== null) documents.push({ ...dueName(of, id, before, before.nextAt), value: null })
    if (row && row.nextAt !== null)
      documents.push({ ...dueName(of, id, row, row.nextAt), value: JSON.stringify({ schedule: id }) })
  }
  return documents
}

/** Whether a `due` row belongs to the next slot of this schedule, and not to an earlier state or another schedule. */
export const isCurrentDueRow = (due: StoredDocument, id: string, row: ScheduleRow): boolean =>
  row.nextAt !== null && dueName(due, id, row, row.nextAt).key === due.key

/** The schedule after processing a slot. */
export function advanceSchedule(
  row: ScheduleRow,
  { missed, nextAt }: Plan,
  at: number,
  fired: ScheduleSlot | null,
  running = row.running,
): ScheduleRow {
  const past = missed.map((slot): ScheduleSlot => ({ slot, firedAt: at, outcome: 'missed' }))
  const next = withHistory(row, [...past, ...(fired ? [fired] : [])], running)
  return { ...next, nextAt, state: nextAt === null ? 'ended' : row.state }
}

/** The paused schedule; slots already due are recorded as missed. */
export function pauseSchedule(row: ScheduleRow, at: number): ScheduleRow {
  const first = row.nextAt ?? at
  const missed = lastSlots(row.timing, first - 1, at, maxHistory)
  const past = missed.map((slot): ScheduleSlot => ({ slot, firedAt: at, outcome: 'missed' }))
  const resumesAt = nextAfter(row.timing, Math.max(at, first - 1))
  return { ...withHistory(row, past), state: 'paused', nextAt: null, resumesAt }
}

/** The resumed schedule; it has ended if its last slot passed during the pause. */
export function resumeSchedule({ resumesAt, ...row }: ScheduleRow, at: number): ScheduleRow {
  const nextAt = resumesAt === null ? null : nextAfter(row.timing, Math.max(at, (resumesAt ?? 0) - 1))
  return { ...row, state: nextAt === null ? 'ended' : 'active', nextAt }
}

/** Appends slots to the history and updates the counters. */
export function withHistory(row: ScheduleRow, slots: readonly ScheduleSlot[], running = row.running): ScheduleRow {
  const started = slots.filter(({ outcome }) => outcome === 'started')
  return {
    ...row,
    running,
    runs: row.runs + started.length,
    lastAt: started.at(-1)?.firedAt ?? row.lastAt,
    history: [...row.history, ...slots].slice(-maxHistory),
  }
}

export const readRow = ({ value }: StoredDocument): ScheduleRow => collections.schedule.parse(value) as ScheduleRow

export function toSchedule(id: string, row: ScheduleRow): Schedule {
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

/** Whether two requests are equal. */
export const sameDefinition = (a: ScheduleDefinition, b: ScheduleDefinition): boolean =>
  definitionText(a) === definitionText(b)

function definitionText({
  timing,
  tool,
  input,
  message,
  title,
  catchUp,
  cap,
  overlap,
  wake,
}: ScheduleDefinition): string {
  const content = input === null ? null : canonicalText(input)
  return canonicalJson({ timing: { ...timing }, tool, content, message, title, catchUp, cap, overlap, wake })
}

/** A due time far in the past: due at once on every worker despite clock skew, still in the writer's time order. */
export const overdueTime = (at: number): number => Math.floor(at / 1_000)
