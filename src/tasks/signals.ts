// Sends signals and messages to a task. The n-th signal of a name answers the n-th wait for it: signals are buffered,
// and an open wait is answered in the same commit. calls/context/task.ts is the receiving side.

import { replySignal, checkSignal } from '../store/records/signal-names.ts'
import { eventOf } from '../store/records/event.ts'
import { addSignal, type SignalEntry, bufferedCharacters, noSignals, type Signals } from '../store/records/signals.ts'
import { hash } from 'node:crypto'
import type { WaitRecord } from '../store/records/call-record.ts'
import { canonicalJson } from '../core/canonical-json.ts'
import { PawlError } from '../core/errors.ts'
import { utf8Bytes, fits } from '../core/size-limits.ts'
import { isTerminal } from '../core/task-state.ts'
import { decode, encode, fromRow, type Json, toRow } from '../core/tool-value.ts'
import type { Guard, Store } from '../store/store.ts'
import type { TaskEventRecord, SignalAnswer, Task, TaskMessage } from '../tools/context/task-interfaces.ts'
import type { BackgroundHost, Owner } from './ports.ts'
import { monitorKind } from '../core/task-state.ts'
import { movedKind } from './read-task.ts'
import { collections } from '../store/collections.ts'
import { messageSignal } from '../store/journal-keys.ts'

interface Signal {
  readonly name: string
  readonly value: Json
  readonly key?: string
  /** Set if the signal carries a message. */
  readonly message?: TaskMessage
  /** Guards for a sending body: it must still hold the lease of its call. */
  readonly fence?: readonly Guard[]
}

/** A failed compare-and-set means that another sender succeeded, so many retries are safe. */
const maxAttempts = 1_000
const noGuards: readonly Guard[] = []
/** Limits per signal name: the total count, and the characters buffered while the body does not wait for it. */
const maxSignals = 10_000
const maxBuffered = 4 * 1024 * 1024

export async function sendSignal(
  host: BackgroundHost,
  owner: Owner,
  task: Task,
  { name, value, key, fence }: { name: string; value: unknown; key?: string; fence?: readonly Guard[] },
): Promise<SignalAnswer> {
  checkSignal(name)
  const sent = await send(host, owner, task, { name, value: checkValue(value, host), ...keyAndFence(key, fence) })
  return 'full' in sent ? { accepted: false, why: sent.full } : { accepted: true, number: sent.number }
}

const keyAndFence = (key: string | undefined, fence: readonly Guard[] | undefined): Pick<Signal, 'key' | 'fence'> => {
  return { ...(key === undefined ? {} : { key }), ...(fence === undefined ? {} : { fence }) }
}

type SendResult = { readonly number: number; readonly came: SignalEntry } | { readonly full: string }

async function send(host: BackgroundHost, owner: Owner, task: Task, signal: Signal): Promise<SendResult> {
  const { store, clock } = host
  const { name, value, key, message, fence = noGuards } = signal
  if (task.kind === monitorKind)
    throw new PawlError('task_invalid', 'A monitor represents a schedule and cannot receive signals.')
  if (task.kind === movedKind)
    throw new PawlError('task_invalid', 'The task is a call moved to the background and cannot receive signals.')
  const documentName = collections.taskSignals.name(owner, task.id, name)
  const { tenant, session } = owner
  const row = toRow(value)
  const dedup = key === undefined ? {} : { key, hash: hash('sha256', canonicalJson(row), 'base64url') }
  const came: SignalEntry = {
    value: row,
    ...dedup,
    ...(message ? { message: { id: message.id, at: message.at } } : {}),
  }
  for (let tries = 0; tries < maxAttempts; tries++) {
    const stored = await store.document(documentName)
    const signals = stored ? collections.taskSignals.parse(stored.value) : noSignals
    const before = key === undefined ? -1 : signals.came.findIndex((each) => each.key === key)
    // A sender that lost the response may retry with its key, even after the task has continued or ended.
    const same = signals.came[before]
    if (same && same.hash !== dedup.hash) throw new PawlError('signal_conflict', `The key is ${JSON.stringify(key)}.`)
    if (same) return { number: before + 1, came: same }
    if (isTerminal(task.state)) throw new PawlError('task_over', `The task '${task.id}' is ${task.state}.`)
    if (message?.inReplyTo !== undefined) await checkReply(store, owner, task, message.inReplyTo, signals)
    if (signals.came.length >= maxSignals)
      return { full: `The task has already received ${maxSignals} signals of this name.` }
    const { wait, over } = await firstOpenWait(store, signals.waiting)
    if (!wait && bufferedCharacters(signals) + JSON.stringify(row).length > maxBuffered)
      return { full: 'The task does not wait for this signal, and its buffer of 4 MiB is full.' }
    const next = addSignal(came, signals, { over, ...(wait ? { for: wait.id } : {}) })
    const guards: Guard[] = [
      { kind: 'kept', ...documentName, revision: stored?.revision ?? 0 },
      { kind: 'unsettled', call: task.call },
      ...fence,
    ]
    const at = clock.now()
    const subject = { tenant, session, call: task.call }
    const documents = [
      { ...documentName, value: JSON.stringify(next) },
      ...(message
        ? [
            {
              ...collections.taskMessage.name(owner, task.id, message.at, message.id),
              value: JSON.stringify(messageRow(message)),
            },
          ]
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
        ? await host.engine.answer(wait, call, { value }, { guards, documents, events })
        : (await store.commit({ guards, documents, events })).ok
    if (written) return { number: next.came.length, came }
    const now = await store.call(task.call)
    if (!now || now.state === 'settled') throw new PawlError('task_over', `The task '${task.id}' has ended.`)
    if (fence.length > 0 && !(await stillHolds(store, fence))) throw new PawlError('lease_lost')
  }
  throw new PawlError(
    'store_unavailable',
    'Too many concurrent senders signal this task; the signal was not recorded. Try again.',
  )
}

/** The first unresolved wait for a signal, and the ids of the waits before it that have timed out. */
async function firstOpenWait(
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

/** Whether the sending body still holds the lease of its call. */
async function stillHolds(store: Store, fence: readonly Guard[]): Promise<boolean> {
  for (const guard of fence)
    if (guard.kind === 'holds' && (await store.call(guard.call))?.fence !== guard.fence) return false
  return true
}

/** Throws unless the task has an open request with this id and no reply yet. */
async function checkReply(
  store: Store,
  owner: Owner,
  { id }: Task,
  inReplyTo: string,
  { came }: Signals,
): Promise<void> {
  const run = await store.document(collections.taskRun.name(owner, id))
  const request = run ? collections.taskRun.parse(run.value).request : null
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
  const value = { text, ...(data === undefined ? {} : { data: checkValue(data, host) }) }
  checkValue(value, host)
  const reply = inReplyTo === undefined ? {} : { inReplyTo }
  const message: TaskMessage = {
    id: `to.${host.ids.next()}`,
    direction: 'in',
    ...value,
    ...reply,
    at: host.clock.now(),
  }
  const name = inReplyTo === undefined ? messageSignal : replySignal(inReplyTo)
  const sent = await send(host, owner, task, { name, value, message, ...keyAndFence(key, fence) })
  if ('full' in sent) throw new PawlError('tasks_full', sent.full)
  // If the key was used before, the id and the time are those of the first message.
  return { ...message, ...sent.came.message }
}

const messageRow = (message: TaskMessage): TaskMessage =>
  message.data === undefined ? message : { ...message, data: toRow(message.data) }

function parseMessage(row: string): TaskMessage {
  const message = collections.taskMessage.parse(row) as TaskMessage
  return message.data === undefined ? message : { ...message, data: fromRow(message.data) }
}

/** Messages in both directions, oldest first. `last`: only the newest ones. */
export async function listMessages(
  store: Store,
  { tenant, session }: Owner,
  task: string,
  { limit = 100, after, last }: { limit?: number; after?: string; last?: number } = {},
): Promise<TaskMessage[]> {
  const found: TaskMessage[] = []
  let seen = after === undefined
  for await (const { value } of collections.taskMessage.startingWith(store, { tenant, session }, `${task}:`)) {
    const message = parseMessage(value)
    if (seen && found.push(message) >= limit && last === undefined) break
    if (last !== undefined && found.length > last) found.shift()
    seen ||= message.id === after
  }
  return found
}

/** Events that the task emitted, oldest first. */
export async function listTaskEvents(
  store: Store,
  { tenant, session }: Owner,
  task: string,
  { after = 0, limit = 100 }: { after?: number; limit?: number } = {},
): Promise<TaskEventRecord[]> {
  const found: TaskEventRecord[] = []
  const prefix = `${task}:`
  const { key: from } = collections.taskEvent.name({ tenant, session }, task, after)
  for await (const { key, value } of collections.taskEvent.startingWith(store, { tenant, session }, prefix, from)) {
    const { type, payload, at } = collections.taskEvent.parse(value)
    if (found.push({ number: Number(key.slice(prefix.length)), type, payload: fromRow(payload), at }) >= limit) break
  }
  return found
}

/** The value as it will be read back from the record. Throws if it cannot be recorded or is too large. */
function checkValue(value: unknown, { sizes: { arguments: maxBytes } }: BackgroundHost): Json {
  const text = encode(value ?? null)
  if (!fits(text, maxBytes))
    throw new PawlError('task_invalid', `The value has ${utf8Bytes(text)} bytes; at most ${maxBytes} are accepted.`)
  return decode(text)
}
