// A worker whose event loop is blocked, on the stores that the fast tier leaves out.

import { test } from 'vitest'
import { blockedWorkers, blocksForAFewLeases, blocksForTooLong } from './block-event-loop.ts'

blockedWorkers()

test('DUR-7: on sqlite a tool that blocks the event loop for a few leases keeps its call', { timeout: 60_000 }, () =>
  blocksForAFewLeases('sqlite'),
)

test(
  'DUR-7: on postgres a tool that blocks for too long loses its call and starts nothing more',
  { timeout: 60_000 },
  () => blocksForTooLong('postgres'),
)
