// Records of background tasks. A task is a call without a waiting caller, at a position of its own: lease, fence,
// attempts, recovery, approvals and waits are those of the call. Two documents are stored with it: how it was started
// (written once) and what its runner reports (written only by the holder of the call). The state is not stored again:
// it is derived from the call. Pure functions.

import { lengthPrefixed } from '../../core/ids.ts'
import type { Outcome } from '../../core/outcome.ts'
import type {
  InputRequest,
  OnEnd,
  TaskArtifact,
  TaskLinks,
  TaskProgress,
  TaskStarters,
  TaskState,
  WakePolicy,
} from '../../core/task-state.ts'
import { type CallRecord, type WaitRecord, waitTermsOf } from './call-record.ts'
import { waitNames } from '../journal-keys.ts'

/** How the task was started. Written once; a task without a call is written again when it ends. */
export interface TaskRow {
  /** The call's uid, as in events. */
  readonly uid: string
  readonly kind: string
  readonly title: string
  /** The name the model used for the tool. */
  readonly tool: string
  readonly wake: WakePolicy
  readonly parent: string | null
  readonly onEnd: OnEnd
  readonly createdAt: number
  readonly links: TaskStarters
  /** For the monitor of a schedule: where in a body it was created. */
  readonly place?: string
  /** For the monitor of a schedule: how it ended, written with the end of the schedule, which may be erased earlier. */
  readonly ended?: { readonly state: 'succeeded' | 'cancelled'; readonly at: number; readonly runs: number }
}

/** The runner's report. */
export interface TaskRun {
  /** The attempt that wrote last. */
  readonly attempt: number
  /** Current activity, in words. */
  readonly status: string | null
  readonly progress: TaskProgress | null
  readonly artifacts: readonly TaskArtifact[]
  readonly request: InputRequest | null
  readonly links?: TaskLinks
  /** Characters in the log, and whether output beyond the limit was dropped. */
  readonly log: { readonly characters: number; readonly cut: boolean }
  /** Tasks whose end the body waits for. */
  readonly waitsFor: readonly string[]
  /** Number of events emitted. */
  readonly emitted: number
  readonly over: boolean
  readonly updatedAt: number
}

export const newRun: TaskRun = {
  attempt: 0,
  status: null,
  progress: null,
  artifacts: [],
  request: null,
  log: { characters: 0, cut: false },
  waitsFor: [],
  emitted: 0,
  over: false,
  updatedAt: 0,
}

export interface TaskUpdate extends Partial<
  Pick<TaskRun, 'status' | 'progress' | 'request' | 'log' | 'emitted' | 'over'>
> {
  readonly attempt: number
  /** Replaces an artifact of the same name. */
  readonly artifact?: TaskArtifact
  /** Added to the existing links. */
  readonly links?: TaskLinks
  /** The body starts or stops waiting for a task. */
  readonly waits?: { readonly for: string; readonly over: boolean }
}

/**
 * Applies every update of a run. Updates from an attempt before the last one are dropped. A finished run changes only
 * by additions (artifacts, log).
 */
export function applyUpdate(
  run: TaskRun,
  { attempt, artifact, links: newLinks, waits, ...changes }: TaskUpdate,
  at: number,
): TaskRun {
  if (attempt < run.attempt) return run
  const links = newLinks ? { links: mergeLinks(run.links, newLinks) } : {}
  const { log = run.log, ...fields } = changes
  const artifacts = artifact ? withArtifact(run.artifacts, artifact) : run.artifacts
  if (run.over) return artifact || changes.log ? { ...run, artifacts, log, updatedAt: at } : run
  // Request, status and awaited tasks belong to an attempt, so a new attempt starts without them.
  const perAttempt = attempt > run.attempt ? { status: null, request: null, waitsFor: [] } : { waitsFor: run.waitsFor }
  const waitsFor = waits ? nextWaitsFor(perAttempt.waitsFor, waits) : perAttempt.waitsFor
  const ended = changes.over ? { request: null } : {}
  return { ...run, ...perAttempt, ...fields, ...ended, ...links, attempt, artifacts, log, waitsFor, updatedAt: at }
}

/** The list may contain a task twice, so only one entry is removed. */
function nextWaitsFor(
  tasks: TaskRun['waitsFor'],
  { for: task, over }: NonNullable<TaskUpdate['waits']>,
): TaskRun['waitsFor'] {
  if (!over) return [...tasks, task]
  const at = tasks.indexOf(task)
  return at === -1 ? tasks : tasks.toSpliced(at, 1)
}

function mergeLinks(links: TaskLinks = {}, newLinks: TaskLinks): TaskLinks {
  const merged = { ...links }
  for (const name of ['agents', 'remote'] as const)
    if (newLinks[name]) Object.assign(merged, { [name]: [...new Set([...(links[name] ?? []), ...newLinks[name]])] })
  return merged
}

/** Replaces in place, so that a body that runs again does not change the order. */
function withArtifact(artifacts: TaskRun['artifacts'], artifact: TaskArtifact): TaskRun['artifacts'] {
  const at = artifacts.findIndex(({ name }) => name === artifact.name)
  return at === -1 ? [...artifacts, artifact] : artifacts.with(at, artifact)
}

const isOpen = ({ resolution }: WaitRecord): boolean => resolution === null

/**
 * Waits in which the task asks for input: from people (inbox) or from its session. A wait for the session's reply may
 * stay open although the reply has arrived: if it came before the body entered the wait, the body has already
 * withdrawn its request. So such a wait counts only while a request is recorded.
 */
const asksForInput = (wait: WaitRecord, request: InputRequest | null): boolean => {
  const { asks } = waitTermsOf(wait)
  return (asks !== undefined && asks.kind !== 'client') || (request !== null && wait.name.startsWith(waitNames.reply))
}

/** State of a task, derived from its call, the call's waits, and its request to the session. */
export function stateOf(
  call: Pick<CallRecord, 'state' | 'outcome' | 'attempt'>,
  waits: readonly WaitRecord[],
  request: InputRequest | null,
): TaskState {
  if (call.state === 'settled') return endOf(JSON.parse(call.outcome as string) as Outcome)
  if (waits.some((wait) => isOpen(wait) && asksForInput(wait, request))) return 'awaiting_input'
  // Once started, a task counts as running, even during a retry delay and while its answer waits for a worker.
  return call.state === 'running' || call.attempt > 0 ? 'running' : 'queued'
}

/** `abandoned`: the worker died and the call must not run again, or too many workers died running it. */
export function endOf(outcome: Outcome): TaskState {
  if (outcome.status === 'success') return 'succeeded'
  if (outcome.status === 'cancelled') return 'cancelled'
  if (outcome.status === 'unknown' || outcome.failure.code === 'poisoned') return 'abandoned'
  return 'failed'
}

/** Key prefix of the tasks that a task started. */
export const childrenOf = (parent: string): string => `${parent}:`

export interface EndRow {
  readonly at: number
  readonly reason: string
  readonly by: string | null
  readonly tasks?: OnEnd
}
/** Key prefix of all signal records of a task; one record per signal name. */
export const signalsOf = (task: string): string => lengthPrefixed(task)

/** A notice for the session other than the end of a task, oldest first. */
export interface NoticeRow {
  readonly at: number
  readonly about: 'message' | 'request' | 'event' | 'lost' | 'schedule' | 'trigger'
  readonly task?: string
  readonly title?: string
  readonly text: string
}

/** Ordered by time and unique per writer. */
export const noticeKey = (at: number, writer: string, number: number): string =>
  `${String(at).padStart(15, '0')}:${writer}:${String(number).padStart(6, '0')}`

/** Id of a task that was moved to the background from an ordinary call. */
export const movedId = (uid: string): string => `task_${uid.replaceAll(/[^A-Za-z0-9_.-]/g, '-')}`

/** Folder in the session's files where the runtime stores task logs and results. */
export const backgroundFolder = '/.background'
export const logPath = (task: string): string => `${backgroundFolder}/${task}/output.log`
export const resultPath = (task: string): string => `${backgroundFolder}/${task}/result.json`
