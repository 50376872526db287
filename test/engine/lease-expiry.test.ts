import { expect, test } from 'vitest'
import { Lease } from '../../src/engine/local/leases/lease.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { callRecord, insert, tools } from '../../src/testing/store-cases/record-builders.ts'
import { quiet } from '../kit/stores/fresh-store.ts'

test('DUR-7: after a slow renewal the lease counts from the time of the request', async () => {
  const clock = manualClock()
  const store = memoryStore({ clock })
  await insert(store, callRecord('c1', { owner: 'slow', state: 'running' }))
  // The store renews immediately and answers 900 ms later, as over a slow network.
  const distant: Store = {
    ...store,
    async renew(worker, ms) {
      const workers = await store.renew(worker, ms)
      await new Promise<void>((resolve) => void clock.timer(900, resolve))
      return workers
    },
  }
  const lease = new Lease({ worker: 'slow', ms: 1_000, store: distant, clock, logger: quiet })
  const renewal = lease.renew()
  await clock.advance(900)
  await renewal
  expect(lease.fresh()).toBe(true)
  await clock.advance(99)
  expect(lease.fresh()).toBe(true)
  expect(await store.claim('other', tools, 10)).toEqual([])
  // From here on another worker can claim the call, so this worker must not start anything.
  await clock.advance(1)
  expect(lease.fresh()).toBe(false)
  await clock.advance(100)
  expect(lease.fresh()).toBe(false)
  expect(await store.claim('other', tools, 10)).toMatchObject([{ uid: 'c1', owner: 'other' }])
})
