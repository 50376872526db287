// Batch order over retries, crashes, nesting and cancels; a finished batch leaves nothing behind.

import { getEventListeners } from 'node:events'
import { createRuntime, fail, retry, type Tool, tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { faulty, freshMemory, quiet } from '../../kit/stores/fresh-store.ts'
import { onEachStore } from '../../kit/stores/local-stores.ts'
import { argumentTool, rerunTool, simpleTool } from '../../kit/simple-tools.ts'
import { ignoreResult } from '../../kit/interrupted-calls.ts'

const named = z.object({ n: z.string() })
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
const turns = async (n = 30): Promise<void> => {
  for (let each = 0; each < n; each++) await turn()
}
const asks = (name: string, ids: readonly string[]) => ids.map((n) => ({ id: n, name, input: { n } }))

onEachStore('batch order', (bench) => {
  test('SCHED-1 TIME-4: a retried keyed call keeps its batch order; other batches may take the key', async () => {
    const clock = manualClock()
    const ran: string[] = []
    const keyed = argumentTool(
      'keyed',
      named,
      { description: 'The first try of a fails', concurrency: { key: () => 'k' } },
      ({ n }, ctx) => {
        ran.push(`${n}${ctx.attempt}`)
        if (n === 'a' && ctx.attempt === 1) throw retry({ after: '5s' })
      },
    )
    const runtime = await bench.open([keyed], { clock })
    const session = runtime.session('s')
    const run = session.run(asks('keyed', ['a', 'b', 'c']), { batch: 'm' })
    await clock.advance('1s')
    expect(ran).toEqual(['a1'])
    await session.run(asks('keyed', ['x']), { batch: 'n' })
    await clock.advance('5s')
    await run
    expect(ran).toEqual(['a1', 'x1', 'a2', 'b1', 'c1'])
  })

  test('SCHED-1: a key that is not a string fails its call and does not block other calls', async () => {
    const keyed = argumentTool(
      'keyed',
      named,
      { concurrency: { key: ({ n }) => (n === 'a' ? (undefined as never) : n) } },
      ({ n }) => n,
    )
    const runtime = await bench.open([keyed])
    const ends = await runtime.session('s').run(asks('keyed', ['a', 'b']), { batch: 'm' })
    expect(ends).toMatchObject([{ failure: { class: 'internal' }, attempts: 0 }, { value: 'b' }])
  })

  test('CALL-3: a call that fails after a sleep stops its batch before another call gets its key', async () => {
    const clock = manualClock()
    const ran: string[] = []
    const keyed = argumentTool(
      'keyed',
      named,
      {
        description: 'a sleeps and fails',
        onCrash: 'rerun',
        timeout: '1h',
        concurrency: { key: () => 'k' },
      },
      async ({ n }, ctx) => {
        ran.push(n)
        await ctx.sleep(n === 'a' ? '1s' : '10s')
        if (n === 'a') throw fail('No', { code: 'no' })
        ran.push(`${n} woke`)
      },
    )
    const runtime = await bench.open([keyed], { clock })
    const run = runtime.session('s').run(asks('keyed', ['a', 'b']), { batch: 'm', onFailure: 'stop' })
    await clock.advance('2s')
    await clock.advance('20s')
    expect((await run).map(({ status }) => status)).toEqual(['failure', 'cancelled'])
    expect(ran).toEqual(['a', 'b'])
  })

  test('CALL-8: a hook that aborts the turn cancels queued calls, even in a batch of reads', async () => {
    const ran: string[] = []
    const read = argumentTool('read', named, { hints: { readOnly: true } }, ({ n }) => void ran.push(n))
    const after = ({ input }: { input: unknown }) =>
      (input as { n: string }).n === 'a' ? { abort: 'Enough' } : undefined
    const runtime = await bench.open([read], { hooks: [{ name: 'guard', after }], limits: { perSession: 1 } })
    const ends = await runtime.session('s').run(asks('read', ['a', 'b', 'c']))
    expect([ran, ends.map(({ status }) => status)]).toEqual([['a'], ['failure', 'cancelled', 'cancelled']])
  })

  test('SCHED-4: deeply nested calls borrow the slot and key of the outermost call', async () => {
    const keyed = simpleTool('keyed', { concurrency: { key: () => 'k' } }, () => 'deep')
    const middle = simpleTool('middle', async (_, ctx) => await ctx.call(keyed, {}))
    const outer = simpleTool('outer', { concurrency: { key: () => 'k' } }, async (_, ctx) => await ctx.call(middle, {}))
    const runtime = await bench.open([keyed, middle, outer], { limits: { perWorker: 1 } })
    const [end] = await runtime.session('s').run([{ id: 'o', name: 'outer' }])
    expect(end).toMatchObject({ value: { value: { value: 'deep' } } })
  })

  test('SCHED-4: a nested call also borrows a key that an intermediate parent holds', async () => {
    const keyed = (name: string, below?: Tool) =>
      simpleTool(name, { description: 'Keyed', concurrency: { key: () => 'k' } }, async (_, ctx) =>
        below ? await ctx.call(below, {}) : 'deep',
      )
    const inner = keyed('inner')
    const middle = keyed('middle', inner)
    const outer = simpleTool('outer', async (_, ctx) => await ctx.call(middle, {}))
    const runtime = await bench.open([inner, middle, outer])
    const [end] = await runtime.session('s').run([{ id: 'o', name: 'outer' }])
    expect(end).toMatchObject({ value: { value: { value: 'deep' } } })
  })

  test('SCHED-3: resuming from a sleep does not count against the rate limit', async () => {
    const clock = manualClock()
    const nap = argumentTool(
      'nap',
      named,
      {
        onCrash: 'rerun',
        hints: { readOnly: true },
        limits: { rate: { count: 1, per: '1h' } },
      },
      (_, ctx) => ctx.sleep('1m'),
    )
    const runtime = await bench.open([nap], { clock })
    const run = runtime.session('s').run(asks('nap', ['a']))
    await clock.advance('2m')
    expect((await run)[0]?.status).toBe('success')
  })

  test('SCHED-3 TIME-1: a body that times out while it reacquires its slot ends immediately', async () => {
    const clock = manualClock()
    let go = (): void => {}
    const hold = simpleTool('hold', { timeout: '1h' }, () => new Promise<void>((resolve) => (go = resolve)))
    const nap = rerunTool('nap', { timeout: { total: '5m' } }, (_, ctx) => ctx.sleep('1m'))
    const runtime = await bench.open([hold, nap], { clock, limits: { perSession: 1 } })
    const session = runtime.session('s')
    const slept = session.run([{ id: 'n', name: 'nap' }])
    await clock.advance('1s')
    const held = session.run([{ id: 'h', name: 'hold' }])
    await clock.advance('6m')
    const [end] = await slept
    expect(end).toMatchObject({ failure: { code: 'deadline_exceeded' } })
    expect(JSON.stringify(end)).not.toContain('mayStillRun')
    go()
    await held
  })

  test('SCHED-2 TIME-2: timeouts pause while all nested calls wait, until the key is reacquired', async () => {
    const clock = manualClock()
    const seen: string[] = []
    const nap = argumentTool('nap', named, { onCrash: 'rerun', hints: { readOnly: true } }, async ({ n }, ctx) => {
      await ctx.sleep('10m')
      seen.push(`${n} woke`)
    })
    const other = simpleTool('other', { concurrency: { key: () => 'k' } }, () => void seen.push('other'))
    const parent = rerunTool('parent', { timeout: '1m', concurrency: { key: () => 'k' } }, async (_, ctx) => {
      const ends = await ctx.run(asks('nap', ['a', 'b']))
      seen.push('back')
      return ends.map(({ status }) => status)
    })
    const runtime = await bench.open([nap, other, parent], { clock })
    const session = runtime.session('s')
    const run = session.run([{ id: 'p', name: 'parent' }], { batch: 'm' })
    await clock.advance('5m')
    await session.run([{ id: 'o', name: 'other' }], { batch: 'n' })
    await clock.advance('6m')
    expect((await run)[0]).toMatchObject({ value: ['success', 'success'] })
    expect(seen).toEqual(['other', 'a woke', 'b woke', 'back'])
  })

  test('TIME-3: cancelling a session cancels its open calls, and none of another tenant', async () => {
    const hang = argumentTool('hang', named, { hints: { readOnly: true } }, ({ n }, ctx) =>
      n === 'quick'
        ? n
        : new Promise<string>((_, reject) =>
            ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error)),
          ),
    )
    const runtime = await bench.open([hang])
    const [mine, theirs] = [runtime.session('s', { tenant: 't1' }), runtime.session('s', { tenant: 't2' })]
    const [a, b] = [mine.run(asks('hang', ['a', 'quick'])), theirs.run(asks('hang', ['b']))]
    await turns()
    expect(await mine.cancel()).toBe(1)
    expect((await a).map(({ status }) => status)).toEqual(['cancelled', 'success'])
    expect(await mine.cancel()).toBe(0)
    expect(await theirs.cancel()).toBe(1)
    expect((await b)[0]?.status).toBe('cancelled')
  })

  test('a finished batch removes its abort listener', async () => {
    const read = argumentTool('read', named, { hints: { readOnly: true } }, ({ n }) => n)
    const runtime = await bench.open([read])
    const stop = new AbortController()
    await runtime.session('s').run(asks('read', ['a', 'b']), { signal: stop.signal })
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0)
  })

  test.runIf(bench.survives)(
    'SCHED-1 DUR-3: after a crash a batch keeps its order, and resubmitting joins it',
    async () => {
      const ran: string[] = []
      let hold = true
      const write = argumentTool('write', named, { onCrash: 'rerun' }, async ({ n }) => {
        if (hold) return new Promise<void>(() => {})
        ran.push(`+${n}`)
        await turns(3)
        ran.push(`-${n}`)
      })
      const park = rerunTool('park', (_, ctx) => ctx.later())
      const calls = [
        { id: 'p', name: 'park' },
        ...asks('write', ['a', 'b', 'c']).map((each, i) => ({ ...each, ...(i === 1 ? { idempotencyKey: 'k' } : {}) })),
      ]
      const before = await bench.open([write, park])
      const lost = before.session('s').run(calls, { batch: 'm' })
      lost.catch(() => {})
      await turns()
      await before.close({ grace: 0 })
      hold = false
      const runtime = await bench.open([write, park])
      ignoreResult(runtime.session('s').run(calls, { batch: 'm' }))
      while (ran.length < 6) await turn()
      expect(ran).toEqual(['+a', '-a', '+b', '-b', '+c', '-c'])
    },
  )

  test.runIf(bench.survives)(
    'SCHED-1 DUR-4: a call resolved while no worker runs settles outside the batch order',
    async () => {
      let hold = true
      let written = (): void => {}
      const wrote = new Promise<void>((resolve) => (written = resolve))
      const write = rerunTool('write', () => (hold ? new Promise<void>(() => {}) : written()))
      let key = ''
      const park = rerunTool('park', async (_, ctx) => {
        const later = await ctx.later()
        key = later.key
        return later
      })
      const calls = [
        { id: 'p', name: 'park' },
        { id: 'w', name: 'write' },
      ]
      const before = await bench.open([write, park])
      ignoreResult(before.session('s').run(calls, { batch: 'm' }))
      await turns()
      await before.close({ grace: 0 })
      const elsewhere = await bench.open([])
      await elsewhere.resolve(key, { value: 'yes' })
      await elsewhere.close({ grace: 0 })
      hold = false
      // The parked call settles only after the write has run.
      const after = ({ tool: name }: { tool: string }) => (name === 'park' ? wrote : undefined)
      const runtime = await bench.open([write, park], { hooks: [{ name: 'slow', after }] })
      const ends = await runtime.session('s').run(calls, { batch: 'm' })
      expect(ends.map(({ status }) => status)).toEqual(['success', 'success'])
    },
  )
})

test('TIME-3: cancelling a session reads no settled calls', async () => {
  let looks = 0
  const { store, clock } = freshMemory()
  const read = tool({
    name: 'read',
    description: 'Reads',
    input: named,
    hints: { readOnly: true },
    execute: ({ n }) => n,
  })
  const runtime = await createRuntime({
    store: faulty(store, { on: { call: () => void looks++ } }),
    clock,
    tools: [read],
    logger: quiet,
  })
  const session = runtime.session('s')
  await session.run(asks('read', ['a', 'b']))
  looks = 0
  expect([await session.cancel(), looks]).toEqual([0, 0])
  await runtime.close({ grace: 0 })
})

test('SCHED-1: thousands of calls on one key from two batches all run', async () => {
  let ran = 0
  const keyed = argumentTool('keyed', named, { concurrency: { key: () => 'k' } }, () => void ran++)
  const runtime = await createRuntime({ store: 'memory:', tools: [keyed] })
  const ids = Array.from({ length: 1_500 }, (_, n) => `c${n}`)
  await Promise.all(['s', 'z'].map((session) => runtime.session(session).run(asks('keyed', ids), { batch: 'm' })))
  await runtime.close()
  expect(ran).toBe(3_000)
})
