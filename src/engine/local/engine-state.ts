// Services that the parts of the local engine share.

import type { HostKeys } from '../../security/host-secrets.ts'
import type { Ids } from '../../core/ids.ts'
import type { Clock } from '../../core/clock.ts'
import type { Observers } from '../../core/observer.ts'
import type { Store } from '../../store/store.ts'
import type { Logger } from '../../tools/context/tool-context.ts'
import { Drivers } from '../drivers.ts'
import { WaitAnswers } from './waits/answer-waits.ts'
import { Lease } from './leases/lease.ts'
import { FleetSemaphores } from './leases/semaphores.ts'
import { Trials } from './leases/trials.ts'
import { Counters } from './shared-counters.ts'
import { Timers, Waiters } from './waits/timers.ts'

export interface LocalEngineOptions {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly keys: HostKeys
  readonly logger: Logger
  readonly observers: Observers
  readonly leaseMs: number
  /** False: calls are only recorded, and workers on the same store run them. */
  readonly works: boolean
}

export interface EngineState {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly keys: HostKeys
  readonly logger: Logger
  readonly observers: Observers
  readonly lease: Lease
  readonly timers: Timers
  readonly waiters: Waiters
  readonly semaphores: FleetSemaphores
  readonly answers: WaitAnswers
  readonly counters: Counters
  readonly drivers: Drivers
  readonly trials: Trials
  /** True once the engine is closing: it then starts only nested calls that a running body needs to finish. */
  readonly closing: () => boolean
}

export function openEngineState(options: LocalEngineOptions, closing: () => boolean): EngineState {
  const { store, clock, ids, keys, logger, observers } = options
  const drivers = new Drivers()
  const lease = new Lease({ worker: ids.next(), ms: options.leaseMs, store, clock, logger })
  const waiters = new Waiters(store)
  const answers = new WaitAnswers({ store, clock, waiters, drivers, observers })
  const timers = new Timers({ store, clock, logger, expire: (wait) => answers.expire(wait) })
  const counters = new Counters(store, clock)
  return {
    store,
    clock,
    ids,
    keys,
    logger,
    observers,
    lease,
    waiters,
    timers,
    answers,
    semaphores: new FleetSemaphores(options),
    counters,
    drivers,
    trials: new Trials(clock),
    closing,
  }
}
