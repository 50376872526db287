// The ports of tasks, schedules and triggers: what they need from the runtime and from other features.

import type { CallRenderer } from '../calls/output/render-call-result.ts'
import type { Queue } from '../calls/scheduling/queue.ts'
import type { NewCall } from '../engine/engine.ts'
import type { Foundation } from '../engine/foundation.ts'
import type { TaskTerms } from '../store/records/task-terms.ts'
import type { DocumentWrite } from '../store/store.ts'
import type { MovedCalls } from './moved-calls.ts'

/** The session that owns tasks and schedules, and the identity and policy under which their calls start. */
export interface Owner {
  readonly tenant: string
  readonly session: string
  readonly principal: string | null
  /** The session's policy, as data. */
  readonly policy?: unknown
  readonly unattended?: true
  /** The turn that started calls belong to. */
  readonly turn?: string
}

export interface Wakes {
  /** Number of turns a session may start by itself between two user messages; 0: none. */
  readonly maxConsecutive: number
  /** Document writes that wake the session; commit them together with the notice. */
  rows(of: Pick<Owner, 'tenant' | 'session'>, what: string, call?: string): readonly DocumentWrite[]
}

export interface TaskCallRequest {
  readonly id: string
  readonly name: string
  readonly input?: unknown
  readonly deadline?: number | Date
}

/** Dependencies of the functions that read tasks. */
export interface TaskReadPorts extends Pick<Foundation, 'store' | 'redact' | 'knownSecrets'> {
  readonly renderer: CallRenderer
}

export interface BackgroundHost extends Foundation, TaskReadPorts {
  readonly queue: Queue
  readonly movedCalls: MovedCalls
  readonly wakes: Wakes
  /** Aborts when the runtime closes; pending waits then reject. */
  readonly closed: AbortSignal
  /** Builds a call in this batch, ready for submit: buildTaskCall of sessions/build-task-call.ts. */
  buildCall(
    host: Foundation,
    owner: Owner,
    call: TaskCallRequest,
    how: { readonly batch: string; readonly task?: TaskTerms },
  ): NewCall
}
