import { expect, test } from 'vitest'
import { Heart } from '../../src/store/lease-heartbeat.ts'

test('DUR-7: a renewal that came in time is no lapse, one that came late is, whoever made it', () => {
  const loop = new Heart(300)
  const thread = new Heart(300, loop.memory)
  loop.renewed(1_000, 1_002)
  const first = loop.lapses
  expect([loop.until, thread.until]).toEqual([1_300, 1_300])
  thread.renewed(1_200, 1_299, 'by the thread')
  expect([loop.until, loop.lapses, loop.renewals]).toEqual([1_500, first, 1])
  // At the very end it may be over by the store's clock.
  thread.renewed(1_499, 1_500, 'by the thread')
  expect([loop.until, loop.lapses]).toEqual([1_799, first + 1])
  loop.renewed(2_000, 2_001)
  expect([thread.until, thread.lapses]).toEqual([2_300, first + 2])
})

test('DUR-7: a renewal that was under way for long does not shorten what a later one gave', () => {
  const heart = new Heart(300)
  heart.renewed(1_200, 1_201)
  heart.renewed(1_000, 1_250)
  expect(heart.until).toBe(1_500)
})

test('DUR-7: the thread renews when the loop is late, and not when it has been silent for three leases', () => {
  const heart = new Heart(300)
  heart.sign(1_000)
  heart.renewed(1_000, 1_001)
  expect(heart.isWanted(1_149)).toBe(false)
  expect(heart.isWanted(1_151)).toBe(true)
  heart.renewed(1_800, 1_801, 'by the thread')
  expect(heart.isWanted(1_899)).toBe(false)
  expect(heart.isWanted(1_999)).toBe(false)
  heart.sign(1_500)
  expect(heart.isWanted(1_999)).toBe(true)
  expect(heart.isWanted(2_400)).toBe(false)
})

test('DUR-7: leases and instants need not be whole milliseconds', () => {
  const heart = new Heart(1000 / 3)
  heart.sign(10 / 3)
  heart.renewed(10 / 3, 20 / 3)
  expect(heart.until).toBe(336)
})
