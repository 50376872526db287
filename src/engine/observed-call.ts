// Describes a call for the observer. The name that a model invented for a missing tool is not passed on.

import type { ObservedCall, Observer } from '../core/observer.ts'
import type { OutcomeStatus } from '../core/outcome.ts'
import { type CallProgress, type CallRequest, parseCallOptions } from '../store/records/call-record.ts'
import { timesOf } from '../store/records/call-times.ts'
import type { Execution } from './engine.ts'

export function observedCall({ uid, position, tool, options }: CallRequest): ObservedCall {
  const { absent, name } = parseCallOptions(options)
  const { tenant, session } = position
  return { call: uid, tool: absent ? tool : (name ?? tool), tenant, session }
}

export function observeStarted(observer: Observer, { request, claimed }: Execution): void {
  observer({ type: 'callStarted', ...observedCall(request), resumed: claimed })
}

export function observeSettled(
  observer: Observer,
  request: CallRequest,
  status: OutcomeStatus,
  progress: CallProgress,
): void {
  const times = timesOf(request.createdAt, progress)
  observer({ type: 'callSettled', ...observedCall(request), status, attempts: progress.attempt, ...times })
}
