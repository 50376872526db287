// Collects the calls of one model message into one batch. The SDK calls `execute` once per call; calls for the same
// `messages` that arrive in one turn of the event loop go to session.run together, in the model's order.

import { createHash } from 'node:crypto'
import type { CallAsk, CallOutcome } from '../../index.ts'
import type { AiExecution, AiMessage, AiSession } from './sdk-types.ts'

/** Names the batch of the calls that one model message requests. */
export type BatchNamer = (messages: readonly AiMessage[]) => string

interface PendingCall {
  readonly call: CallAsk
  readonly signal: AbortSignal | undefined
  resolve(outcome: CallOutcome): void
  reject(error: unknown): void
}

/** Keyed by session, not by toolset: one message may call tools of several toolsets and is still one batch. */
const openBatches = new WeakMap<AiSession, WeakMap<readonly AiMessage[], PendingCall[]>>()

export function collectCall(
  session: AiSession,
  call: CallAsk,
  batch: string,
  { messages, abortSignal }: AiExecution,
): Promise<CallOutcome> {
  return new Promise((resolve, reject) => {
    let open = openBatches.get(session)
    if (!open) openBatches.set(session, (open = new WeakMap()))
    const waiting = { call, signal: abortSignal, resolve, reject }
    const group = open.get(messages)
    if (group) return void group.push(waiting)
    const fresh = [waiting]
    open.set(messages, fresh)
    // The SDK awaits callbacks before each execute, so the calls of a message arrive in many microtasks; an immediate
    // runs after all of them. A call that arrives even later has the same batch name and joins it in the record.
    setImmediate(() => {
      open.delete(messages)
      void submit(session, batch, fresh)
    })
  })
}

async function submit(session: AiSession, batch: string, group: readonly PendingCall[]): Promise<void> {
  // Do not start calls that were aborted while they waited.
  const wanted = group.filter(({ signal, reject }) => {
    if (signal?.aborted) reject(signal.reason)
    return !signal?.aborted
  })
  if (wanted.length === 0) return
  const signal = allAborted(wanted)
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

/**
 * The default batch name for the answer to these messages, stable across restarts. It uses roles, texts and call ids,
 * which a host stores, and not what it may rebuild differently (provider options, content shape, results). It never
 * uses the calls of the answer: which of them arrive together is a matter of timing.
 */
export function batchOf(messages: readonly AiMessage[]): string {
  const hash = createHash('sha256')
  for (const { role, content } of messages) hash.update(JSON.stringify([role, ...stableContent(content)]))
  return `ai-sdk:${hash.digest('base64url')}`
}

function stableContent(content: unknown): string[] {
  if (typeof content === 'string') return [content]
  if (!Array.isArray(content)) return []
  return content.flatMap(({ type, text, toolCallId }: { type: string; text?: string; toolCallId?: string }) =>
    type === 'text' ? [text ?? ''] : toolCallId === undefined ? [] : [toolCallId],
  )
}
