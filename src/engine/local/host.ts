// What the parts of the local engine share.

import type { HostKeys } from '../../secret/host-keys.ts'
import type { Ids } from '../../kernel/id.ts'
import type { Clock } from '../../kernel/time.ts'
import type { Store } from '../../store/store.ts'
import type { Logger } from '../../tool/context.ts'
import type { Lease } from './lease.ts'
import type { Answers } from './answers.ts'
import type { FleetPlaces } from './places.ts'
import type { Tallies } from './tallies.ts'
import type { Timers, Waiters } from './wake.ts'

export interface Host {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly keys: HostKeys
  readonly logger: Logger
  readonly lease: Lease
  readonly timers: Timers
  readonly waiters: Waiters
  readonly places: FleetPlaces
  readonly answers: Answers
  readonly tallies: Tallies
  /** The engine takes no more work: of new bodies it lets only those begin that a running one needs to finish. */
  readonly closing: () => boolean
}
