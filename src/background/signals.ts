// Signals and messages to a task (TASK-8). The n-th signal of a name meets the n-th wait for it: what has come is kept, and the wait that stands for
// it is answered in the same write. call/task-context.ts is the other side.

import { messageSignal, replySignal, checkSignal } from '../journal/signal-names.ts'
import { eventOf } from '../journal/event.ts'
import { emittedName, messageName, noSignals, signalsName, type Signals } from '../journal/task.ts'
import { PawlError } from '../kernel/errors.ts'
import { bytesIn, fits } from '../kernel/sizes.ts'
import { isTerminal } from '../kernel/task.ts'
import { decode, encode, type Json } from '../kernel/value.ts'
import { everyKept } from '../store/every-kept.ts'
import type { AlsoWritten } from '../engine/engine.ts'
import type { Guard, Store } from '../store/store.ts'
import type { EmittedEvent, SignalAnswer, Task, TaskMessage } from '../tool/task.ts'
import type { BackgroundHost, Owner } from './host.ts'
import { monitorKind } from './monitor.ts'

interface Signal {
  readonly name: string
  readonly value: Json
  readonly key?: string
  /** Throws if it must not be sent, unless it was before. */
  readonly mayBe?: () => void
  /** What must hold for it to count: who sends it is a body. */
  readonly fence?: readonly Guard[]
  /** Written with it. */
  readonly also?: Pick<AlsoWritten, 'keep' | 'events'>
}

/** Others may be first; each time one of them gets on. */
const mostTries = 100
const none: readonly Guard[] = []
/** Of one name, in all. */
const mostSignals = 10_000

export async function sendSignal(
  host: BackgroundHost,
  owner: Owner,
  task: Task,
  { name, value, key, fence }: { name: string; value: unknown; key?: string; fence?: readonly Guard[] },
): Promise<SignalAnswer> {
  checkSignal(name)
  const said = { ...(key === undefined ? {} : { key }), ...(fence === undefined ? {} : { fence }) }
  return send(host, owner, task, { name, value: valueOf(value, host), ...said })
}

async function send(host: BackgroundHost, owner: Owner, task: Task, signal: Signal): Promise<SignalAnswer> {
  const { store, clock } = host
  const { name, value, key, also, mayBe, fence = none } = signal
  if (task.kind === monitorKind) throw new PawlError('task_invalid', 'A monitor stands for a schedule: it hears nothing.')
  const place = signalsName(owner, task.id, name)
  const { tenant, session } = owner
  for (let tries = 0; tries < mostTries; tries++) {
    const kept = await store.kept(place)
    const { came, waiting } = kept ? (JSON.parse(kept.value) as Signals) : noSignals
    const before = key === undefined ? -1 : came.findIndex((each) => each.key === key)
    // Whoever did not hear the answer may ask again, also when the task has gone on or ended by it.
    if (before !== -1) return { accepted: true, number: before + 1 }
    if (isTerminal(task.state)) throw new PawlError('task_over', `The task '${task.id}' is ${task.state}.`)
    mayBe?.()
    if (came.length >= mostSignals) return { accepted: false, why: `${mostSignals} signals of this name have come already.` }
    const number = came.length + 1
    const { [number]: waitId, ...others } = waiting
    const next: Signals = { came: [...came, { value, ...(key === undefined ? {} : { key }) }], waiting: others }
    const guards: Guard[] = [{ kind: 'kept', ...place, revision: kept?.revision ?? 0 }, { kind: 'unsettled', call: task.call }, ...fence]
    const keep = [{ ...place, value: JSON.stringify(next) }, ...(also?.keep ?? [])]
    const events = [
      eventOf({ tenant, session, call: task.call }, 'task.signal', clock.now(), { task: task.id, name }),
      ...(also?.events ?? []),
    ]
    const wait = waitId === undefined ? undefined : await store.wait(waitId)
    const call = wait && wait.resolution === null ? await store.call(task.call) : undefined
    // One whose time was over before this came has nobody who hears it: the signal stays what was sent.
    const written =
      wait && call
        ? await host.engine().answer(wait, call, { value }, { guards, keep, events })
        : (await store.commit({ guards, keep, events })).ok
    if (written) return { accepted: true, number }
    const now = await store.call(task.call)
    if (!now || now.state === 'settled') throw new PawlError('task_over', `The task '${task.id}' has ended.`)
  }
  throw new PawlError('store_unavailable', 'Others were always first to signal this task.')
}

export async function sendMessage(
  host: BackgroundHost,
  owner: Owner,
  task: Task,
  text: string,
  { data, inReplyTo, key, fence }: { data?: unknown; inReplyTo?: string; key?: string; fence?: readonly Guard[] },
): Promise<TaskMessage> {
  if (typeof text !== 'string' || !text.isWellFormed()) throw new PawlError('task_invalid', 'The text of a message must be a string.')
  const value = { text, ...(data === undefined ? {} : { data: valueOf(data, host) }) }
  valueOf(value, host)
  const id = `to.${host.ids.next()}`
  const at = host.clock.now()
  const message: TaskMessage = { id, direction: 'in', ...value, ...(inReplyTo === undefined ? {} : { inReplyTo }), at }
  const { tenant, session } = owner
  const answer = await send(host, owner, task, {
    name: inReplyTo === undefined ? messageSignal : replySignal(inReplyTo),
    value,
    ...(key === undefined ? {} : { key }),
    ...(fence === undefined ? {} : { fence }),
    mayBe() {
      if (inReplyTo !== undefined && task.inputRequest?.id !== inReplyTo)
        throw new PawlError('task_invalid', `The task does not wait for a reply to ${JSON.stringify(inReplyTo)}. Nothing was recorded.`)
    },
    also: {
      keep: [{ ...messageName(owner, task.id, at, id), value: JSON.stringify(message) }],
      events: [eventOf({ tenant, session, call: task.call }, 'task.message', at, { task: task.id, message: id, direction: 'in' })],
    },
  })
  if (!answer.accepted) throw new PawlError('tasks_full', answer.why)
  return message
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
  for await (const { key, value } of everyKept(store, { of: 'task-message', tenant, session }, `${task}:`)) {
    if (!key.startsWith(`${task}:`)) break
    const message = JSON.parse(value) as TaskMessage
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
): Promise<EmittedEvent[]> {
  const found: EmittedEvent[] = []
  const prefix = `${task}:`
  const { key: from } = emittedName({ tenant, session }, task, after)
  for await (const { key, value } of everyKept(store, { of: 'task-event', tenant, session }, from)) {
    if (!key.startsWith(prefix)) break
    const { type, payload, at } = JSON.parse(value) as { type: string; payload: unknown; at: number }
    if (found.push({ number: Number(key.slice(prefix.length)), type, payload: decode(JSON.stringify(payload)), at }) >= limit) break
  }
  return found
}

/** In its recorded form, if it is one and not too large. */
function valueOf(value: unknown, { mostBytes }: BackgroundHost): Json {
  const text = encode(value ?? null)
  if (!fits(text, mostBytes)) throw new PawlError('task_invalid', `It has ${bytesIn(text)} bytes; at most ${mostBytes} are taken.`)
  return decode(text)
}
