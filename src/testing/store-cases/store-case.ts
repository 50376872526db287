// TESTING: what a store case is, and what it asks of whoever runs it. No test framework: a case is a function that throws
// (node:assert) when the store breaks a promise of store/store.ts, so a third party can run the cases on a store of their own.

import type { Clock } from '../../core/clock.ts'
import type { Store } from '../../store/store.ts'

/** What some cases need and some stores do not have. */
export type Need =
  /** Two handles on the same data, as two processes have. */
  | 'second handle'
  /** Leases that count by the clock the store was opened with, so that a case can move it. */
  | 'given clock'

export interface StoreCase {
  readonly topic:
    | 'commit'
    | 'fence'
    | 'claim'
    | 'lease'
    | 'wait'
    | 'timer'
    | 'feed'
    | 'payload'
    | 'hint'
    | 'list'
    | 'place'
    | 'kept'
    | 'retention'
    | 'migrate'
  /** What must hold. */
  readonly name: string
  /** Promises of the specification that rest on it. */
  readonly promise?: readonly string[]
  readonly needs?: Need
  run(open: OpenStore): Promise<void>
}

export interface OpenedStore {
  readonly store: Store
  /** Another handle on the same data and the same clock, also after the first was closed. Throws where there is none. */
  again(): Promise<Store>
}

/** Opens a fresh, empty store on this clock. Whoever hands it to a case closes what the case left open. */
export type OpenStore = (clock: Clock) => Promise<OpenedStore>

/** What a store can and cannot do by its nature. */
export interface StoreTraits {
  /** The data outlive the handle, and several handles can share them. */
  readonly persistent: boolean
  /** Whose clock leases count by. */
  readonly clock: 'given' | 'own'
}

/** Why a case cannot run on such a store; null if it can. */
export function reasonToSkip(each: StoreCase, traits: StoreTraits): string | null {
  if (each.needs === 'second handle' && !traits.persistent) return 'its data live in one handle'
  if (each.needs === 'given clock' && traits.clock === 'own')
    return 'its leases count by its own clock, which no test can move'
  return null
}

/** The case's name for a test report, with the promises it serves. */
export function titleOf(each: StoreCase): string {
  return `${each.topic}: ${each.name}${each.promise ? ` [${each.promise.join(', ')}]` : ''}`
}
