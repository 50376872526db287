// What turns need from the runtime around them.

import type { ModelPart } from '../models/model-parts.ts'
import type { Engine, Execution } from '../engine/engine.ts'
import type { CallRecord } from '../store/records/call-record.ts'
import type { Ids } from '../core/ids.ts'
import type { Sizes } from '../core/size-limits.ts'
import type { Clock } from '../core/clock.ts'
import type { Model } from '../models/model.ts'
import type { Frame } from '../models/turn-interface.ts'
import type { CallAsk, CallOutcome, OpenCall } from '../sessions/call-request.ts'
import type { Place } from '../sessions/call-record.ts'
import type { Batch, How } from '../sessions/collect-outcomes.ts'
import type { CapabilitySwitches } from '../sessions/capabilities.ts'
import type { MessageWatcher } from './conversation/message-watcher.ts'
import type { Change, Store } from '../store/store.ts'
import type { Logger } from '../tools/context/context.ts'
import type { Toolset } from '../tools/toolset.ts'

export interface Scope {
  readonly tenant: string
  readonly session: string
}

export interface TurnHost {
  readonly store: Store
  readonly engine: () => Engine
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  readonly sizes: Sizes
  readonly poisonAfter: number
  /** From so many tools on schemas are deferred; null: never. */
  readonly searchFrom: number | null
  model(name: string): Model | undefined
  frame(name: string): Frame | undefined
  tools(of: Scope): Toolset
  readonly switches: CapabilitySwitches
  start(place: Place, calls: readonly CallAsk[], how: How): Batch
  /** Calls of a batch, those that wait told as they stand, when nothing of it runs any more. */
  waiting(batch: Batch): Promise<(CallOutcome | OpenCall)[]>
  /** What a model reads of a settled call. */
  shown(call: CallRecord, reads: boolean): Promise<readonly ModelPart[]>
  /** What the session is to be told, and the rows that go when it has been. `secret`: it tells of what is sealed. */
  notices(of: Scope): Promise<{ notice: string; text: string; rows: NonNullable<Change['documents']>; secret?: true }[]>
  /** Whether what comes of a call is told in such a notice, as it has become a task. Null if it is not. */
  noticeOf(of: Scope, uid: string): Promise<'to come' | 'told' | null>
  /** What is kept with the end of a turn: somebody looks whether there is more to hear. */
  readonly wakes: { readonly maxConsecutive: number; rows(of: Scope, what: string): NonNullable<Change['documents']> }
  readonly said: MessageWatcher
  /** Whether a call goes on in the background. */
  inBackground(of: Scope, uid: string): Promise<boolean>
  /** Comes to know the secrets of a session: what a user lets slip reaches no model, whoever has set them. */
  learn(of: Scope): Promise<void>
  /** Text without secrets; and pieces of one, as they come. */
  clean(text: string): string
  pieces(): { push(piece: string): string; end(): string }
  live(about: Execution, type: 'turn.delta' | 'turn.retracted', body: object): void
}
