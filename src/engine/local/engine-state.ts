// What the parts of the local engine share.

import type { HostKeys } from '../../security/host-keys.ts'
import type { Ids } from '../../core/ids.ts'
import type { Clock } from '../../core/clock.ts'
import type { Store } from '../../store/store.ts'
import type { Logger } from '../../tools/context/context.ts'
import { Answers } from './waits/wait-answers.ts'
import { Lease } from './leases/lease.ts'
import type { LocalEngineOptions } from './options.ts'
import { FleetSemaphores } from './leases/semaphores.ts'
import { Counters } from './counters.ts'
import { Timers, Waiters } from './waits/timers.ts'

export interface EngineState {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly keys: HostKeys
  readonly logger: Logger
  readonly lease: Lease
  readonly timers: Timers
  readonly waiters: Waiters
  readonly places: FleetSemaphores
  readonly answers: Answers
  readonly tallies: Counters
  /** The engine takes no more work: of new bodies it lets only those begin that a running one needs to finish. */
  readonly closing: () => boolean
}

export function openEngineState(options: LocalEngineOptions, closing: () => boolean): EngineState {
  const { store, clock, ids, keys, logger, judge } = options
  const lease = new Lease({ worker: ids.next(), ms: options.leaseMs, store, clock, logger })
  const waiters = new Waiters(store)
  const answers = new Answers({ store, clock, waiters, judge })
  const timers = new Timers({ store, clock, logger, expire: (wait) => answers.expire(wait) })
  const tallies = new Counters(store, clock)
  return {
    store,
    clock,
    ids,
    keys,
    logger,
    lease,
    waiters,
    timers,
    answers,
    places: new FleetSemaphores(options),
    tallies,
    closing,
  }
}
