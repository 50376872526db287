// Runs or joins a call for one request, and waits for it as long as the client can wait.

import type {
  CallDetails,
  CallOutcome,
  FeedEvent,
  Json,
  OpenCall,
  Outcome,
  Runtime,
  Session,
  Tool,
} from '../../index.ts'
import type { CallToolResult } from '@modelcontextprotocol/server'
import type { McpCaller, OpenRequest } from './exchange.ts'
import type { ServerCall, ServerParts } from './server-parts.ts'
import { findTool } from './tool-list.ts'
import { resultOf } from './tool-result.ts'

/** Ids are made here: longer ones cannot exist. */
const maxIdLength = 100

/** A call that a request is about. */
export interface Followed {
  readonly session: Session
  readonly tool: Tool | undefined
  readonly call: ServerCall
}

/** A recorded call of the caller; undefined if there is none, also if it belongs to another principal. */
export async function recordedCall(
  { openCalls }: ServerParts,
  { tenant }: McpCaller,
  session: Session,
  id: unknown,
): Promise<Followed | undefined> {
  if (typeof id !== 'string' || id === '' || id.length > maxIdLength || !id.isWellFormed()) return undefined
  const recorded = await session.calls.get({ idempotencyKey: id })
  if (!recorded) return undefined
  const { name, input, meta } = recorded
  const tool = await findTool(session, name)
  const { mcp: content = '' } = (meta ?? {}) as { mcp?: string }
  const call = openCalls.get(tenant, id) ?? { id, name, input, idempotencyKey: id, meta: { mcp: content } }
  return { session, tool, call }
}

/** The interest of one request in a call. */
export interface Hold {
  /** Aborts when the call is to be cancelled. */
  readonly stop: AbortSignal
  release(): void
}

/** The last request that waits for the call cancels it with its own cancellation. */
export function holdCall(parts: ServerParts, { cancelled, caller }: OpenRequest, followed: Followed): Hold {
  const entry = parts.openCalls.remember(caller.tenant, followed.call)
  entry.waiting++
  const stop = new AbortController()
  let isWaiting = true
  const leave = (): void => {
    if (isWaiting) entry.waiting--
    isWaiting = false
  }
  const cancel = (): void => {
    // A cancelled request may still be open when the next one is cancelled.
    leave()
    if (entry.waiting > 0) return
    stop.abort(cancelled.reason)
    forget(parts, caller, followed)
  }
  if (cancelled.aborted) cancel()
  else cancelled.addEventListener('abort', cancel, { once: true })
  return {
    stop: stop.signal,
    release() {
      leave()
      cancelled.removeEventListener('abort', cancel)
    },
  }
}

/** Resolves with the outcome; with `until: 'waiting'` also when the call waits for a person or something outside. */
export async function follow(
  { runtime }: Pick<ServerParts, 'runtime'>,
  { session, call }: Followed,
  stop: AbortSignal,
  until: 'waiting' | 'settled',
): Promise<CallOutcome | OpenCall> {
  const options = { signal: stop }
  const [found] =
    until === 'waiting' ? await session.run([call], { ...options, until }) : await session.run([call], options)
  return asRecorded(runtime, session, call, found as CallOutcome | OpenCall, stop)
}

/** The result of an ended call. */
export async function deliver(
  parts: ServerParts,
  { caller, onDelivered }: OpenRequest,
  followed: Followed,
  outcome: CallOutcome,
): Promise<CallToolResult> {
  onDelivered(() => {
    const { tool, call } = followed
    parts.openCalls.forget(caller.tenant, call.id)
    parts.identities.delivered(caller, tool, { id: call.id, content: call.meta.mcp })
  })
  return resultOf(followed.session, followed.tool, outcome)
}

/** The client cancelled the call: the same request is a new call from now on, also of a tool with `dedupe`. */
export function forget({ openCalls, identities }: ServerParts, caller: McpCaller, { call }: Followed): void {
  openCalls.forget(caller.tenant, call.id)
  identities.forget(caller, { id: call.id, content: call.meta.mcp })
}

export const isSettled = (found: CallOutcome | OpenCall): found is CallOutcome =>
  found.status !== 'waiting' && found.status !== 'running'

/**
 * After a restart only the validated arguments are known. With defaults they differ from the requested ones, and the
 * runtime refuses to join: the outcome is then read from the record.
 */
async function asRecorded(
  runtime: Runtime,
  session: Session,
  { id, name, meta }: ServerCall,
  found: CallOutcome | OpenCall,
  stop: AbortSignal,
): Promise<CallOutcome | OpenCall> {
  if (found.status !== 'failure' || found.failure.code !== 'call_conflict' || found.failure.source !== 'runtime')
    return found
  const call = { idempotencyKey: id }
  const after = await runtime.cursor()
  const first = await session.calls.get(call)
  if ((first?.meta as { mcp?: Json } | undefined)?.mcp !== meta.mcp) return found
  const cancel = (): void => void session.calls.cancel(call).catch(() => {})
  if (stop.aborted) cancel()
  else stop.addEventListener('abort', cancel, { once: true })
  const isEnd = (event: FeedEvent): boolean => event.type === 'call.settled' && event.call === first?.uid
  if (first?.outcome === null) for await (const event of session.events({ after })) if (isEnd(event)) break
  const recorded = await session.calls.get(call, { redacted: true })
  return recorded?.outcome ? outcomeOf(recorded, name) : found
}

function outcomeOf({ outcome, attempts }: CallDetails, name: string): CallOutcome {
  const ended = outcome as Outcome
  const text =
    ended.status === 'success'
      ? typeof ended.value === 'string'
        ? ended.value
        : JSON.stringify(ended.value)
      : ended.status === 'failure'
        ? `[Tool execution failed]\n${ended.failure.message}`
        : ended.status === 'cancelled'
          ? `[Tool execution cancelled]\n${ended.cancellation.message}`
          : `[Tool outcome unknown]\n${ended.unknown.message}`
  const times = { queuedMs: 0, runningMs: 0, waitingMs: 0 }
  return { ...ended, ...times, callId: '', name, attempts, parts: [{ type: 'text', text }] }
}
