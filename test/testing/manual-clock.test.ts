import { expect, test } from 'vitest'
import { manualClock } from '../../src/testing/manual-clock.ts'

test('KIT-1: the manual clock fires timers in order, and an interval once per advance', async () => {
  const clock = manualClock(1_000)
  const seen: string[] = []
  clock.timer(50, () => seen.push(`b at ${clock.now()}`))
  clock.timer(10, () => {
    seen.push(`a at ${clock.now()}`)
    clock.timer(20, () => seen.push(`inner at ${clock.now()}`))
  })
  const callOff = clock.timer(15, () => seen.push('never'))
  const stop = clock.every(5, () => seen.push('chore'))
  callOff()
  await clock.advance('1d')
  expect(seen).toEqual(['a at 1010', 'inner at 1030', 'b at 1050', 'chore'])
  stop()
  await clock.advance('1d')
  expect(seen).toHaveLength(4)
  expect(clock.pending).toBe(0)
})

test('KIT-1: the manual clock reports whole milliseconds after a fractional delay', async () => {
  const clock = manualClock(1_000)
  const at: number[] = []
  clock.timer(10.25, () => at.push(clock.now()))
  await clock.advance(20)
  expect(at).toEqual([1_011])
})
