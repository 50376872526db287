// What the pipeline needs from the runtime around it.

import type { Clock } from '../kernel/time.ts'
import type { Logger } from '../tool/context.ts'
import type { Toolset } from '../tool/toolset.ts'

export interface CallHost {
  readonly tools: Toolset
  readonly clock: Clock
  readonly logger: Logger
}
