// The ports that tasks, schedules and triggers need from the runtime (runtime.ts implements them).

import type { NewCall, Engine } from '../engine/engine.ts'
import type { CallRecord } from '../store/records/call-record.ts'
import type { TaskTerms } from '../store/records/task-terms.ts'
import type { Ids } from '../core/ids.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Clock } from '../core/clock.ts'
import type { Scope } from '../core/scope.ts'
import type { Change, Store } from '../store/store.ts'
import type { Logger } from '../tools/context/tool-context.ts'
import type { Tool } from '../tools/tool.ts'

/** The session that owns tasks and schedules, and the identity and policy under which their calls start. */
export interface Owner {
  readonly tenant: string
  readonly session: string
  readonly principal: string | null
  readonly policy?: unknown
  readonly unattended?: true
  /** The turn that started calls belong to. */
  readonly turn?: string
}

export interface Wakes {
  /** Number of turns a session may start by itself between two user messages; 0: none. */
  readonly maxConsecutive: number
  /** Document writes that wake the session; commit them together with the notice. */
  rows(of: Pick<Owner, 'tenant' | 'session'>, what: string, call?: string): NonNullable<Change['documents']>
}

export interface TaskCallRequest {
  readonly id: string
  readonly name: string
  readonly input?: unknown
  readonly deadline?: number | Date
}

/** The ports for reading tasks. */
export interface TaskReadPorts {
  readonly store: Store
  /** Redacts secrets in the texts of an outcome. */
  redactOutcome(outcome: Outcome): Outcome
  /** Loads the secrets of a session, so that the redactor recognizes them. */
  loadSecrets(of: Scope): Promise<void>
  /** The result of a settled call as the model reads it. */
  resultText(call: CallRecord): Promise<string>
  /** Redacts secrets in a text. */
  redactText(text: string): string
  /** Redacts secrets in all strings of a value. */
  redactDeep<T>(value: T): T
}

export interface BackgroundHost extends TaskReadPorts {
  readonly engine: Engine
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  /**
   * The current tool with this name; undefined if there is none, or its definition is not registered in this process.
   */
  tool(owner: Owner, name: string): Tool | undefined
  /** Builds a call in this batch, ready for submit. */
  ask(owner: Owner, call: TaskCallRequest, how: { readonly batch: string; readonly task?: TaskTerms }): NewCall
  /** Called after a call was moved to the background; the call may run in another process. */
  onMovedToBackground(uid: string): void
  /** Open tasks that a model may have per session. */
  readonly maxTasks: number
  /** Maximum length of a cancellation reason, in characters. */
  readonly maxReasonLength: number
  readonly wakes: Wakes
  /** Aborts when the runtime closes; pending waits then reject. */
  readonly closed: AbortSignal
  /** Maximum size of a signal, a message or an event payload, in bytes. */
  readonly maxBytes: number
}
