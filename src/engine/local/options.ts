// Options of the local engine.

import type { HostKeys } from '../../security/host-secrets.ts'
import type { Ids } from '../../core/ids.ts'
import type { Clock } from '../../core/clock.ts'
import type { CallPosition, CallRecord } from '../../store/records/call-record.ts'
import type { Store } from '../../store/store.ts'
import type { Logger } from '../../tools/context/tool-context.ts'
import type { Drive } from '../engine.ts'
import type { ValidateAnswer } from './waits/answer-waits.ts'
import type { CancelReason } from './cancellation/write-cancel.ts'

export interface LocalEngineOptions {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly keys: HostKeys
  readonly logger: Logger
  readonly leaseMs: number
  /** Keys of the tools this worker can run now; it claims only calls of these tools. */
  readonly tools: () => readonly string[]
  readonly drive: Drive
  /** Returns the problems of a value that would become the outcome of a parked call. */
  readonly validateAnswer: ValidateAnswer
  /** False: calls are only recorded, and workers on the same store run them. Default: true. */
  readonly works?: boolean
  /** Called before claimed calls continue, so that their batch order can be restored. */
  readonly returning?: (records: readonly CallRecord[]) => void
  /** Called for a cancelled call that is not running here: it may be one that no worker can run. */
  readonly unheard?: (uid: string, why: CancelReason) => Promise<void>
  /** Called when this worker will not resume a call that it lost in a store outage. */
  readonly gone?: (position: CallPosition) => void
}
