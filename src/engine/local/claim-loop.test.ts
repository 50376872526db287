import { expect, test } from 'vitest'
import type { CallPosition } from '../../store/records/call-record.ts'
import { place } from '../../testing/store-cases/record-builders.ts'
import { memoryStore } from '../../store/memory/memory-store.ts'
import { manualClock } from '../../testing/manual-clock.ts'
import type { EngineState } from './engine-state.ts'
import { ClaimLoop } from './claim-loop.ts'

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
