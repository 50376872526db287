import { expect, test } from 'vitest'
import type { CallPosition } from '../../src/store/records/call-record.ts'
import { place } from '../../src/testing/store-cases/record-builders.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import type { EngineState } from '../../src/engine/local/engine-state.ts'
import { ClaimLoop } from '../../src/engine/local/claim-loop.ts'

test('SCHED-1: of a call that was lost with the store its turn is given up when it does not come back here, or when nothing is claimed here', async () => {
  const told: CallPosition[] = []
  const store = memoryStore({ clock: manualClock() })
  const host = { store, lease: { worker: 'w', workers: 1, lapses: 0 } } as unknown as EngineState
  const sweeper = new ClaimLoop(host, {
    tools: () => [],
    drives: () => null,
    take: async () => {},
    gone: (position) => told.push(position),
  })
  sweeper.orphaned({ uid: 'never on record', position: place({ id: 'a' }) })
  await sweeper.sweep()
  sweeper.orphaned({ uid: 'not ours', position: place({ id: 'b' }) })
  sweeper.giveUp()
  expect(told.map(({ id }) => id)).toEqual(['a', 'b'])
  expect(sweeper.isOrphan('not ours')).toBe(false)
})
