// Reads tasks: the current state of one is assembled from its call, its task row and the progress of its run.

import { checkOptions, option, type OptionTable } from '../core/check-options.ts'
import { type CallRecord, recordedMeta } from '../store/records/call-record.ts'
import {
  logPath,
  movedId,
  newRun,
  resultPath,
  stateOf,
  type TaskRow,
  type TaskRun,
} from '../store/records/task-record.ts'
import { PawlError } from '../core/errors.ts'
import type { Outcome } from '../core/outcome.ts'
import { type TaskState, taskStates } from '../core/task-state.ts'
import { decode } from '../core/tool-value.ts'
import { unlessUnreadable } from '../store/skip-unreadable.ts'
import type { StoredDocument, Store } from '../store/store.ts'
import type { Task, TaskQuery } from '../tools/context/task-interfaces.ts'
import { PendingAsks } from './pending-questions.ts'
import type { TaskReadPorts } from './ports.ts'
import { monitorKind } from '../core/task-state.ts'
import type { Scope } from '../core/scope.ts'
import { redactMessages } from '../calls/output/redact-outcome.ts'
import type { Redactor } from '../security/redact.ts'
import { readMonitor } from './read-schedule-monitor.ts'
import { collections } from '../store/collections.ts'
import { taskBatch } from '../store/journal-keys.ts'

const page = 100
const maxListed = 500

export async function readTask(host: TaskReadPorts, { tenant, session }: Scope, id: string): Promise<Task | undefined> {
  if (typeof id !== 'string' || id === '') return undefined
  const stored = await host.store.document(collections.task.name({ tenant, session }, id))
  return stored && taskFromDocument(host, stored)
}

/** The task of a call that was moved to the background. */
export const readMovedTask = (host: TaskReadPorts, of: Scope, uid: string): Promise<Task | undefined> =>
  readTask(host, of, movedId(uid))

/** Undefined if the call of the task was pruned. */
export async function taskFromDocument(
  { store, redact, knownSecrets }: TaskReadPorts,
  stored: StoredDocument,
  pendingAsks: PendingAsks = new PendingAsks(store),
): Promise<Task | undefined> {
  const row = collections.task.parse(stored.value)
  if (row.kind === monitorKind) return readMonitor(store, stored, row)
  const [call, run] = await Promise.all([
    store.call(row.uid),
    store.document(collections.taskRun.name(stored, stored.key)),
  ])
  if (!call) return undefined
  await knownSecrets.ensure(stored)
  const waits = call.state === 'settled' ? [] : await store.waitsOf(call.uid)
  const outcome = call.outcome === null ? null : redactMessages(decode(call.outcome) as unknown as Outcome, redact)
  const ran = run ? collections.taskRun.parse(run.value) : newRun
  const own = stateOf(call, waits, ran.request)
  // A nested call of the task, or an agent that works for it, may wait for people.
  const state = own === 'running' && (await unlessUnreadable(() => pendingAsks.of(call))) ? 'awaiting_input' : own
  const parts = { redact, call, outcome, run: ran, state }
  return buildTask(stored.key, { ...row, title: redact.text(row.title) }, parts)
}

/** The result text as a model reads it; null while the task is open, and for a monitor. */
export async function taskResult(host: TaskReadPorts, { tenant, session }: Scope, id: string): Promise<string | null> {
  const stored =
    typeof id === 'string' && id !== ''
      ? await host.store.document(collections.task.name({ tenant, session }, id))
      : undefined
  const call = stored && (await host.store.call(collections.task.parse(stored.value).uid))
  return call?.state === 'settled' ? host.renderer.text(call) : null
}

interface TaskParts extends Pick<TaskReadPorts, 'redact'> {
  readonly call: CallRecord
  readonly outcome: Outcome | null
  readonly run: TaskRun
  readonly state: TaskState
}

function buildTask(id: string, row: TaskRow, { redact, call, outcome, run, state }: TaskParts): Task {
  const hasFiles = call.position.batch === taskBatch
  const { uid, kind, title, tool, wake, parent, createdAt, links } = row
  return {
    id,
    kind,
    title,
    tool,
    state,
    status: run.status && redact.text(run.status),
    progress: run.progress && {
      ...run.progress,
      ...(run.progress.label === undefined ? {} : { label: redact.text(run.progress.label) }),
    },
    inputRequest: state === 'awaiting_input' && run.request ? redact.deep(run.request) : null,
    artifacts: run.artifacts.map((each) => ({
      ...each,
      name: redact.text(each.name),
      ...(each.url === undefined ? {} : { url: redact.text(each.url) }),
    })),
    summary: outcome && summaryOf(outcome, redact),
    outcome,
    logPath: hasFiles ? logPath(id) : null,
    resultPath: hasFiles ? resultPath(id) : null,
    wake,
    parent,
    attempt: call.attempt,
    createdAt,
    startedAt: call.startedAt,
    finishedAt: call.settledAt,
    updatedAt: Math.max(createdAt, run.updatedAt, call.startedAt ?? 0, call.settledAt ?? 0),
    call: uid,
    ...redact.deep(recordedMeta(call.options)),
    links: {
      ...links,
      ...run.links,
      ...(run.links?.remote ? { remote: run.links.remote.map((each) => redact.text(each)) } : {}),
    },
  }
}

/** Code and models read it, so it names no function. */
export const taskUnknown = (id: string): PawlError =>
  new PawlError(
    'task_unknown',
    `The session has no task with the id ${JSON.stringify(id)}. List its tasks to see their ids.`,
  )

const maxSummaryLength = 500

/** One line about the outcome. */
function summaryOf(outcome: Outcome, redact: Redactor): string {
  const json = (value: unknown): string => JSON.stringify(redact.active ? redact.deep(value) : value)
  const text =
    outcome.status === 'success'
      ? (outcome.summary ?? (typeof outcome.value === 'string' ? outcome.value : json(outcome.value)))
      : outcome.status === 'failure'
        ? outcome.failure.message
        : outcome.status === 'cancelled'
          ? outcome.cancellation.message
          : outcome.unknown.message
  // Redact before truncating: the redactor does not recognize a truncated secret.
  return firstLine(redact.text(text))
}

function firstLine(text: string): string {
  const line = text.split('\n', 1)[0] ?? ''
  return line.length > maxSummaryLength ? `${line.slice(0, maxSummaryLength).toWellFormed()}…` : line
}

/**
 * A one-line summary for the model, and the full result text if it is longer. Both come from the text after hooks ran,
 * so neither contains what a hook removed.
 */
export function modelSummary(
  { outcome, summary }: Pick<Task, 'outcome' | 'summary'>,
  result: string | null,
): { summary: string | null; result?: string } {
  if (result === null) return { summary }
  const body = result.replace(statusHeader, '')
  const line = outcome?.status === 'success' && outcome.summary !== undefined ? summary : firstLine(body)
  return line === body ? { summary: line } : { summary: line, result }
}

/** The first line of a result text whose outcome is not a success. */
const statusHeader = /^\[Tool [a-z ]+\](?:\n|$)/

/** A model reads the error about `state`, which lists the states. */
export const taskQueryOptions = {
  state: option.anything,
  kind: option.string,
  limit: option.wholeNumber(1, maxListed),
  after: option.string,
} satisfies OptionTable<TaskQuery>

export async function listTasks(host: TaskReadPorts, of: Scope, query: TaskQuery = {}): Promise<Task[]> {
  const { store } = host
  checkOptions(query, taskQueryOptions, 'tasks.list()', 'task_invalid')
  const { state, kind, limit = 100, after } = query
  if (state !== undefined && state !== 'open' && !taskStates.includes(state))
    throw new PawlError(
      'task_invalid',
      `Unknown state filter ${JSON.stringify(state)}. Valid states: ${taskStates.join(', ')}, open`,
    )
  const fits = (task: Task): boolean =>
    (kind === undefined || task.kind === kind) &&
    (state === undefined || state === task.state || (state === 'open' && task.outcome === null))
  const found: Task[] = []
  const pendingAsks = new PendingAsks(store)
  // A filter on open states reads only open calls; any other filter pages through all tasks, newest first.
  const isOpen = state === 'open' || state === 'queued' || state === 'running' || state === 'awaiting_input'
  const from = after === undefined ? undefined : await store.document(collections.task.name(of, after))
  if (after !== undefined && !from) throw taskUnknown(after)
  const uid = from ? collections.task.parse(from.value).uid : ''
  for await (const some of inBatches(isOpen ? iterateOpenTasks(store, of, uid) : newestTasks(store, of, uid)))
    for (const task of await Promise.all(
      some.map((stored) => unlessUnreadable(() => taskFromDocument(host, stored, pendingAsks))),
    ))
      if (task && fits(task) && found.push(task) === limit) return found
  return found
}

/** Undefined for a row that cannot be read, so that one unreadable task does not hide the others. */
export const taskDocument = (store: Store, of: Scope, id: string): Promise<StoredDocument | undefined> =>
  unlessUnreadable(() => store.document(collections.task.name(of, id)))

/** Rows read in parallel, to save round trips to a remote store. */
const batchSize = 20

async function* inBatches<T>(all: AsyncIterable<T>): AsyncGenerator<T[], void> {
  let some: T[] = []
  for await (const each of all) {
    if (some.push(each) < batchSize) continue
    yield some
    some = []
  }
  if (some.length > 0) yield some
}

async function* newestTasks(store: Store, of: Scope, after: string): AsyncGenerator<StoredDocument, void> {
  for (let before = after; ;) {
    const rows = await store.documentsOf({
      of: collections.taskOrder.of,
      tenant: of.tenant,
      session: of.session,
      after: before,
      limit: page,
      newest: true,
    })
    for (let from = 0; from < rows.length; from += batchSize) {
      const some = rows.slice(from, from + batchSize).map(({ value: id }) => taskDocument(store, of, id))
      yield* (await Promise.all(some)).filter((stored) => stored !== undefined)
    }
    const last = rows.at(-1)
    if (!last || rows.length < page) return
    before = last.key
  }
}

/** The task rows of a session that have not ended, newest first. */
export async function* iterateOpenTasks(store: Store, of: Scope, after = ''): AsyncGenerator<StoredDocument, void> {
  const { tenant, session } = of
  const open: { uid: string; stored: StoredDocument }[] = []
  for (let from = ''; ;) {
    const calls = await store.unsettled({ of: { tenant, session }, after: from, limit: page })
    for (const { uid, position } of calls) {
      const stored = await taskDocument(store, of, position.batch === taskBatch ? position.id : movedId(uid))
      if (stored && (after === '' || uid < after)) open.push({ uid, stored })
    }
    const last = calls.at(-1)
    if (!last || calls.length < page) break
    from = last.uid
  }
  // Monitors have no call: they are found through their schedules.
  for await (const { value } of collections.schedule.iterate(store, { tenant, session })) {
    const { monitor, state } = collections.schedule.parse(value) as { monitor?: string; state: string }
    const stored = monitor === undefined || state === 'ended' ? undefined : await taskDocument(store, of, monitor)
    const uid = stored && collections.task.parse(stored.value).uid
    if (stored && uid !== undefined && (after === '' || uid < after)) open.push({ uid, stored })
  }
  for (const { stored } of open.toSorted((a, b) => (a.uid < b.uid ? 1 : -1))) yield stored
}

/** The kind of a task that began as an ordinary call. */
export const movedKind = 'moved_call'
