// Batch order, slots and limits of nested calls, keyed calls and calls with idempotency keys.

import { tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { onEachStore } from '../../kit/stores/local-stores.ts'
import { after } from '../../kit/stores/fresh-store.ts'
import { argumentTool, readOnlyTool, rerunTool, simpleTool } from '../../kit/simple-tools.ts'

const empty = z.object({})
const turns = async (n = 20): Promise<void> => {
  for (let i = 0; i < n; i++) await new Promise((resolve) => setImmediate(resolve))
}

/** A tool whose bodies run until the test releases them, and that records the running ones. */
function gated(name: string, more: object = {}) {
  const running = new Set<string>()
  const log: string[] = []
  const gates = new Map<string, () => void>()
  const made = tool({
    name,
    description: 'Waits until it is let go',
    input: z.object({ n: z.string() }),
    ...more,
    execute: async ({ n }, ctx) => {
      running.add(n)
      log.push(`+${n}`)
      await new Promise<void>((resolve) => {
        gates.set(n, resolve)
        ctx.signal.addEventListener('abort', () => resolve())
      })
      running.delete(n)
      log.push(`-${n}`)
      return n
    },
  })
  const go = (n: string): void => gates.get(n)?.()
  const goEach = async (names: readonly string[]): Promise<void> => {
    for (const n of names) {
      go(n)
      await turns()
    }
  }
  return { made, running, log, go, goEach }
}

onEachStore('order of nested and keyed calls', (bench) => {
  test('SCHED-1: two concurrent runs without a batch name each keep their own order', async () => {
    const w = gated('write')
    const runtime = await bench.open([w.made])
    const s = runtime.session('s')
    const one = s.run([
      { id: 'a0', name: 'write', input: { n: 'a0' } },
      { id: 'a1', name: 'write', input: { n: 'a1' } },
    ])
    const two = s.run([
      { id: 'b0', name: 'write', input: { n: 'b0' } },
      { id: 'b1', name: 'write', input: { n: 'b1' } },
    ])
    await turns()
    w.go('a0') // a1 may start now; b1 must wait for b0, which still runs
    await turns()
    const seen = [...w.running].toSorted()
    await w.goEach(['a0', 'b0', 'a1', 'b1'])
    for (const n of ['a0', 'b0', 'a1', 'b1']) w.go(n)
    await Promise.all([one, two])
    expect(seen).toEqual(['a1', 'b0'])
  })

  test('SCHED-1: a single call that ends does not release a barrier of another run', async () => {
    const w = gated('write')
    const quick = readOnlyTool('quick', () => 1)
    const runtime = await bench.open([w.made, quick])
    const s = runtime.session('s')
    const one = s.run([
      { id: 'a0', name: 'write', input: { n: 'a0' } },
      { id: 'a1', name: 'write', input: { n: 'a1' } },
    ])
    await turns()
    await s.call(quick, {}).outcome
    await turns()
    const seen = [...w.running]
    await w.goEach(['a0', 'a1'])
    await one
    expect(seen).toEqual(['a0'])
  })

  test('SCHED-1 CALL-6: calls with an idempotency key keep their position in the batch order', async () => {
    const w = gated('write')
    const runtime = await bench.open([w.made])
    const run = runtime.session('s').run(
      [
        { id: 'a0', name: 'write', input: { n: 'a0' }, idempotencyKey: 'k0' },
        { id: 'a1', name: 'write', input: { n: 'a1' } },
      ],
      { batch: 'b' },
    )
    await turns()
    const seen = [...w.running]
    await w.goEach(['a0', 'a1'])
    await run
    expect(seen).toEqual(['a0'])
  })

  test('SCHED-1 CALL-6: two batches of calls with idempotency keys each keep their order', async () => {
    const w = gated('write')
    const runtime = await bench.open([w.made])
    const s = runtime.session('s')
    const of = (p: string) =>
      [0, 1].map((i) => ({ id: `${p}${i}`, name: 'write', input: { n: `${p}${i}` }, idempotencyKey: `${p}${i}` }))
    const one = s.run(of('a'), { batch: 'a' })
    const two = s.run(of('b'), { batch: 'b' })
    await turns()
    w.go('a0')
    await turns()
    const seen = [...w.running].toSorted()
    await w.goEach(['a0', 'b0', 'a1', 'b1', 'a1', 'b1'])
    await Promise.all([one, two])
    expect(seen).toEqual(['a1', 'b0'])
  })

  test('SCHED-1 SCHED-4: nested siblings with an equal key are serialized', async () => {
    const k = gated('keyed', { concurrency: { key: () => 'k' } })
    const parent = simpleTool('parent', (_, ctx) =>
      ctx.run([
        { id: '1', name: 'keyed', input: { n: '1' } },
        { id: '2', name: 'keyed', input: { n: '2' } },
      ]),
    )
    const runtime = await bench.open([k.made, parent])
    const run = runtime.session('s').run([{ id: 'p', name: 'parent' }])
    await turns()
    const seen = [...k.running]
    for (const n of ['1', '2']) {
      k.go(n)
      await turns()
    }
    await run
    expect(seen).toEqual(['1'])
  })

  test('SCHED-2 SCHED-4: concurrent exclusive calls of one body exclude each other', async () => {
    const x = gated('alone', { concurrency: 'exclusive' })
    const parent = simpleTool('parent', async (_, ctx) => {
      await Promise.all([ctx.call(x.made, { n: '1' }), ctx.call(x.made, { n: '2' })])
    })
    const runtime = await bench.open([x.made, parent])
    const run = runtime.session('s').run([{ id: 'p', name: 'parent' }])
    await turns()
    const seen = [...x.running]
    for (const n of ['1', '2']) {
      x.go(n)
      await turns()
    }
    await run
    expect(seen).toEqual(['1'])
  })

  test("SCHED-3 SCHED-4: a tool's concurrency limit of one holds for nested calls", async () => {
    const one = gated('one', { hints: { readOnly: true }, limits: { concurrent: 1 } })
    const parent = simpleTool('parent', (_, ctx) =>
      ctx.run(['1', '2', '3'].map((n) => ({ id: n, name: 'one', input: { n } }))),
    )
    const runtime = await bench.open([one.made, parent])
    const run = runtime.session('s').run([{ id: 'p', name: 'parent' }])
    await turns()
    const seen = one.running.size
    for (const n of ['1', '2', '3']) {
      one.go(n)
      await turns()
    }
    await run
    expect(seen).toBe(1)
  })

  test("SCHED-3: a tool's rate limit holds for nested calls", async () => {
    const clock = manualClock()
    let ran = 0
    const rated = readOnlyTool('rated', { limits: { rate: { count: 2, per: '1m' } } }, () => void ran++)
    const parent = simpleTool('parent', { timeout: '1h' }, (_, ctx) =>
      ctx.run(Array.from({ length: 10 }, (_, i) => ({ id: `${i}`, name: 'rated' }))),
    )
    const runtime = await bench.open([rated, parent], { clock })
    const run = runtime.session('s').run([{ id: 'p', name: 'parent' }])
    await clock.advance(0)
    const seen = ran
    await after(run, clock)
    expect(seen).toBe(2)
  })

  test('SCHED-4: a nested keyed call does not deadlock with a keyed call that waits for a slot', async () => {
    const clock = manualClock()
    const keyed = simpleTool('keyed', { concurrency: { key: () => 'k' } }, () => 'ok')
    let start = (): void => {}
    const ready = new Promise<void>((resolve) => (start = resolve))
    const parent = simpleTool('parent', async (_, ctx) => {
      await ready
      return (await ctx.call(keyed, {})).status
    })
    const runtime = await bench.open([keyed, parent], { clock, limits: { perSession: 1 } })
    const s = runtime.session('s')
    const a = s.run([{ id: 'a', name: 'parent' }])
    await turns()
    const b = s.run([{ id: 'b', name: 'keyed' }])
    await turns()
    start()
    const [outcomes] = [await after(Promise.all([a, b]), clock)]
    expect(outcomes).toMatchObject({ value: [[{ status: 'success', value: 'success' }], [{ status: 'success' }]] })
  })

  test('SCHED-2 TIME-3: a call cancelled while it sleeps does not keep its key', async () => {
    const clock = manualClock()
    const k = gated('other', { concurrency: { key: () => 'k' }, timeout: '10h' })
    const sleeper = rerunTool('sleeper', { concurrency: { key: () => 'k' } }, (_, ctx) => ctx.sleep('1h'))
    const runtime = await bench.open([k.made, sleeper], { clock })
    const s = runtime.session('s')
    const a = s.call(sleeper, {})
    await clock.advance(0)
    const b = s.call(k.made, { n: 'b' }) // takes the key while the sleeper sleeps
    await clock.advance(0)
    await a.cancel()
    await clock.advance('1s')
    expect((await a.outcome).status).toBe('cancelled')
    k.go('b')
    await b.outcome
    const c = s.call(k.made, { n: 'c' }, { timeout: { queue: '1h' } })
    await clock.advance('10s')
    const seen = [...k.running]
    k.go('c')
    await after(c.outcome, clock, 7_200_000, 600_000) // otherwise the queue timeout ends it
    expect(seen).toEqual(['c'])
  })

  test('SCHED-3 TIME-1: a call that times out while it reacquires its slot releases it', async () => {
    const clock = manualClock()
    const g = gated('hold', { hints: { readOnly: true }, timeout: '10h' })
    const sleeper = rerunTool('sleeper', { timeout: { total: '2m' } }, (_, ctx) => ctx.sleep('1m'))
    const runtime = await bench.open([g.made, sleeper], { clock, limits: { perSession: 1 } })
    const s = runtime.session('s')
    const a = s.call(sleeper, {})
    await clock.advance(0)
    const b = s.call(g.made, { n: 'b' })
    await clock.advance('1m') // the sleeper is awake and waits for the only slot
    await clock.advance('2m') // the deadline has passed
    expect((await a.outcome).status).toBe('failure')
    g.go('b')
    await b.outcome
    const c = s.call(g.made, { n: 'c' })
    await clock.advance('1m')
    const seen = [...g.running]
    g.go('c')
    await after(c.outcome, clock)
    expect(seen).toEqual(['c'])
  })

  test('SCHED-3: a body that resumes from a sleep is not rejected by a full queue', async () => {
    const clock = manualClock()
    const g = gated('hold', { hints: { readOnly: true }, timeout: '10h' })
    const sleeper = tool({
      name: 'sleeper',
      description: 'Sleeps',
      input: empty,
      onCrash: 'rerun',
      execute: (_, ctx) => ctx.sleep('1m'),
    })
    const runtime = await bench.open([g.made, sleeper], { clock, limits: { perSession: 1, waiting: 1 } })
    const s = runtime.session('s')
    const a = s.call(sleeper, {})
    await clock.advance(0)
    const b = s.call(g.made, { n: 'b' })
    const c = s.call(g.made, { n: 'c' })
    await clock.advance('1m')
    for (const n of ['b', 'c']) {
      g.go(n)
      await clock.advance('1s')
    }
    await Promise.all([b.outcome, c.outcome])
    expect((await a.outcome).status).toBe('success')
  })

  test('CALL-6 SCHED-4: nested calls of two parents never collide, with any batch names and ids', async () => {
    const echo = tool({
      name: 'echo',
      description: 'Echo',
      input: z.object({ of: z.string() }),
      execute: ({ of }) => of,
    })
    const parent = argumentTool(
      'parent',
      z.object({ of: z.string() }),
      {},
      async ({ of }, ctx) => await ctx.call(echo, { of }),
    )
    const runtime = await bench.open([echo, parent])
    const s = runtime.session('s')
    const [one] = await s.run([{ id: 'b/c', name: 'parent', input: { of: 'one' } }], { batch: 'a' })
    const [two] = await s.run([{ id: 'c', name: 'parent', input: { of: 'two' } }], { batch: 'a/b' })
    expect([one, two]).toMatchObject([{ value: { value: 'one' } }, { value: { value: 'two' } }])
  })

  test('CALL-6: an idempotency key never collides with a batch name and id', async () => {
    const echo = tool({
      name: 'echo',
      description: 'Echo',
      input: z.object({ of: z.string() }),
      execute: ({ of }) => of,
    })
    const runtime = await bench.open([echo])
    const s = runtime.session('s')
    const [one] = await s.run([{ id: 'x', name: 'echo', input: { of: 'one' } }], { batch: 'idempotency key' })
    const [two] = await s.run([{ id: 'y', name: 'echo', input: { of: 'two' }, idempotencyKey: 'x' }], { batch: 'b' })
    expect([one, two]).toMatchObject([{ value: 'one' }, { value: 'two' }])
  })

  test('SCHED-2: a parent holds no key while its nested call is parked', async () => {
    const clock = manualClock()
    const wait = rerunTool('wait', (_, ctx) => ctx.later({ deadline: '1d' }))
    const k = gated('other', { concurrency: { key: () => 'k' } })
    const parent = rerunTool(
      'parent',
      { timeout: '2d', concurrency: { key: () => 'k' } },
      async (_, ctx) => void (await ctx.call(wait, {})),
    )
    const runtime = await bench.open([wait, k.made, parent], { clock })
    const s = runtime.session('s')
    const a = s.call(parent, {})
    await clock.advance('1s')
    const b = s.call(k.made, { n: 'b' })
    await clock.advance('1s')
    const seen = [...k.running]
    await a.cancel()
    await clock.advance('1s')
    k.go('b')
    await after(b.outcome, clock)
    expect(seen).toEqual(['b'])
  })

  test('SCHED-1 CALL-6: a conflicting call does not disturb the order of its batch', async () => {
    const w = gated('write')
    const runtime = await bench.open([w.made])
    const s = runtime.session('s')
    const run = s.run(
      ['a', 'b'].map((n) => ({ id: n, name: 'write', input: { n } })),
      { batch: 'm' },
    )
    await turns()
    const [conflict] = await s.run([{ id: 'a', name: 'write', input: { n: 'other' } }], { batch: 'm' })
    await turns()
    const seen = [...w.running]
    await w.goEach(['a', 'b'])
    await run
    expect(conflict).toMatchObject({ failure: { code: 'call_conflict' } })
    expect(seen).toEqual(['a'])
  })

  test('SCHED-1: a call that joins a running batch does not release its barriers', async () => {
    const w = gated('write')
    const quick = tool({
      name: 'quick',
      description: 'At once',
      input: empty,
      hints: { readOnly: true },
      execute: () => 1,
    })
    const runtime = await bench.open([w.made, quick])
    const s = runtime.session('s')
    const run = s.run(
      ['a', 'b'].map((n) => ({ id: n, name: 'write', input: { n } })),
      { batch: 'm' },
    )
    await turns()
    const late = s.run([{ id: 'c', name: 'quick' }], { batch: 'm' }) // ordered after all earlier calls of the batch
    await turns()
    const seen = [...w.running]
    await w.goEach(['a', 'b'])
    await Promise.all([run, late])
    expect(seen).toEqual(['a'])
  })

  test('CALL-3: onFailure stop does not start a call that waited for the key of the failed one', async () => {
    const started: string[] = []
    const keyed = argumentTool(
      'keyed',
      z.object({ n: z.string() }),
      { concurrency: { key: () => 'k' } },
      async ({ n }) => {
        started.push(n)
        await turns(3)
        if (n === 'a') throw new Error('no')
      },
    )
    const runtime = await bench.open([keyed])
    const ends = await runtime.session('s').run(
      ['a', 'b'].map((n) => ({ id: n, name: 'keyed', input: { n } })),
      { batch: 'm', onFailure: 'stop' },
    )
    expect([started, ends[1]?.status]).toEqual([['a'], 'cancelled'])
  })

  test('CALL-3: onFailure stop does not start a call that waited for a slot', async () => {
    const started: string[] = []
    const read = argumentTool('read', z.object({ n: z.string() }), { hints: { readOnly: true } }, async ({ n }) => {
      started.push(n)
      await turns(3)
      if (n === 'a') throw new Error('no')
    })
    const runtime = await bench.open([read], { limits: { perSession: 1 } })
    const ends = await runtime.session('s').run(
      ['a', 'b', 'c'].map((n) => ({ id: n, name: 'read', input: { n } })),
      { batch: 'm', onFailure: 'stop' },
    )
    expect([started, ends.map(({ status }) => status)]).toEqual([['a'], ['failure', 'cancelled', 'cancelled']])
  })

  test.each(['before', 'after'] as const)(
    'CALL-8 CALL-3: when a hook (%s) aborts the turn, the next write does not start',
    async (when) => {
      const started: string[] = []
      const write = argumentTool('write', z.object({ n: z.string() }), {}, ({ n }) => void started.push(n))
      const abort = ({ input }: { input: unknown }) =>
        (input as { n: string }).n === 'a' ? { abort: 'stop everything' } : undefined
      const runtime = await bench.open([write], { hooks: [{ name: 'guard', [when]: abort }] })
      const ends = await runtime.session('s').run(
        ['a', 'b'].map((n) => ({ id: n, name: 'write', input: { n } })),
        { batch: 'm' },
      )
      expect([started, ends[1]?.status]).toEqual([when === 'before' ? [] : ['a'], 'cancelled'])
    },
  )
})
