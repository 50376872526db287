// What the local engine is made of.

import type { HostKeys } from '../../security/host-keys.ts'
import type { Ids } from '../../core/ids.ts'
import type { Clock } from '../../core/clock.ts'
import type { CallPosition, CallRecord } from '../../store/records/call-record.ts'
import type { Store } from '../../store/store.ts'
import type { Logger } from '../../tools/context/context.ts'
import type { Drive } from '../engine.ts'
import type { JudgeValue } from './waits/wait-answers.ts'
import type { Why } from './cancellation/cancel-record.ts'

export interface LocalEngineOptions {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly keys: HostKeys
  readonly logger: Logger
  readonly leaseMs: number
  /** The tools this worker can run at the moment, as records call them: it claims no others. */
  readonly tools: () => readonly string[]
  readonly drive: Drive
  /** Whether a value may be the outcome of a parked call. */
  readonly judge: JudgeValue
  /** False: what its tools are called for is put on record, and run by the workers of the same store. */
  readonly works?: boolean
  /** Hears of calls that are about to be taken up again, in the order of their batches, before any of them goes on. */
  readonly returning?: (records: readonly CallRecord[]) => void
  /** Hears that a call is to stop which no worker could be told of: it may be one that nobody can drive. */
  readonly unheard?: (uid: string, why: Why) => Promise<void>
  /** One that was lost with the store, and does not come back here. */
  readonly gone?: (position: CallPosition) => void
}
