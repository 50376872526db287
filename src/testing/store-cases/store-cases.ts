// TESTING: the promises of the store port as data. Every store runs all of them; a skip carries its reason.
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
import { keptCases } from './documents.ts'
import { leaseCases } from './lease.ts'
import { migrateCases } from './migrate.ts'
import { timerCases } from './timer.ts'
import { hintCases } from './hint.ts'
import { listCases } from './list.ts'
import { looseCases } from './orphan-events.ts'
import { payloadCases } from './payload.ts'
import { placeCases } from './semaphores.ts'
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
  ...placeCases,
  ...keptCases,
  ...retentionCases,
  ...looseCases,
  ...migrateCases,
]
