// The SDK calls `execute` once per call; Pawl runs the calls of one model message as one batch, in the model's order. So the calls that
// come in one turn of the event loop for the same `messages` wait for each other and go to session.run together.

import { createHash } from 'node:crypto'
import type { CallAsk, CallOutcome } from '../../index.ts'
import type { AiExecution, AiMessage, AiSession } from './sdk-types.ts'

export type BatchNamer = (messages: readonly AiMessage[]) => string

interface Waiting {
  readonly call: CallAsk
  readonly signal: AbortSignal | undefined
  resolve(outcome: CallOutcome): void
  reject(error: unknown): void
}

/** By session, not by toolset: one message may call tools of several toolsets, and is one batch all the same. */
const gathering = new WeakMap<AiSession, WeakMap<readonly AiMessage[], Waiting[]>>()

export function gather(
  session: AiSession,
  call: CallAsk,
  batch: string,
  { messages, abortSignal }: AiExecution,
): Promise<CallOutcome> {
  return new Promise((resolve, reject) => {
    let open = gathering.get(session)
    if (!open) gathering.set(session, (open = new WeakMap()))
    const waiting = { call, signal: abortSignal, resolve, reject }
    const group = open.get(messages)
    if (group) return void group.push(waiting)
    const fresh = [waiting]
    open.set(messages, fresh)
    // The SDK awaits callbacks before each execute, so the calls of a message come in many microtasks; an immediate is after all of
    // them. A call that comes later still has the same batch, and joins it on the record.
    setImmediate(() => {
      open.delete(messages)
      void submit(session, batch, fresh)
    })
  })
}

async function submit(session: AiSession, batch: string, group: readonly Waiting[]): Promise<void> {
  // What was called off while it waited is not begun.
  const wanted = group.filter(({ signal, reject }) => {
    if (signal?.aborted) reject(signal.reason)
    return !signal?.aborted
  })
  if (wanted.length === 0) return
  const signal = everyoneGone(wanted)
  try {
    const outcomes = await session.run(
      wanted.map(({ call }) => call),
      { batch, ...(signal ? { signal } : {}) },
    )
    for (const [index, waiting] of wanted.entries()) waiting.resolve(outcomes[index] as CallOutcome)
  } catch (error) {
    for (const waiting of wanted) waiting.reject(error)
  }
}

/** A batch is called off when nobody waits for any of its calls. They share one signal unless the SDK's timeouts gave each its own. */
function everyoneGone(wanted: readonly Waiting[]): AbortSignal | undefined {
  const signals = [...new Set(wanted.map(({ signal }) => signal))]
  const first = signals[0]
  if (signals.length === 1 || signals.includes(undefined)) return signals.length === 1 ? first : undefined
  const all = new AbortController()
  let left = signals.length
  for (const signal of signals)
    signal?.addEventListener('abort', () => --left === 0 && all.abort(signal.reason), { once: true })
  return all.signal
}

/**
 * A name for the answer to these messages that a restart finds again: from their roles, texts and call ids, which a host keeps, and not
 * from what it may rebuild differently (provider options, the shape of content, results). Never from the calls of the answer: which of
 * them come together is chance.
 */
export function batchOf(messages: readonly AiMessage[]): string {
  const hash = createHash('sha256')
  for (const { role, content } of messages) hash.update(JSON.stringify([role, ...gist(content)]))
  return `ai-sdk:${hash.digest('base64url')}`
}

function gist(content: unknown): string[] {
  if (typeof content === 'string') return [content]
  if (!Array.isArray(content)) return []
  return content.flatMap(({ type, text, toolCallId }: { type: string; text?: string; toolCallId?: string }) =>
    type === 'text' ? [text ?? ''] : toolCallId === undefined ? [] : [toolCallId],
  )
}
