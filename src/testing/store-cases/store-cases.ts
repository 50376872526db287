// The conformance suite of the store port as data. Every store runs all cases; a skipped case has a reason.
//
//   for (const each of storeCases) {
//     const skip = reasonToSkip(each, traits)
//     test(titleOf(each), { skip }, () => each.run(open))
//   }

import type { StoreCase } from './store-case.ts'
import { claimCases } from './claim.ts'
import { commitCases } from './commit.ts'
import { feedCases } from './feed.ts'
import { fenceCases } from './fence.ts'
import { documentCases } from './documents.ts'
import { leaseCases } from './lease.ts'
import { migrateCases } from './migrate.ts'
import { timerCases } from './timer.ts'
import { hintCases } from './change-hints.ts'
import { listCases } from './list-calls.ts'
import { sessionCases } from './list-sessions.ts'
import { orphanEventCases } from './orphan-events.ts'
import { payloadCases } from './payload-round-trips.ts'
import { semaphoreCases } from './semaphores.ts'
import { retentionCases } from './retention.ts'
import { waitCases } from './wait.ts'

export {
  type Need,
  type OpenedStore,
  type OpenStore,
  reasonToSkip,
  type StoreCase,
  type StoreTraits,
  titleOf,
} from './store-case.ts'

/**
 * The guarantees of the store port as test cases, to check a store of your own.
 *
 * @example
 * for (const each of storeCases) test(titleOf(each), () => each.run(open))
 */
export const storeCases: readonly StoreCase[] = [
  ...commitCases,
  ...fenceCases,
  ...claimCases,
  ...leaseCases,
  ...waitCases,
  ...timerCases,
  ...feedCases,
  ...payloadCases,
  ...hintCases,
  ...listCases,
  ...sessionCases,
  ...semaphoreCases,
  ...documentCases,
  ...retentionCases,
  ...orphanEventCases,
  ...migrateCases,
]
