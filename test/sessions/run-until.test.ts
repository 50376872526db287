// run(calls, { until }): a run may return while calls are still parked.

import { tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { onEachStore } from '../kit/stores/local-stores.ts'
import { simpleTool } from '../kit/simple-tools.ts'

const empty = z.object({})
const start = Date.UTC(2026, 0, 1)

onEachStore('run until', (bench) => {
  let key = ''
  const clock = manualClock(start)
  const parks = simpleTool('parks', { concurrency: 'parallel' }, async (_, ctx) => {
    const later = await ctx.later<string>({ deadline: '1h' })
    key = later.key
    return later
  })
  const quick = tool({ name: 'quick', description: 'Quick', input: empty, concurrency: 'parallel', execute: () => 1 })
  const slow = simpleTool(
    'slow',
    { concurrency: 'parallel' },
    () => new Promise<string>((resolve) => void clock.timer(5000, () => resolve('done'))),
  )
  const waiting = {
    status: 'waiting',
    for: 'completion',
    waitId: expect.any(String),
    until: expect.any(Number),
    callId: 'p',
    name: 'parks',
    parts: [{ type: 'text', text: expect.stringContaining('[Tool call waiting]') }],
  }

  test("WAIT-1: until 'waiting' returns when all calls are settled or parked; a rerun joins", async () => {
    const runtime = await bench.open([parks, quick, slow], { clock })
    const session = runtime.session('s')
    const calls = [
      { id: 'q', name: 'quick' },
      { id: 'p', name: 'parks' },
      { id: 's', name: 'slow' },
    ]
    let early: unknown[] | undefined
    const run = session.run(calls, { batch: 'm', until: 'waiting' }).then((outcomes) => (early = outcomes))
    await clock.advance(4000)
    expect(early).toBeUndefined() // the slow call is neither parked nor settled
    await clock.advance(2000)
    await run
    expect(early).toEqual([
      expect.objectContaining({ status: 'success', value: 1 }),
      waiting,
      expect.objectContaining({ status: 'success', value: 'done' }),
    ])
    expect(((early ?? [])[1] as { until: number }).until - clock.now()).toBe(3_600_000 - 6000)
    expect(JSON.stringify(early)).not.toContain(key)
    expect(await session.run(calls, { batch: 'm', until: 'waiting' })).toEqual(early)
    const joined = session.run(calls, { batch: 'm', until: 'settled' })
    await runtime.resolve(key, { value: 'signed' })
    await clock.advance(100)
    expect(await joined).toMatchObject([
      { status: 'success' },
      { status: 'success', value: 'signed' },
      { status: 'success' },
    ])
    expect(await session.run(calls, { batch: 'm', until: 'waiting' })).toEqual(await joined)
  })

  test('WAIT-1: until a duration returns waiting and running calls, or earlier if all are settled', async () => {
    const runtime = await bench.open([parks, quick, slow], { clock })
    const session = runtime.session('t')
    const calls = [
      { id: 'p', name: 'parks' },
      { id: 's', name: 'slow' },
    ]
    const run = session.run(calls, { until: '1s' })
    await clock.advance(1500)
    expect(await run).toEqual([
      waiting,
      {
        status: 'running',
        callId: 's',
        name: 'slow',
        parts: [{ type: 'text', text: expect.stringMatching(/^\[Tool call running\]\n/) }],
      },
    ])
    const soon = session.run([{ id: 'q', name: 'quick' }], { until: 60_000 })
    await clock.advance(100)
    expect(await soon).toMatchObject([{ status: 'success', value: 1 }])
    expect(await session.run([], { until: 'waiting' })).toEqual([])
    await expect(session.run([{ id: 'n', name: 'quick' }], { until: 'soon' as never })).rejects.toMatchObject({
      code: 'call_invalid',
    })
    await clock.advance(100)
    expect(await session.calls.get('n')).toBeUndefined()
    await clock.advance('2h')
    const over = await session.run(calls)
    expect(over).toMatchObject([{ failure: { code: 'wait_timeout' } }, { status: 'success' }])
  })

  test('TIME-3: the signal of a run that has returned still cancels its open calls', async () => {
    const runtime = await bench.open([parks, quick, slow], { clock })
    const session = runtime.session('u')
    const stop = new AbortController()
    const calls = [{ id: 'p', name: 'parks' }]
    const run = session.run(calls, { until: 'waiting', signal: stop.signal })
    await clock.advance(100)
    expect(await run).toEqual([waiting])
    stop.abort()
    await clock.advance(100)
    expect(await session.run(calls)).toMatchObject([{ status: 'cancelled' }])
  })
})
