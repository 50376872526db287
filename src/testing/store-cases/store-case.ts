// The type of a store case and what its runner provides. There is no test framework: a case is a function that throws
// (node:assert) when the store breaks a guarantee of store/store.ts, so third parties can test their own stores.

import type { Clock } from '../../core/clock.ts'
import type { Store } from '../../store/store.ts'

/** A capability that some cases need and some stores lack. */
export type Need =
  /** Two handles on the same data, as in two processes. */
  | 'second handle'
  /** Leases count by the clock given to the store, so that a case can advance it. */
  | 'given clock'

/** One guarantee of the store port, as a test case. */
export interface StoreCase {
  /** The part of the port it is about. */
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
    | 'semaphore'
    | 'documents'
    | 'retention'
    | 'migrate'
  /** The guarantee, in one sentence. */
  readonly name: string
  /** Ids of the requirements that depend on it. */
  readonly promise?: readonly string[]
  /** What the store must offer for this case. */
  readonly needs?: Need
  /** Runs the case; rejects if the guarantee does not hold. */
  run(open: OpenStore): Promise<void>
}

/** A store under test. */
export interface OpenedStore {
  /** The store. */
  readonly store: Store
  /** Opens another handle on the same data and clock, even after the first was closed. Throws if the store cannot. */
  again(): Promise<Store>
}

/** Opens a new, empty store on this clock. The runner closes the stores that a case leaves open. */
export type OpenStore = (clock: Clock) => Promise<OpenedStore>

/** Capabilities of a store. */
export interface StoreTraits {
  /** The data outlives the handle, and several handles can share it. */
  readonly persistent: boolean
  /** The clock of the leases: the given one, or the store's own. */
  readonly clock: 'given' | 'own'
}

/** Returns why a case cannot run on such a store; null if it can. */
export function reasonToSkip(each: StoreCase, traits: StoreTraits): string | null {
  if (each.needs === 'second handle' && !traits.persistent) return 'the store has only one handle'
  if (each.needs === 'given clock' && traits.clock === 'own')
    return 'the leases of the store use its own clock, which a test cannot advance'
  return null
}

/** The test title of a case: topic, name and requirement ids. */
export function titleOf(each: StoreCase): string {
  return `${each.topic}: ${each.name}${each.promise ? ` [${each.promise.join(', ')}]` : ''}`
}
