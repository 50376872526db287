// Queued, running and waiting times of an outcome. They derive from recorded instants, so a replay in another process
// reports the same values.

import { type CallOutcome, retry } from 'pawl'
import { type ManualClock, manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { onEachStore } from '../kit/stores/local-stores.ts'
import { rerunTool, simpleTool } from '../kit/simple-tools.ts'
import { ignoreResult } from '../kit/interrupted-calls.ts'

const timesOf = (outcome: CallOutcome | undefined): unknown =>
  outcome && { queuedMs: outcome.queuedMs, runningMs: outcome.runningMs, waitingMs: outcome.waitingMs }
const passes = (clock: ManualClock, ms: number): Promise<void> =>
  new Promise((resolve) => void clock.timer(ms, resolve))

onEachStore('the times of an outcome', (bench) => {
  test('VAL-2: waiting for a slot is queued time, the body is running time, a rejection takes none', async () => {
    const clock = manualClock()
    const busy = simpleTool('busy', { concurrency: 'exclusive' }, () => passes(clock, 1000))
    const runtime = await bench.open([busy], { clock })
    const session = runtime.session('s')
    const calls = [
      { id: 'a', name: 'busy' },
      { id: 'b', name: 'busy' },
      { id: 'c', name: 'no such tool' },
    ]
    const run = session.run(calls)
    await clock.advance(5000)
    const outcomes = await run
    expect(outcomes.map(timesOf)).toEqual([
      { queuedMs: 0, runningMs: 1000, waitingMs: 0 },
      { queuedMs: 1000, runningMs: 1000, waitingMs: 0 },
      { queuedMs: 0, runningMs: 0, waitingMs: 0 },
    ])
    expect(await session.run(calls)).toEqual(outcomes)
    expect(timesOf((await session.run([{ id: 'a', name: 'busy', input: { other: 1 } }]))[0])).toEqual({
      queuedMs: 0,
      runningMs: 0,
      waitingMs: 0,
    })
  })

  test('TIME-4: retry delays count as queued time and all attempts as running time', async () => {
    const clock = manualClock()
    const flaky = simpleTool('flaky', { description: 'Works the third time' }, async (_, ctx) => {
      await passes(clock, 1000)
      if (ctx.attempt < 3) throw retry({ after: '2s' })
      return 'ok'
    })
    const runtime = await bench.open([flaky], { clock })
    const run = runtime.session('s').run([{ id: 'a', name: 'flaky' }])
    await clock.advance(30_000)
    const [outcome] = await run
    expect(outcome).toMatchObject({ attempts: 3, queuedMs: 4000, runningMs: 3000, waitingMs: 0 })
  })

  test('TIME-3: a cancel between two attempts keeps the times measured so far', async () => {
    const clock = manualClock()
    const flaky = simpleTool('flaky', async () => {
      await passes(clock, 1000)
      throw retry({ after: '20s' })
    })
    const runtime = await bench.open([flaky], { clock })
    const call = runtime.session('s').call(flaky, {})
    await clock.advance(4000)
    await call.cancel()
    await clock.advance(100)
    expect(await call.outcome).toMatchObject({ status: 'cancelled', queuedMs: 3000, runningMs: 1000, waitingMs: 0 })
  })

  test('WAIT-1: time parked and time waiting in the body are waiting time, even after a restart', async () => {
    const clock = manualClock()
    let key = ''
    const parks = rerunTool('parks', async (_, ctx) => {
      await passes(clock, 500)
      await Promise.all([ctx.sleep(2000), ctx.sleep(1500)])
      await passes(clock, 500)
      const later = await ctx.later<string>()
      key = later.key
      return later
    })
    const first = await bench.open([parks], { clock })
    const ask = [{ id: 'a', name: 'parks' }]
    const run = first.session('s').run(ask)
    run.catch(() => {})
    await clock.advance(3000)
    await clock.advance('1h')
    let runtime = first
    if (bench.survives) {
      await first.close()
      runtime = await bench.open([parks], { clock })
    }
    await clock.advance('1h')
    expect(await runtime.resolve(key, { value: 'signed' })).toEqual({ answer: 'accepted' })
    await clock.advance(100)
    const [outcome] = await runtime.session('s').run(ask)
    expect(outcome).toMatchObject({
      status: 'success',
      value: 'signed',
      queuedMs: 0,
      runningMs: 1000,
      waitingMs: 2000 + 7_200_000,
    })
    expect(await runtime.session('s').run(ask)).toEqual([outcome])
  })

  test('VAL-2: an outcome records the time that its body waited', async () => {
    const clock = manualClock()
    const sleeps = rerunTool('sleeps', async (_, ctx) => {
      await passes(clock, 300)
      await ctx.sleep(2000)
      await passes(clock, 300)
    })
    const runtime = await bench.open([sleeps], { clock })
    const ask = [{ id: 'a', name: 'sleeps' }]
    const run = runtime.session('s').run(ask)
    await clock.advance(5000)
    const [outcome] = await run
    expect(outcome).toMatchObject({ queuedMs: 0, runningMs: 600, waitingMs: 2000 })
    expect(await runtime.session('s').run(ask)).toEqual([outcome])
  })

  test.runIf(bench.survives)('DUR-3: recovery keeps the times measured before the crash', async () => {
    const clock = manualClock()
    const sleeps = rerunTool('sleeps', (_, ctx) => ctx.sleep(10_000))
    const ask = [{ id: 'a', name: 'sleeps' }]
    const first = await bench.open([sleeps], { clock })
    ignoreResult(first.session('s').run(ask))
    await clock.advance(3000)
    await first.close()
    await clock.advance(1000)
    const second = await bench.open([sleeps], { clock })
    await clock.advance(20_000)
    const [outcome] = await second.session('s').run(ask)
    expect(outcome).toMatchObject({ attempts: 2, queuedMs: 0, runningMs: 4000, waitingMs: 6000 })
  })
})
