// What batches need from the runtime around them.

import type { Queue } from '../calls/scheduling/queue.ts'
import type { Show } from '../calls/output/project-outcome.ts'
import type { Engine } from '../engine/engine.ts'
import type { Ids } from '../core/ids.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Sizes } from '../core/size-limits.ts'
import type { Seal } from '../security/seal.ts'
import type { BackgroundMoves } from './background-moves.ts'
import type { PinnedToolsets } from './pinned-toolsets.ts'

export interface BatchesHost {
  readonly engine: () => Engine
  readonly queue: Queue
  readonly standing: PinnedToolsets
  readonly show: Show
  readonly sizes: Sizes
  readonly ids: Ids
  readonly mayAbort: boolean
  readonly moves: BackgroundMoves
  /** What seals a call at rest; null if nothing does. */
  sealFor(sensitive: boolean): Seal | null
  /** The same outcome, its words without secrets (DUR-12). */
  words(outcome: Outcome): Outcome
}
