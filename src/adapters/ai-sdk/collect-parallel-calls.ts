// Collects the calls of one model message into one batch. The SDK calls `execute` once per call; calls for the same
// `messages` that arrive in one turn of the event loop go to session.run together, in the model's order.

import { createHash } from 'node:crypto'
import { isName, lengthPrefixed } from '../../core/ids.ts'
import type { CallAsk, CallOutcome, OpenCall } from '../../index.ts'
import { providerId } from '../../tools/convert-tool-formats.ts'
import { type AdapterUntil, runCalls } from '../run-calls.ts'
import type { AiExecution, AiMessage, AiSession } from './sdk-types.ts'

/** Names the batch of the calls that one model message requests. */
export type BatchNamer = (messages: readonly AiMessage[]) => string

/** The options of a toolset that decide how its calls run. */
export interface CollectOptions {
  readonly batch: BatchNamer | undefined
  readonly until: AdapterUntil | undefined
}

interface PendingCall {
  readonly call: CallAsk
  readonly signal: AbortSignal | undefined
  readonly until: AdapterUntil | undefined
  resolve(outcome: CallOutcome | OpenCall): void
  reject(error: unknown): void
}

/** Batches of the answers to `messages`, by session. */
const batches = new WeakMap<readonly AiMessage[], Map<string, string>>()

/**
 * Calls that are not submitted yet, by batch. Keyed by session and messages, not by toolset: one message may call tools
 * of several toolsets and is still one batch, and two requests at the same time are two messages.
 */
const openGroups = new WeakMap<AiSession, WeakMap<readonly AiMessage[], Map<string, PendingCall[]>>>()

function groupsOf(session: AiSession, messages: readonly AiMessage[]): Map<string, PendingCall[]> {
  let ofSession = openGroups.get(session)
  if (!ofSession) openGroups.set(session, (ofSession = new WeakMap()))
  let groups = ofSession.get(messages)
  if (!groups) ofSession.set(messages, (groups = new Map()))
  return groups
}

/**
 * The batch in which a call is recorded: the host's name for it, or one for the order of the calls of its answer. That
 * one is named after the first call that arrives; later arrivals for the same array of messages join it.
 */
export function batchFor(
  { tenant, id }: AiSession,
  call: CallAsk,
  messages: readonly AiMessage[],
  namer: BatchNamer | undefined,
): string {
  if (namer) return namer(messages)
  let named = batches.get(messages)
  if (!named) batches.set(messages, (named = new Map()))
  const session = lengthPrefixed(tenant, id)
  let batch = named.get(session)
  if (batch === undefined) named.set(session, (batch = callKey(call, messages, 0)))
  return batch
}

export function collectCall(
  session: AiSession,
  call: CallAsk,
  { messages, abortSignal }: AiExecution,
  { batch: namer, until }: CollectOptions,
): Promise<CallOutcome | OpenCall> {
  return new Promise((resolve, reject) => {
    const batch = batchFor(session, call, messages, namer)
    const open = groupsOf(session, messages)
    const key = lengthPrefixed(namer ? 'named' : '', batch)
    const waiting = { call, signal: abortSignal, until, resolve, reject }
    const group = open.get(key)
    if (group) return void group.push(waiting)
    const fresh = [waiting]
    open.set(key, fresh)
    // The SDK awaits callbacks before each execute, so the calls of a message arrive in many microtasks; an immediate
    // runs after all of them. A call that arrives even later has the same batch name and joins its order.
    setImmediate(() => {
      open.delete(key)
      void submit(session, batch, fresh, namer ? undefined : messages)
    })
  })
}

/** `messages`: what the calls are identified by; undefined if the host names their batch. */
async function submit(
  session: AiSession,
  batch: string,
  group: readonly PendingCall[],
  messages: readonly AiMessage[] | undefined,
): Promise<void> {
  // Do not start calls that were aborted while they waited.
  const wanted = group.filter(({ signal, reject }) => {
    if (signal?.aborted) reject(signal.reason)
    return !signal?.aborted
  })
  if (wanted.length === 0) return
  const signal = allAborted(wanted)
  const run = (calls: readonly CallAsk[], until: AdapterUntil | undefined) =>
    runCalls(session, calls, { batch, signal, until })
  try {
    const calls = wanted.map(({ call }) => call)
    const until = wanted.some((each) => each.until === 'waiting') ? 'waiting' : 'settled'
    const outcomes = messages
      ? await runIdentified(calls, messages, (each) => run(each, until))
      : await run(calls, until)
    for (const [index, waiting] of wanted.entries()) {
      const outcome = outcomes[index] as CallOutcome | OpenCall
      if (!isOpen(outcome) || waiting.until === 'waiting') waiting.resolve(outcome)
      // Another toolset of this message wanted to return early; this one waits on.
      else submit(session, batch, [{ ...waiting, until: 'settled' }], messages).catch(waiting.reject)
    }
  } catch (error) {
    for (const waiting of wanted) waiting.reject(error)
  }
}

export const isOpen = (outcome: CallOutcome | OpenCall): outcome is OpenCall =>
  outcome.status === 'waiting' || outcome.status === 'running'

/** How many calls with other content may have the same id at the same place of a conversation. */
const maxRepeats = 100

/**
 * Runs calls that are identified by the id of the model and not by the texts of the conversation (decision 0046). If
 * another call is on record under an id, the model repeats its ids: the next free number is taken, or the number under
 * which this very call is on record.
 */
async function runIdentified(
  calls: readonly CallAsk[],
  messages: readonly AiMessage[],
  run: (calls: readonly CallAsk[]) => Promise<(CallOutcome | OpenCall)[]>,
): Promise<(CallOutcome | OpenCall)[]> {
  const seen = new Map<string, number>()
  const numbers = calls.map(({ id }) => {
    const number = seen.get(id) ?? 0
    seen.set(id, number + 1)
    return number
  })
  const keyed = (index: number): CallAsk => {
    const call = calls[index] as CallAsk
    return { ...call, idempotencyKey: callKey(call, messages, numbers[index] as number) }
  }
  const outcomes = await run(calls.map((_, index) => keyed(index)))
  for (let repeat = 0; repeat < maxRepeats; repeat++) {
    const conflicting = outcomes.flatMap((outcome, index) => (isConflict(outcome) ? [index] : []))
    if (conflicting.length === 0) break
    for (const index of conflicting) (numbers[index] as number)++
    const next = await run(conflicting.map(keyed))
    for (const [at, index] of conflicting.entries()) outcomes[index] = next[at] as CallOutcome | OpenCall
  }
  return outcomes
}

/** The runtime refused the call before its body, because a call with other content is recorded under its key. */
const isConflict = (outcome: CallOutcome | OpenCall): boolean =>
  outcome.status === 'failure' &&
  outcome.attempts === 0 &&
  outcome.failure.code === 'call_conflict' &&
  outcome.failure.source === 'runtime'

/**
 * The key of a call: the model's id, how many calls with this id the conversation has answered before, and a number for
 * equal ids in one message. No text of a message is part of it.
 */
function callKey({ id, meta }: CallAsk, messages: readonly AiMessage[], number: number): string {
  const modelId = providerId({ callId: id, ...(meta === undefined ? {} : { meta }) })
  const key = `ai-sdk:${answeredBefore(modelId, messages)}:${number}:${id}`
  return isName(key) ? key : `ai-sdk:${createHash('sha256').update(key).digest('base64url')}`
}

/**
 * The results in the conversation that have this id: a model with unique ids never repeats one of them. A placeholder is
 * no result. Until there is one, the same call joins the one that waits.
 */
function answeredBefore(id: string, messages: readonly AiMessage[]): number {
  let answered = 0
  for (const { content } of messages)
    if (Array.isArray(content))
      for (const part of content as ResultPart[])
        if (part?.type === 'tool-result' && part.toolCallId === id && !isPlaceholder(part.output)) answered++
  return answered
}

interface ResultPart {
  readonly type?: unknown
  readonly toolCallId?: unknown
  readonly output?: { readonly value?: unknown }
}

const isPlaceholder = (output: ResultPart['output']): boolean =>
  typeof output?.value === 'string' && /^\[Tool call (waiting|running)\]\n/.test(output.value)

/** Aborts when all signals are aborted. The calls share one signal unless SDK timeouts gave each its own. */
function allAborted(wanted: readonly PendingCall[]): AbortSignal | undefined {
  const signals = [...new Set(wanted.map(({ signal }) => signal))]
  const first = signals[0]
  if (signals.length === 1 || signals.includes(undefined)) return signals.length === 1 ? first : undefined
  const all = new AbortController()
  let left = signals.length
  for (const signal of signals)
    signal?.addEventListener('abort', () => --left === 0 && all.abort(signal.reason), { once: true })
  return all.signal
}
