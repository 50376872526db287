import { expect, test, vi } from 'vitest'
import type { CallPosition } from '../../src/store/records/call-record.ts'
import { callPosition } from '../../src/testing/store-cases/record-builders.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import type { EngineState } from '../../src/engine/local/engine-state.ts'
import { Drivers } from '../../src/engine/drivers.ts'
import { ClaimLoop } from '../../src/engine/local/claim-loop.ts'

test('SCHED-1: a call lost to a store failure frees its batch position unless reclaimed here', async () => {
  const told: CallPosition[] = []
  const store = memoryStore({ clock: manualClock() })
  const drivers = new Drivers()
  drivers.register({ drive: vi.fn(), tools: () => [], onGone: (position) => void told.push(position) })
  const host = { store, drivers, lease: { worker: 'w', workers: 1, lapses: 0 } } as unknown as EngineState
  const sweeper = new ClaimLoop(host, {
    fenceHere: () => null,
    takeOver: async () => {},
  })
  sweeper.addOrphan({ uid: 'never on record', position: callPosition({ id: 'a' }) })
  await sweeper.sweep()
  sweeper.addOrphan({ uid: 'not ours', position: callPosition({ id: 'b' }) })
  sweeper.dropOrphans()
  expect(told.map(({ id }) => id)).toEqual(['a', 'b'])
  expect(sweeper.isOrphan('not ours')).toBe(false)
})
