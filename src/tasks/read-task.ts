// A task as it stands, read from its call and from what is kept beside it.

import type { CallRecord } from '../store/records/call-record.ts'
import {
  logPath,
  movedId,
  newRun,
  resultPath,
  runName,
  stateOf,
  taskBatch,
  taskName,
  type TaskRow,
  type TaskRun,
} from '../store/records/task-record.ts'
import { PawlError } from '../core/errors.ts'
import type { Outcome } from '../core/outcome.ts'
import { type TaskState, taskStates } from '../core/task-state.ts'
import { decode } from '../core/value.ts'
import { iterateDocuments } from '../store/iterate-documents.ts'
import { unlessUnreadable } from '../store/read-or-report.ts'
import type { StoredDocument, Store } from '../store/store.ts'
import type { Task, TaskQuery } from '../tools/context/tasks.ts'
import { PendingAsks } from './pending-asks.ts'
import type { Reading } from './ports.ts'
import { monitorKind } from '../core/task-state.ts'
import { readMonitor } from './monitor-task.ts'

interface Scope {
  readonly tenant: string
  readonly session: string
}

const page = 100
const mostListed = 500

export async function readTask(host: Reading, { tenant, session }: Scope, id: string): Promise<Task | undefined> {
  if (typeof id !== 'string' || id === '') return undefined
  const kept = await host.store.document(taskName({ tenant, session }, id))
  return kept && taskIn(host, kept)
}

/** The task that a call has become. */
export const readMoved = (host: Reading, of: Scope, uid: string): Promise<Task | undefined> =>
  readTask(host, of, movedId(uid))

/** Undefined if its call is gone: it was forgotten. */
export async function taskIn(
  { store, words, shown: told, shownIn: toldIn }: Reading,
  kept: StoredDocument,
  asked: PendingAsks = new PendingAsks(store),
): Promise<Task | undefined> {
  const row = JSON.parse(kept.value) as TaskRow
  if (row.kind === monitorKind) return readMonitor(store, kept, row)
  const [call, run] = await Promise.all([store.call(row.uid), store.document(runName(kept, kept.key))])
  if (!call) return undefined
  const waits = call.state === 'settled' ? [] : await store.waitsOf(call.uid)
  const outcome = call.outcome === null ? null : words(decode(call.outcome) as unknown as Outcome)
  const ran = run ? (JSON.parse(run.value) as TaskRun) : newRun
  const own = stateOf(call, waits, ran.request)
  // What it called, or an agent that works for it, may wait for people.
  const state = own === 'running' && (await unlessUnreadable(() => asked.of(call))) ? 'awaiting_input' : own
  return shown(kept.key, { ...row, title: told(row.title) }, { told, toldIn, call, outcome, run: ran, state })
}

/** How it ended, in the words that a model reads of it; null while it has not, or of what stands for a schedule. */
export async function resultOf(host: Reading, { tenant, session }: Scope, id: string): Promise<string | null> {
  const kept =
    typeof id === 'string' && id !== '' ? await host.store.document(taskName({ tenant, session }, id)) : undefined
  const call = kept && (await host.store.call((JSON.parse(kept.value) as TaskRow).uid))
  return call?.state === 'settled' ? host.result(call) : null
}

interface Found {
  /** Without secrets. */
  told(text: string): string
  toldIn<T>(value: T): T
  readonly call: CallRecord
  readonly outcome: Outcome | null
  readonly run: TaskRun
  readonly state: TaskState
}

function shown(id: string, row: TaskRow, { told, toldIn, call, outcome, run, state }: Found): Task {
  const hasFiles = call.position.batch === taskBatch
  const { uid, kind, title, tool, wake, parent, createdAt, links } = row
  return {
    id,
    kind,
    title,
    tool,
    state,
    status: run.status && told(run.status),
    progress: run.progress && {
      ...run.progress,
      ...(run.progress.label === undefined ? {} : { label: told(run.progress.label) }),
    },
    inputRequest: state === 'awaiting_input' && run.request ? toldIn(run.request) : null,
    artifacts: run.artifacts.map((each) => ({
      ...each,
      name: told(each.name),
      ...(each.url === undefined ? {} : { url: told(each.url) }),
    })),
    summary: outcome && summaryOf(outcome, told),
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
    links: { ...links, ...run.links, ...(run.links?.remote ? { remote: run.links.remote.map(told) } : {}) },
  }
}

const longestSummary = 500

/** One line about how it ended. */
function summaryOf(outcome: Outcome, told: Found['told']): string {
  const said =
    outcome.status === 'success'
      ? (outcome.summary ?? (typeof outcome.value === 'string' ? outcome.value : JSON.stringify(outcome.value)))
      : outcome.status === 'failure'
        ? outcome.failure.message
        : outcome.status === 'cancelled'
          ? outcome.cancellation.message
          : outcome.unknown.message
  // Before it is cut: half a secret is not known again.
  return firstLine(told(said))
}

function firstLine(said: string): string {
  const line = said.split('\n', 1)[0] ?? ''
  return line.length > longestSummary ? `${line.slice(0, longestSummary).toWellFormed()}…` : line
}

/** For a model: a line about how it ended, and all that it reads of it where that is more. What hooks took out of a result is in neither. */
export function toldOf(
  { outcome, summary }: Pick<Task, 'outcome' | 'summary'>,
  result: string | null,
): { summary: string | null; result?: string } {
  if (result === null) return { summary }
  const said = result.replace(head, '')
  const line = outcome?.status === 'success' && outcome.summary !== undefined ? summary : firstLine(said)
  return line === said ? { summary: line } : { summary: line, result }
}

/** How parts that tell of no success begin. */
const head = /^\[Tool [a-z ]+\](?:\n|$)/

export async function listTasks(host: Reading, of: Scope, query: TaskQuery = {}): Promise<Task[]> {
  const { store } = host
  const { state, kind, limit = 100, after } = query
  if (after !== undefined && typeof after !== 'string')
    throw new PawlError('task_invalid', 'after is the id of a task.')
  if (state !== undefined && state !== 'open' && !taskStates.includes(state))
    throw new PawlError(
      'task_invalid',
      `Unknown state filter ${JSON.stringify(state)}. Valid states: ${taskStates.join(', ')}, open`,
    )
  if (!(Number.isSafeInteger(limit) && limit >= 1 && limit <= mostListed))
    throw new PawlError('task_invalid', `limit is ${String(limit)}; it must be a whole number from 1 to ${mostListed}.`)
  const fits = (task: Task): boolean =>
    (kind === undefined || task.kind === kind) &&
    (state === undefined || state === task.state || (state === 'open' && task.outcome === null))
  const found: Task[] = []
  const asked = new PendingAsks(store)
  // What is open costs what is open; else page by page from the newest.
  const isOpen = state === 'open' || state === 'queued' || state === 'running' || state === 'awaiting_input'
  const from = after === undefined ? undefined : await store.document(taskName(of, after))
  if (after !== undefined && !from)
    throw new PawlError('task_unknown', `The id to go on after is ${JSON.stringify(after)}.`)
  const uid = from ? (JSON.parse(from.value) as TaskRow).uid : ''
  for await (const some of together(isOpen ? openTasks(store, of, uid) : newest(store, of, uid)))
    for (const task of await Promise.all(some.map((kept) => unlessUnreadable(() => taskIn(host, kept, asked)))))
      if (task && fits(task) && found.push(task) === limit) return found
  return found
}

/** One among others: where it cannot be opened it stands still, and they go on. */
export const taskRow = (store: Store, of: Scope, id: string): Promise<StoredDocument | undefined> =>
  unlessUnreadable(() => store.document(taskName(of, id)))

/** Some at a time: a store that is far away is asked for them at once. */
const atOnce = 20

async function* together<T>(all: AsyncIterable<T>): AsyncGenerator<T[], void> {
  let some: T[] = []
  for await (const each of all) {
    if (some.push(each) < atOnce) continue
    yield some
    some = []
  }
  if (some.length > 0) yield some
}

async function* newest(store: Store, of: Scope, after: string): AsyncGenerator<StoredDocument, void> {
  for (let before = after; ;) {
    const rows = await store.documentsOf({
      of: 'task-order',
      tenant: of.tenant,
      session: of.session,
      after: before,
      limit: page,
      newest: true,
    })
    for (let from = 0; from < rows.length; from += atOnce) {
      const some = rows.slice(from, from + atOnce).map(({ value: id }) => taskRow(store, of, id))
      yield* (await Promise.all(some)).filter((kept) => kept !== undefined)
    }
    const last = rows.at(-1)
    if (!last || rows.length < page) return
    before = last.key
  }
}

/** The tasks of a session that have not ended, the newest first. */
export async function* openTasks(store: Store, of: Scope, after = ''): AsyncGenerator<StoredDocument, void> {
  const { tenant, session } = of
  const open: { uid: string; kept: StoredDocument }[] = []
  for (let from = ''; ;) {
    const calls = await store.unsettled({ of: { tenant, session }, after: from, limit: page })
    for (const { uid, position } of calls) {
      const kept = await taskRow(store, of, position.batch === taskBatch ? position.id : movedId(uid))
      if (kept && (after === '' || uid < after)) open.push({ uid, kept })
    }
    const last = calls.at(-1)
    if (!last || calls.length < page) break
    from = last.uid
  }
  // What stands for a schedule has no call.
  for await (const { value } of iterateDocuments(store, { of: 'schedule', tenant, session })) {
    const { monitor, state } = JSON.parse(value) as { monitor?: string; state: string }
    const kept = monitor === undefined || state === 'ended' ? undefined : await taskRow(store, of, monitor)
    const uid = kept && (JSON.parse(kept.value) as TaskRow).uid
    if (kept && uid !== undefined && (after === '' || uid < after)) open.push({ uid, kept })
  }
  for (const { kept } of open.toSorted((a, b) => (a.uid < b.uid ? 1 : -1))) yield kept
}

/** Of a task that began as a call somebody waited for. */
export const movedKind = 'moved_call'
