import { expect, test } from 'vitest'
import { manualClock } from '../../../src/testing/manual-clock.ts'
import { TimeoutTimers, AttemptTimeouts } from '../../../src/calls/attempts/attempt-timeouts.ts'

function watching(timeout: { attempt: number; idle?: number; total?: number }) {
  const clock = manualClock()
  const ended: string[] = []
  const began = clock.now()
  const timed = { request: { createdAt: began }, options: { timeout }, approvals: { decidingMs: 0 } }
  const watch = new AttemptTimeouts({ clock, timeoutTimers: new TimeoutTimers(clock) }, timed, {}, (name) =>
    ended.push(`${name} ${clock.now() - began}`),
  )
  return { clock, watch, ended }
}

test('TIME-2: overlapping waits pause the attempt timeout until both have ended', async () => {
  const { clock, watch, ended } = watching({ attempt: 1_000 })
  await clock.advance(400)
  watch.pause()
  await clock.advance(200)
  watch.pause()
  await clock.advance(5_000)
  watch.resume()
  await clock.advance(5_000)
  expect(ended).toEqual([])
  watch.resume()
  await clock.advance(599)
  expect(ended).toEqual([])
  await clock.advance(1)
  expect(ended).toEqual(['attempt 11200'])
  expect(clock.pending).toBe(0)
})

test('TIME-2: running time before each wait counts once', async () => {
  const { clock, watch, ended } = watching({ attempt: 1_000 })
  for (let turn = 0; turn < 3; turn++) {
    await clock.advance(300)
    watch.pause()
    await clock.advance(10_000)
    watch.resume()
  }
  await clock.advance(99)
  expect(ended).toEqual([])
  await clock.advance(1)
  expect(ended).toEqual(['attempt 31000'])
})

test('TIME-1 TIME-2: the idle timeout pauses and restarts; a deadline does neither', async () => {
  const { clock, watch, ended } = watching({ attempt: 60_000, idle: 1_000 })
  await clock.advance(900)
  watch.pause()
  watch.progress()
  await clock.advance(10_000)
  watch.resume()
  await clock.advance(999)
  expect(ended).toEqual([])
  await clock.advance(1)
  expect(ended).toEqual(['idle 11900'])
  const late = watching({ attempt: 60_000, total: 5_000 })
  late.watch.pause()
  await late.clock.advance(6_000)
  expect(late.ended).toEqual(['total 5000'])
})

test('TIME-1: a stopped watch fires nothing and leaves no timer', async () => {
  const { clock, watch, ended } = watching({ attempt: 1_000, idle: 500, total: 2_000 })
  watch.stop()
  watch.pause()
  watch.resume()
  watch.progress()
  await clock.advance(10_000)
  expect([ended, clock.pending]).toEqual([[], 0])
})

test('TIME-2: the total timeout pauses during an approval request', async () => {
  const { clock, watch, ended } = watching({ attempt: 10_000, total: 1_000 })
  await clock.advance(600)
  watch.pause()
  watch.deciding(true)
  await clock.advance(5_000)
  watch.checkDeadline()
  watch.deciding(false)
  watch.resume()
  await clock.advance(399)
  expect(ended).toEqual([])
  await clock.advance(1)
  expect(ended).toEqual(['total 6000'])
})
