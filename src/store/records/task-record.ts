// JOURNAL: tasks (TASK-1 to TASK-10). A task is a call that nobody waits for: it has a place of its own, and lease, fence, attempts, recovery,
// approvals and waits are those of a call. Beside it two things are kept by name: what it was started as, written once, and what its
// runner tells of it, written only by whoever holds the call. So its state is never kept twice: it is read from the call. Pure.

import { frame } from '../../core/ids.ts'
import type { Outcome } from '../../core/outcome.ts'
import type {
  InputRequest,
  OnEnd,
  TaskArtifact,
  TaskLinks,
  TaskProgress,
  TaskState,
  WakePolicy,
} from '../../core/task-state.ts'
import { type CallRecord, type WaitRecord, waitTermsOf } from './call-record.ts'

/** What it was started as. Written once; what has no call, again when it ends. */
export interface TaskRow {
  /** The call, as events name it. */
  readonly uid: string
  readonly kind: string
  readonly title: string
  /** What the model called the tool. */
  readonly tool: string
  readonly wake: WakePolicy
  readonly parent: string | null
  readonly onEnd: OnEnd
  readonly createdAt: number
  /** The call that started it, as events name it; and the schedule or trigger. */
  readonly links: {
    readonly call?: string
    readonly schedule?: string
    readonly trigger?: string
    readonly slot?: number
  }
  /** Of what stands for a schedule: where in a body it was made. */
  readonly place?: string
  /** Likewise, how it ended, written with the end of the schedule: that may be forgotten sooner. */
  readonly ended?: { readonly state: 'succeeded' | 'cancelled'; readonly at: number; readonly runs: number }
}

/** What its runner tells. */
export interface TaskRun {
  /** The attempt that wrote it last. */
  readonly attempt: number
  /** In words, what it does at the moment. */
  readonly status: string | null
  readonly progress: TaskProgress | null
  readonly artifacts: readonly TaskArtifact[]
  readonly request: InputRequest | null
  readonly links?: TaskLinks
  /** Characters in its log, and whether more was said than is kept. */
  readonly log: { readonly characters: number; readonly cut: boolean }
  /** The tasks whose ends its body waits for. */
  readonly waitsFor: readonly string[]
  /** How many events it has told. */
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
  /** One of the same name is replaced. */
  readonly artifact?: TaskArtifact
  /** Added to those that there are. */
  readonly links?: TaskLinks
  /** Its body begins to wait for a task, or does so no more. */
  readonly waits?: { readonly for: string; readonly over: boolean }
}

/**
 * TASK-2: every update goes through here. One of an attempt that is not the last is dropped; what is over stays as it is, except for what is
 * added to it (artifacts, the log).
 */
export function updated(
  run: TaskRun,
  { attempt, artifact, links: more, waits, ...said }: TaskUpdate,
  at: number,
): TaskRun {
  if (attempt < run.attempt) return run
  const links = more ? { links: joined(run.links, more) } : {}
  const { log = run.log, ...moved } = said
  const artifacts = artifact ? withArtifact(run.artifacts, artifact) : run.artifacts
  if (run.over) return artifact || said.log ? { ...run, artifacts, log, updatedAt: at } : run
  // What it asked for, what it was doing, and what it waited for was the attempt's before it.
  const anew = attempt > run.attempt ? { status: null, request: null, waitsFor: [] } : { waitsFor: run.waitsFor }
  const waitsFor = waits ? waitingFor(anew.waitsFor, waits) : anew.waitsFor
  const ended = said.over ? { request: null } : {}
  return { ...run, ...anew, ...moved, ...ended, ...links, attempt, artifacts, log, waitsFor, updatedAt: at }
}

/** It may wait for one of them twice. */
function waitingFor(
  tasks: TaskRun['waitsFor'],
  { for: task, over }: NonNullable<TaskUpdate['waits']>,
): TaskRun['waitsFor'] {
  if (!over) return [...tasks, task]
  const at = tasks.indexOf(task)
  return at === -1 ? tasks : tasks.toSpliced(at, 1)
}

function joined(links: TaskLinks = {}, more: TaskLinks): TaskLinks {
  const all = { ...links }
  for (const name of ['agents', 'remote'] as const)
    if (more[name]) Object.assign(all, { [name]: [...new Set([...(links[name] ?? []), ...more[name]])] })
  return all
}

/** At its place: a body that runs again does not change their order. */
function withArtifact(artifacts: TaskRun['artifacts'], artifact: TaskArtifact): TaskRun['artifacts'] {
  const at = artifacts.findIndex(({ name }) => name === artifact.name)
  return at === -1 ? [...artifacts, artifact] : artifacts.with(at, artifact)
}

const isOpen = ({ resolution }: WaitRecord): boolean => resolution === null

/**
 * A wait in which it asks: people (the inbox), or the session that it belongs to. Of the latter one may stay open although the reply is there: it came
 * before the body could leave its wait for it, and then the body has taken back what it asked.
 */
export const replyWait = 'pawl:reply:'
const asksSomebody = (wait: WaitRecord, request: InputRequest | null): boolean => {
  const { asks } = waitTermsOf(wait)
  return (asks !== undefined && asks.kind !== 'client') || (request !== null && wait.name.startsWith(replyWait))
}

/** Where a task stands: read from its call, the waits of that, and what it asks of its session. */
export function stateOf(
  call: Pick<CallRecord, 'state' | 'outcome' | 'attempt'>,
  waits: readonly WaitRecord[],
  request: InputRequest | null,
): TaskState {
  if (call.state === 'settled') return endOf(JSON.parse(call.outcome as string) as Outcome)
  if (waits.some((wait) => isOpen(wait) && asksSomebody(wait, request))) return 'awaiting_input'
  // Begun once, it runs: also in the delay before another try, and while its answer waits for a worker.
  return call.state === 'running' || call.attempt > 0 ? 'running' : 'queued'
}

/** `abandoned`: its worker is gone and nobody may run it again, or too many have died over it. */
export function endOf(outcome: Outcome): TaskState {
  if (outcome.status === 'success') return 'succeeded'
  if (outcome.status === 'cancelled') return 'cancelled'
  if (outcome.status === 'unknown' || outcome.failure.code === 'poisoned') return 'abandoned'
  return 'failed'
}

interface Scope {
  readonly tenant: string
  readonly session: string
}

/** The batch in which tasks lie: no batch of the host can have this name. */
export const taskBatch = 'pawl:task'

const named =
  (of: string) =>
  ({ tenant, session }: Scope, key: string) => ({ of, tenant, session, key })

/** Where things of a task are kept. */
export const taskName = named('task')
export const scheduleName = named('schedule')
export const runName = named('task-run')
/** By the uid of its call, which is in the order of time; the value is its id. */
export const orderName = named('task-order')
export const wakeName = named('task-wake')
export const noticeName = named('notice')
/** The tasks that a task started. */
export const childrenOf = (parent: string): string => `${parent}:`
export const childName = (of: Scope, parent: string, id: string) =>
  named('task-child')(of, `${childrenOf(parent)}${id}`)
/** That a session has ended. */
export const endName = named('session-end')
/** What is to be done about the tasks of what has ended. */
export const choreName = named('end-chore')

export interface EndRow {
  readonly at: number
  readonly reason: string
  readonly by: string | null
  readonly tasks?: OnEnd
}
/** Signals of one name to one task. */
export const signalsOf = (task: string): string => frame(task)
export const signalsName = (of: Scope, task: string, name: string) =>
  named('task-signals')(of, `${signalsOf(task)}${name}`)
/** In the order of time; of one moment, what the task said comes first. */
export const messageName = (of: Scope, task: string, at: number, which: string) =>
  named('task-message')(of, `${task}:${String(at).padStart(15, '0')}:${which}`)

/** What it emitted, in its order. */
export const emittedName = (of: Scope, task: string, number: number) =>
  named('task-event')(of, `${task}:${String(number).padStart(9, '0')}`)

/** What the session is to be told besides the end of tasks, oldest first. */
export interface NoticeRow {
  readonly at: number
  readonly about: 'message' | 'request' | 'event' | 'lost' | 'schedule' | 'trigger'
  readonly task?: string
  readonly title?: string
  readonly text: string
}

/** Ordered by time; of one writer no two are the same. */
export const noticeKey = (at: number, writer: string, number: number): string =>
  `${String(at).padStart(15, '0')}:${writer}:${String(number).padStart(6, '0')}`

/** The id of a task that began as a call somebody waited for. */
export const movedId = (uid: string): string => `task_${uid.replaceAll(/[^A-Za-z0-9_.-]/g, '-')}`

/** Where the runtime keeps what a task says and gives, among the files of its session. */
export const backgroundFolder = '/.background'
export const logPath = (task: string): string => `${backgroundFolder}/${task}/output.log`
export const resultPath = (task: string): string => `${backgroundFolder}/${task}/result.json`
