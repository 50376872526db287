// Dependencies of batches, supplied by the runtime.

import type { Queue } from '../calls/scheduling/queue.ts'
import type { ProjectOutcome } from '../calls/output/outcome-for-model.ts'
import type { Engine } from '../engine/engine.ts'
import type { Ids } from '../core/ids.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Sizes } from '../core/size-limits.ts'
import type { Seal } from '../security/seal.ts'
import type { BackgroundMoves } from './move-calls-to-background.ts'
import type { PinnedToolsets } from './pinned-toolsets.ts'

export interface BatchesHost {
  readonly engine: Engine
  readonly queue: Queue
  readonly toolsets: PinnedToolsets
  readonly show: ProjectOutcome
  readonly sizes: Sizes
  readonly ids: Ids
  readonly mayAbort: boolean
  readonly moves: BackgroundMoves
  /** The seal for a call at rest; null if it is stored in the clear. */
  sealFor(sensitive: boolean): Seal | null
  /** The same outcome with secrets removed from its texts. */
  redactOutcome(outcome: Outcome): Outcome
}
