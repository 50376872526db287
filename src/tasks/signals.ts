// Signals and messages to a task (TASK-8). The n-th signal of a name meets the n-th wait for it: what has come is kept, and the wait that stands for
// it is answered in the same write. calls/task-execution/task-context.ts is the other side.

import { messageSignal, replySignal, checkSignal } from '../store/records/signal-names.ts'
import { eventOf } from '../store/records/event.ts'
import { arrived, type Came, keptIn, noSignals, type Signals } from '../store/records/signals.ts'
import { emittedName, messageName, runName, signalsName, type TaskRun } from '../store/records/task-record.ts'
import { hash } from 'node:crypto'
import type { WaitRecord } from '../store/records/call-record.ts'
import { canonical } from '../core/canonical-json.ts'
import { PawlError } from '../core/errors.ts'
import { isName } from '../core/ids.ts'
import { bytesIn, fits } from '../core/size-limits.ts'
import { isTerminal } from '../core/task-state.ts'
import { decode, encode, fromRow, type Json, toRow } from '../core/value.ts'
import { iterateDocuments } from '../store/iterate-documents.ts'
import type { Guard, Store } from '../store/store.ts'
import type { TaskEventRecord, SignalAnswer, Task, TaskMessage } from '../tools/context/tasks.ts'
import type { BackgroundHost, Owner } from './ports.ts'
import { monitorKind } from '../core/task-state.ts'
import { movedKind } from './read-task.ts'

interface Signal {
  readonly name: string
  readonly value: Json
  readonly key?: string
  /** The message that it is. */
  readonly message?: TaskMessage
  /** What must hold for it to count: who sends it is a body. */
  readonly fence?: readonly Guard[]
}

/** Others may be first; each time one of them gets on. */
const mostTries = 1_000
const none: readonly Guard[] = []
/** Of one name, in all; and what is kept of them for a body that does not listen. */
const mostSignals = 10_000
const mostKept = 4 * 1024 * 1024

export async function sendSignal(
  host: BackgroundHost,
  owner: Owner,
  task: Task,
  { name, value, key, fence }: { name: string; value: unknown; key?: string; fence?: readonly Guard[] },
): Promise<SignalAnswer> {
  checkSignal(name)
  const sent = await send(host, owner, task, { name, value: valueOf(value, host), ...said(key, fence) })
  return 'full' in sent ? { accepted: false, why: sent.full } : { accepted: true, number: sent.number }
}

const said = (key: string | undefined, fence: readonly Guard[] | undefined): Pick<Signal, 'key' | 'fence'> => {
  if (key !== undefined && !isName(key))
    throw new PawlError('task_invalid', 'The key of a signal or message is a text.')
  return { ...(key === undefined ? {} : { key }), ...(fence === undefined ? {} : { fence }) }
}

type Sent = { readonly number: number; readonly came: Came } | { readonly full: string }

async function send(host: BackgroundHost, owner: Owner, task: Task, signal: Signal): Promise<Sent> {
  const { store, clock } = host
  const { name, value, key, message, fence = none } = signal
  if (task.kind === monitorKind)
    throw new PawlError('task_invalid', 'A monitor stands for a schedule: it hears nothing.')
  if (task.kind === movedKind)
    throw new PawlError('task_invalid', 'It began as a call that somebody waited for: it hears nothing.')
  const place = signalsName(owner, task.id, name)
  const { tenant, session } = owner
  const row = toRow(value)
  const own = key === undefined ? {} : { key, hash: hash('sha256', canonical(row), 'base64url') }
  const came: Came = { value: row, ...own, ...(message ? { message: { id: message.id, at: message.at } } : {}) }
  for (let tries = 0; tries < mostTries; tries++) {
    const kept = await store.document(place)
    const signals = kept ? (JSON.parse(kept.value) as Signals) : noSignals
    const before = key === undefined ? -1 : signals.came.findIndex((each) => each.key === key)
    // Whoever did not hear the answer may ask again, also when the task has gone on or ended by it.
    const same = signals.came[before]
    if (same && same.hash !== own.hash) throw new PawlError('signal_conflict', `The key is ${JSON.stringify(key)}.`)
    if (same) return { number: before + 1, came: same }
    if (isTerminal(task.state)) throw new PawlError('task_over', `The task '${task.id}' is ${task.state}.`)
    if (message?.inReplyTo !== undefined) await checkReply(store, owner, task, message.inReplyTo, signals)
    if (signals.came.length >= mostSignals) return { full: `${mostSignals} signals of this name have come already.` }
    const { wait, over } = await firstOpen(store, signals.waiting)
    if (!wait && keptIn(signals) + JSON.stringify(row).length > mostKept)
      return { full: 'The task does not listen, and more than 4 MiB would be kept for it.' }
    const next = arrived(came, signals, { over, ...(wait ? { for: wait.id } : {}) })
    const guards: Guard[] = [
      { kind: 'kept', ...place, revision: kept?.revision ?? 0 },
      { kind: 'unsettled', call: task.call },
      ...fence,
    ]
    const at = clock.now()
    const subject = { tenant, session, call: task.call }
    const documents = [
      { ...place, value: JSON.stringify(next) },
      ...(message
        ? [{ ...messageName(owner, task.id, message.at, message.id), value: JSON.stringify(rowOf(message)) }]
        : []),
    ]
    const events = [
      eventOf(subject, 'task.signal', at, { task: task.id, name }),
      ...(message
        ? [eventOf(subject, 'task.message', at, { task: task.id, message: message.id, direction: 'in' as const })]
        : []),
    ]
    const call = wait && (await store.call(task.call))
    const written =
      wait && call
        ? await host.engine().answer(wait, call, { value }, { guards, documents: documents, events })
        : (await store.commit({ guards, documents: documents, events })).ok
    if (written) return { number: next.came.length, came }
    const now = await store.call(task.call)
    if (!now || now.state === 'settled') throw new PawlError('task_over', `The task '${task.id}' has ended.`)
    if (fence.length > 0 && !(await holds(store, fence))) throw new PawlError('lease_lost')
  }
  throw new PawlError('store_unavailable', 'Others were always first to signal this task.')
}

/** Of those that stand for a signal, the first whose time is not over; and those whose is. */
async function firstOpen(
  store: Store,
  waiting: readonly string[],
): Promise<{ wait?: WaitRecord; over: readonly string[] }> {
  const over: string[] = []
  for (const id of waiting) {
    const wait = await store.wait(id)
    if (wait && wait.resolution === null) return { wait, over }
    over.push(id)
  }
  return { over }
}

/** Whether a body still holds its call. */
async function holds(store: Store, fence: readonly Guard[]): Promise<boolean> {
  for (const guard of fence)
    if (guard.kind === 'holds' && (await store.call(guard.call))?.fence !== guard.fence) return false
  return true
}

/** What the task asks, by what its runner has told; one reply is taken. */
async function checkReply(
  store: Store,
  owner: Owner,
  { id }: Task,
  inReplyTo: string,
  { came }: Signals,
): Promise<void> {
  const run = await store.document(runName(owner, id))
  const request = run ? (JSON.parse(run.value) as TaskRun).request : null
  if (request?.id === inReplyTo && came.length === 0) return
  throw new PawlError(
    'task_invalid',
    `The task does not wait for a reply to ${JSON.stringify(inReplyTo)}. Nothing was recorded.`,
  )
}

export async function sendMessage(
  host: BackgroundHost,
  owner: Owner,
  task: Task,
  text: string,
  { data, inReplyTo, key, fence }: { data?: unknown; inReplyTo?: string; key?: string; fence?: readonly Guard[] },
): Promise<TaskMessage> {
  if (typeof text !== 'string' || !text.isWellFormed())
    throw new PawlError('task_invalid', 'The text of a message must be a string.')
  const value = { text, ...(data === undefined ? {} : { data: valueOf(data, host) }) }
  valueOf(value, host)
  const reply = inReplyTo === undefined ? {} : { inReplyTo }
  const message: TaskMessage = {
    id: `to.${host.ids.next()}`,
    direction: 'in',
    ...value,
    ...reply,
    at: host.clock.now(),
  }
  const name = inReplyTo === undefined ? messageSignal : replySignal(inReplyTo)
  const sent = await send(host, owner, task, { name, value, message, ...said(key, fence) })
  if ('full' in sent) throw new PawlError('tasks_full', sent.full)
  // Sent before under its key, it is the one that was.
  return { ...message, ...sent.came.message }
}

const rowOf = (message: TaskMessage): TaskMessage =>
  message.data === undefined ? message : { ...message, data: toRow(message.data) }

function messageIn(row: string): TaskMessage {
  const message = JSON.parse(row) as TaskMessage
  return message.data === undefined ? message : { ...message, data: fromRow(message.data) }
}

/** Both ways, oldest first. */
export async function messages(
  store: Store,
  { tenant, session }: Owner,
  task: string,
  { limit = 100, after, last }: { limit?: number; after?: string; last?: number } = {},
): Promise<TaskMessage[]> {
  const found: TaskMessage[] = []
  let seen = after === undefined
  for await (const { key, value } of iterateDocuments(store, { of: 'task-message', tenant, session }, `${task}:`)) {
    if (!key.startsWith(`${task}:`)) break
    const message = messageIn(value)
    if (seen && found.push(message) >= limit && last === undefined) break
    if (last !== undefined && found.length > last) found.shift()
    seen ||= message.id === after
  }
  return found
}

/** What it emitted, oldest first. */
export async function events(
  store: Store,
  { tenant, session }: Owner,
  task: string,
  { after = 0, limit = 100 }: { after?: number; limit?: number } = {},
): Promise<TaskEventRecord[]> {
  const found: TaskEventRecord[] = []
  const prefix = `${task}:`
  const { key: from } = emittedName({ tenant, session }, task, after)
  for await (const { key, value } of iterateDocuments(store, { of: 'task-event', tenant, session }, from)) {
    if (!key.startsWith(prefix)) break
    const { type, payload, at } = JSON.parse(value) as { type: string; payload: unknown; at: number }
    if (found.push({ number: Number(key.slice(prefix.length)), type, payload: fromRow(payload), at }) >= limit) break
  }
  return found
}

/** In its recorded form, if it is one and not too large. */
function valueOf(value: unknown, { mostBytes }: BackgroundHost): Json {
  const text = encode(value ?? null)
  if (!fits(text, mostBytes))
    throw new PawlError('task_invalid', `It has ${bytesIn(text)} bytes; at most ${mostBytes} are taken.`)
  return decode(text)
}
