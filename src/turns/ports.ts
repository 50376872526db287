// Dependencies of turns, supplied by the runtime (runtime/wire-turns.ts).

import type { ModelPart } from '../models/outcome-to-model-parts.ts'
import type { Engine, Execution } from '../engine/engine.ts'
import type { CallRecord } from '../store/records/call-record.ts'
import type { Ids } from '../core/ids.ts'
import type { Sizes } from '../core/size-limits.ts'
import type { Clock } from '../core/clock.ts'
import type { Observer } from '../core/observer.ts'
import type { Scope } from '../core/scope.ts'
import type { Model } from '../models/model.ts'
import type { Compaction, Frame } from '../models/turn-interface.ts'
import type { CallAsk, CallOutcome, OpenCall } from '../sessions/call-request.ts'
import type { Caller } from '../sessions/build-call-request.ts'
import type { Batch, BatchOptions } from '../sessions/collect-outcomes.ts'
import type { CapabilitySwitches } from '../sessions/capability-switches.ts'
import type { MessageWatcher } from './conversation/message-watcher.ts'
import type { Change, Store } from '../store/store.ts'
import type { Logger } from '../tools/context/tool-context.ts'
import type { Toolset } from '../tools/toolset.ts'

export interface TurnHost {
  readonly store: Store
  readonly engine: Engine
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  readonly observer: Observer | null
  /** Null: the model summarizes. */
  readonly compaction: Compaction | null
  readonly sizes: Sizes
  readonly poisonAfter: number
  /** The smallest number of tools for which schemas are deferred; null: never. */
  readonly deferFrom: number | null
  model(name: string): Model | undefined
  frame(name: string): Frame | undefined
  tools(of: Scope): Toolset
  readonly switches: CapabilitySwitches
  start(caller: Caller, calls: readonly CallAsk[], options: BatchOptions): Batch
  /** Resolves when no call of the batch runs any more; open calls are described by their records. */
  untilWaiting(batch: Batch): Promise<(CallOutcome | OpenCall)[]>
  /** The parts of a settled call that a model reads. `canReadOutput`: it can read the rest of truncated output. */
  renderCall(call: CallRecord, canReadOutput: boolean): Promise<readonly ModelPart[]>
  /** Pending notices of the session and the rows to delete on delivery. `secret`: the content is sealed. */
  notices(of: Scope): Promise<{ notice: string; text: string; rows: NonNullable<Change['documents']>; secret?: true }[]>
  /**
   * Whether a task notice delivers the result of a call ('to come') or has delivered it ('told'); null if there is
   * none.
   */
  noticeState(of: Scope, uid: string): Promise<'to come' | 'told' | null>
  /** Rows written with the end of a turn that make a worker check for pending input. */
  readonly wakes: { readonly maxConsecutive: number; rows(of: Scope, what: string): NonNullable<Change['documents']> }
  readonly messageWatcher: MessageWatcher
  /** True if a call runs in the background. */
  inBackground(of: Scope, uid: string): Promise<boolean>
  /** Loads the session's secrets, so that none of them reaches a model. */
  loadSecrets(of: Scope): Promise<void>
  /** Removes secrets from a text. */
  redact(text: string): string
  /** Removes secrets from a text that arrives in pieces. */
  redactStream(): { push(piece: string): string; end(): string }
  emitLive(about: Execution, type: 'turn.delta' | 'turn.retracted', body: object): void
}
