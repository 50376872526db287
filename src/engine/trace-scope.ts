// The trace context that is active in the current code. It is stored with the calls that this code requests, so that
// every worker continues the same trace. Also without an observer: a server passes on the header of a request.

import { AsyncLocalStorage } from 'node:async_hooks'
import { type Observers, readTraceparent } from '../core/observer.ts'
import type { Execution } from './execution.ts'
import { observedCall } from './observed-call.ts'

type Traced = Pick<Execution, 'options' | 'request'>

const current = new AsyncLocalStorage<string | null>()

export const activeTraceparent = (): string | null => current.getStore() ?? null

/**
 * Runs the function with a W3C trace context: the calls that it requests belong to that trace. Without a valid
 * `traceparent` the function runs as it is.
 *
 * @example
 * await withTraceparent(request.headers.get('traceparent'), () => session.turn({ model, message }).outcome)
 */
export function withTraceparent<T>(traceparent: string | null | undefined, work: () => T): T {
  const read = readTraceparent(traceparent)
  return read === null ? work() : current.run(read, work)
}

/** Runs the code of a call in its span. Without a span it runs in the trace context that is stored with the call. */
export function runTraced<T>(observers: Observers, execution: Traced, work: () => T, modelCall?: number): T {
  const { options, request } = execution
  // Most calls without an observer: no trace context is stored, and none is active.
  if (observers.tracing === null && options.trace === undefined && activeTraceparent() === null) return work()
  const call = observedCall(request)
  const span = observers.tracing?.spanOf(call, modelCall) ?? null
  if (span) return current.run(span.traceparent, () => span.run(work))
  const { traceparent = null } = call
  // Code that another call has triggered must not run in the trace of that call.
  return traceparent === activeTraceparent() ? work() : current.run(traceparent, work)
}

/** Runs work that no call has requested: it belongs to no trace, whatever code has woken it. */
export function runUntraced<T>({ tracing }: Observers, work: () => T): T {
  return current.run(null, () => (tracing ? tracing.detached(work) : work()))
}
