import { expect, test } from 'vitest'
import { LeaseHeartbeat } from '../../src/store/lease-heartbeat.ts'

test('DUR-7: a late renewal counts as a lapse and a timely one does not, from loop or thread', () => {
  const loop = new LeaseHeartbeat(300)
  const thread = new LeaseHeartbeat(300, loop.memory)
  loop.recordRenewal(1_000, 1_002)
  const first = loop.lapses
  expect([loop.until, thread.until]).toEqual([1_300, 1_300])
  thread.recordRenewal(1_200, 1_299, 'by the thread')
  expect([loop.until, loop.lapses, loop.renewals]).toEqual([1_500, first, 1])
  // At its exact end the lease may already have expired by the store's clock.
  thread.recordRenewal(1_499, 1_500, 'by the thread')
  expect([loop.until, loop.lapses]).toEqual([1_799, first + 1])
  loop.recordRenewal(2_000, 2_001)
  expect([thread.until, thread.lapses]).toEqual([2_300, first + 2])
})

test('DUR-7: a slow renewal does not shorten the lease of a later one', () => {
  const heart = new LeaseHeartbeat(300)
  heart.recordRenewal(1_200, 1_201)
  heart.recordRenewal(1_000, 1_250)
  expect(heart.until).toBe(1_500)
})

test('DUR-7: the thread renews the lease of a blocked event loop for at most three periods', () => {
  const heart = new LeaseHeartbeat(300)
  heart.recordActivity(1_000)
  heart.recordRenewal(1_000, 1_001)
  expect(heart.needsRenewal(1_149)).toBe(false)
  expect(heart.needsRenewal(1_151)).toBe(true)
  heart.recordRenewal(1_800, 1_801, 'by the thread')
  expect(heart.needsRenewal(1_899)).toBe(false)
  expect(heart.needsRenewal(1_999)).toBe(false)
  heart.recordActivity(1_500)
  expect(heart.needsRenewal(1_999)).toBe(true)
  expect(heart.needsRenewal(2_400)).toBe(false)
})

test('DUR-7: leases and instants may be fractional milliseconds', () => {
  const heart = new LeaseHeartbeat(1000 / 3)
  heart.recordActivity(10 / 3)
  heart.recordRenewal(10 / 3, 20 / 3)
  expect(heart.until).toBe(336)
})
