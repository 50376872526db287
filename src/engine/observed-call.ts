// Describes a call for the observers. The name that a model invented for a missing tool is not passed on.

import type { ObservedCall, ObservedEvent } from '../core/observer.ts'
import {
  type CallOptions,
  type CallProgress,
  type CallRequest,
  parseCallOptions,
} from '../store/records/call-record.ts'
import { timesOf } from '../store/records/call-times.ts'
import type { Driven, Execution } from './engine.ts'

type Observe = (event: ObservedEvent) => void

export const observedName = (tool: string, { absent, name }: CallOptions): string => (absent ? tool : (name ?? tool))

export function observedCall({ uid, position, tool, options }: CallRequest): ObservedCall {
  const parsed = parseCallOptions(options)
  const { tenant, session } = position
  const { trace } = parsed
  const subject = { call: uid, tool: observedName(tool, parsed), tenant, session }
  return trace === undefined ? subject : { ...subject, traceparent: trace }
}

export function observeStarted(
  observe: Observe,
  execution: Pick<Execution, 'claimed' | 'generation' | 'lostWorker' | 'interrupted'> & {
    readonly request: CallRequest & Pick<CallProgress, 'wait'>
  },
  at: number,
): void {
  const { request, claimed, generation, lostWorker, interrupted } = execution
  const { wait } = request
  observe({
    type: 'callStarted',
    ...observedCall(request),
    at,
    resumed: claimed && generation > 1, // the first worker of a task claims it, too
    lostWorker,
    ...(interrupted ? { interrupted } : {}),
    ...(wait === null ? {} : { wait }),
  })
}

export function observeSettled(
  observe: Observe | null,
  request: CallRequest,
  driven: Exclude<Driven, { park: unknown }>,
  progress: CallProgress,
): void {
  if (!observe) return
  const { createdAt } = request
  const { settle } = driven
  observe({
    type: 'callSettled',
    ...observedCall(request),
    at: progress.settledAt ?? createdAt,
    status: settle.status,
    error: settle.status === 'failure' ? settle.failure.class : null,
    attempts: progress.attempt,
    createdAt,
    ...timesOf(createdAt, progress),
  })
}
