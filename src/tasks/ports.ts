// What tasks, schedules and triggers need from the runtime around them.

import type { Asked, Engine } from '../engine/engine.ts'
import type { CallRecord } from '../store/records/call-record.ts'
import type { TaskTerms } from '../store/records/task-terms.ts'
import type { Ids } from '../core/ids.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Clock } from '../core/clock.ts'
import type { Change, Store } from '../store/store.ts'
import type { Logger } from '../tools/context/context.ts'
import type { Tool } from '../tools/tool.ts'

/** Whose they are, and on whose behalf they start. What a session says about people and policy comes along. */
export interface Owner {
  readonly tenant: string
  readonly session: string
  readonly principal: string | null
  readonly policy?: unknown
  readonly unattended?: true
  /** The turn that what is started belongs to. */
  readonly turn?: string
}

export interface Wakes {
  /** How many turns a session has by itself until somebody says something; 0: none. */
  readonly maxConsecutive: number
  /** Whether a turn that records call so can be driven here. */
  knows(tool: string): boolean
  /** What is to be kept with what there is to tell. */
  rows(of: Pick<Owner, 'tenant' | 'session'>, what: string, call?: string): NonNullable<Change['documents']>
}

export interface TaskAsk {
  readonly id: string
  readonly name: string
  readonly input?: unknown
  readonly deadline?: number | Date
}

/** Where tasks are read. */
export interface Reading {
  readonly store: Store
  /** The same outcome, its words without secrets (DUR-12). */
  words(outcome: Outcome): Outcome
  /** Comes to know the secrets of a session, so that nothing of them is told. */
  learn(of: { readonly tenant: string; readonly session: string }): Promise<void>
  /** How a settled call ended, in the words that a model reads of it. */
  result(call: CallRecord): Promise<string>
  /** The same text without secrets, as a model may read it. */
  shown(text: string): string
  /** Of a value, in all its texts. */
  shownIn<T>(value: T): T
}

export interface BackgroundHost extends Reading {
  readonly engine: () => Engine
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  /** The tool that goes by this name now; undefined if there is none, or its contract is not here. */
  tool(owner: Owner, name: string): Tool | undefined
  /** A call for the record, in this batch. */
  ask(owner: Owner, call: TaskAsk, how: { readonly batch: string; readonly task?: TaskTerms }): Asked
  /** A call of this process, perhaps, has become a task. */
  moved(uid: string): void
  /** How many open tasks of a session a model may have. */
  readonly mostTasks: number
  /** Of a reason, in characters. */
  readonly longestReason: number
  readonly wakes: Wakes
  /** Aborts when the runtime closes: nobody waits for it any more. */
  readonly closed: AbortSignal
  /** How large a signal or a message may be, in bytes. */
  readonly mostBytes: number
}
