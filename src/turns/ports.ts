// The ports of turns. Supplied by runtime.ts; openTurns() adds the message watcher.

import type { Feed } from '../feed/event-feed.ts'
import type { Model } from '../models/model.ts'
import type { Compaction, Frame } from '../models/turn-interface.ts'
import type { CapabilitySwitches } from '../sessions/capability-switches.ts'
import type { RecordReader } from '../sessions/read-call-records.ts'
import type { Batches } from '../sessions/run-batch.ts'
import type { BackgroundHost } from '../tasks/ports.ts'
import type { MessageWatcher } from './conversation/message-watcher.ts'

export interface TurnHost extends BackgroundHost {
  readonly batches: Batches
  readonly records: RecordReader
  readonly feed: Feed
  readonly switches: CapabilitySwitches
  readonly poisonAfter: number
  /** False: this process only records turns; others run them. */
  readonly works: boolean
  /** Null: the model summarizes. */
  readonly compaction: Compaction | null
  /** The smallest number of tools for which schemas are deferred; null: never. */
  readonly deferFrom: number | null
  readonly deferByDefault: boolean
  /** By name. A model that is passed to a turn is added, so that this process can drive the turn. */
  readonly models: Map<string, Model>
  readonly frames: ReadonlyMap<string, Frame>
  readonly messageWatcher: MessageWatcher
}
