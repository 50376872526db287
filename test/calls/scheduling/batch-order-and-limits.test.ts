// Batch order, mutual exclusion and limits within one worker; no call waits forever.

import { fc } from '../../kit/seeded-fast-check.ts'
import { createRuntime, tool, type Tool } from 'pawl'
import { manualClock } from 'pawl/testing'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { onEachStore } from '../../kit/stores/local-stores.ts'
import { argumentTool, readOnlyTool, rerunTool, simpleTool } from '../../kit/simple-tools.ts'

const empty = z.object({})
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

type Kind = 'read' | 'write' | 'exclusive' | 'key a' | 'key b'
interface Span {
  readonly order: number
  readonly kind: Kind
  start: number
  end: number
}

/** Tools of every kind that record their start and end, and run for a given number of event loop turns. */
function noting(spans: Span[]): Tool[] {
  let now = 0
  const input = z.object({ order: z.number(), kind: z.string(), turns: z.number() })
  const execute = async ({ order, kind, turns }: { order: number; kind: string; turns: number }): Promise<void> => {
    const span: Span = { order, kind: kind as Kind, start: ++now, end: 0 }
    spans.push(span)
    for (let each = 0; each < turns; each++) await turn()
    span.end = ++now
  }
  return [
    tool({ name: 'read', description: 'Reads', input, hints: { readOnly: true }, execute }),
    tool({ name: 'write', description: 'Writes', input, execute }),
    tool({ name: 'exclusive', description: 'Alone', input, concurrency: 'exclusive', execute }),
    tool({
      name: 'keyed',
      description: 'One at a time per key',
      input,
      concurrency: { key: ({ kind }) => kind },
      execute,
    }),
  ]
}

const calls = (kinds: readonly Kind[], turns: readonly number[], prefix = 'c') =>
  kinds.map((kind, order) => ({
    id: `${prefix}${order}`,
    name: kind.startsWith('key') ? 'keyed' : kind,
    input: { order, kind, turns: turns[order % turns.length] ?? 1 },
  }))

const overlap = (a: Span, b: Span): boolean => a.start < b.end && b.start < a.end
const isBarrier = (kind: Kind): boolean => kind === 'write' || kind === 'exclusive'

onEachStore('batch order and limits', (bench) => {
  test('SCHED-1: random batches obey the batch order, and reads are not delayed needlessly', async () => {
    const kind = fc.constantFrom<Kind>('read', 'write', 'exclusive', 'key a', 'key b')
    let round = 0
    const spans: Span[] = []
    const runtime = await bench.open(noting(spans))
    await fc.assert(
      fc.asyncProperty(
        fc.array(kind, { minLength: 2, maxLength: 12 }),
        fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 5 }),
        async (kinds, turns) => {
          spans.length = 0
          const outcomes = await runtime.session(`s${round++}`).run(calls(kinds, turns), { batch: 'b' })
          expect(outcomes.every(({ status }) => status === 'success')).toBe(true)
          const by = spans.toSorted((a, b) => a.order - b.order)
          expect(by).toHaveLength(kinds.length)
          for (const [i, a] of by.entries()) {
            for (const b of by.slice(i + 1)) {
              if (isBarrier(a.kind) || isBarrier(b.kind)) expect(a.end).toBeLessThan(b.start)
              if (a.kind.startsWith('key') && a.kind === b.kind) expect(a.end).toBeLessThan(b.start)
            }
          }
          // Two neighbouring reads overlap if the first takes long enough.
          for (const [a, b] of by.slice(1).map((b, i) => [by[i] as Span, b] as const)) {
            const free = a.kind === 'read' && b.kind === 'read'
            if (free) expect(b.start).toBeLessThan(a.end + 1 + kinds.length * 2)
          }
        },
      ),
      { numRuns: bench.survives ? 25 : 60 },
    )
  })

  test('SCHED-1: a write separates the reads around it; reads and different keys run together', async () => {
    const spans: Span[] = []
    const runtime = await bench.open(noting(spans))
    await runtime.session('s').run(calls(['read', 'read', 'write', 'read', 'read', 'key a', 'key b'], [3]))
    const by = spans.toSorted((a, b) => a.order - b.order) as [Span, Span, Span, Span, Span, Span, Span]
    expect(overlap(by[0], by[1])).toBe(true)
    expect(by[1].end).toBeLessThan(by[2].start)
    expect(by[2].end).toBeLessThan(by[3].start)
    expect(overlap(by[3], by[4])).toBe(true)
    expect(overlap(by[5], by[6])).toBe(true)
  })

  test('SCHED-2: exclusive calls and equal keys exclude each other across two batches', async () => {
    const spans: Span[] = []
    const runtime = await bench.open(noting(spans))
    const session = runtime.session('s')
    const run = (kind: Kind, batch: string) => session.run(calls([kind], [4], batch), { batch })
    await Promise.all([run('exclusive', 'b1'), run('exclusive', 'b2')])
    await Promise.all([run('key a', 'b3'), run('key a', 'b4'), run('key b', 'b5')])
    const [x, y, a1, a2, b] = spans.toSorted((p, q) => p.start - q.start) as [Span, Span, Span, Span, Span]
    expect(overlap(x, y)).toBe(false)
    const keys = [a1, a2, b]
    const [first, second] = keys.filter(({ kind }) => kind === 'key a') as [Span, Span]
    expect(overlap(first, second)).toBe(false)
    expect(overlap(keys.find(({ kind }) => kind === 'key b') as Span, first)).toBe(true)
  })

  test('SCHED-1 SCHED-2: a waiting or parked call holds neither its batch order nor its key', async () => {
    const keys: string[] = []
    const ran: string[] = []
    const asks = rerunTool('asks', { concurrency: { key: () => 'k' } }, async (_, ctx) => {
      const later = await ctx.later<string>()
      keys.push(later.key)
      return later.value
    })
    const parks = rerunTool('parks', async (_, ctx) => (keys.push((await ctx.later()).key), ctx.later()))
    const quick = simpleTool('quick', { concurrency: { key: () => 'k' } }, () => ran.push('quick'))
    const write = tool({ name: 'write', description: 'Barrier', input: empty, execute: () => ran.push('write') })
    const runtime = await bench.open([asks, parks, quick, write])
    const run = runtime.session('s').run([
      { id: 'a', name: 'asks' },
      { id: 'p', name: 'parks' },
      { id: 'w', name: 'write' },
      { id: 'q', name: 'quick' },
    ])
    while (ran.length < 2) await turn()
    expect(ran).toEqual(['write', 'quick'])
    for (const key of keys) await runtime.resolve(key, { value: 'answered' })
    expect((await run).map(({ status }) => status)).toEqual(['success', 'success', 'success', 'success'])
  })

  test('SCHED-3: limits hold per tool, session, tenant and worker, and every call runs', async () => {
    let running = 0
    let most = 0
    const define = (limits: { concurrent?: number }): Tool =>
      argumentTool(
        'slow',
        z.object({ n: z.number() }),
        { description: 'Counts how many run', hints: { readOnly: true }, limits },
        async () => {
          most = Math.max(most, ++running)
          await turn()
          await turn()
          running--
        },
      )
    const asks = Array.from({ length: 40 }, (_, n) => ({ id: `c${n}`, name: 'slow', input: { n } }))
    for (const [limits, own, expected] of [
      [{}, { concurrent: 3 }, 3],
      [{ perSession: 5 }, {}, 5],
      [{ perTenant: 7 }, {}, 7],
      [{ perWorker: 2 }, {}, 2],
      [{ perTool: 4 }, {}, 4],
      [{}, {}, 32],
    ] as const) {
      most = 0
      const runtime = await bench.open([define(own)], { limits })
      const outcomes = await runtime.session('s').run(asks, { batch: JSON.stringify([limits, own]) })
      expect(outcomes.every(({ status }) => status === 'success')).toBe(true)
      expect(most).toBe(expected)
      await runtime.close()
    }
  })

  test('SCHED-3: the queue is bounded, and queued calls can time out', async () => {
    const clock = manualClock()
    const holds = readOnlyTool('holds', () => new Promise(() => {}))
    const waits = readOnlyTool('waits', { description: 'Waits for a place', timeout: { queue: '5s' } }, () => 1)
    const runtime = await bench.open([holds, waits], { clock, limits: { perWorker: 1, waiting: 2 } })
    const session = runtime.session('s')
    void session.run([{ id: 'h', name: 'holds' }]).catch(() => {})
    await clock.advance(0)
    const run = session.run(Array.from({ length: 4 }, (_, n) => ({ id: `w${n}`, name: 'waits' })))
    await clock.advance('5s')
    const codes = (await run).map((outcome) => outcome.status === 'failure' && [outcome.failure.code, outcome.attempts])
    expect(codes).toEqual([
      ['queue_timeout', 0],
      ['queue_timeout', 0],
      ['overloaded', 0],
      ['overloaded', 0],
    ])
  })

  test("SCHED-3: a tool's rate limit holds", async () => {
    const clock = manualClock()
    const at: number[] = []
    const rated = argumentTool(
      'rated',
      z.object({ n: z.number() }),
      { hints: { readOnly: true }, limits: { rate: { count: 2, per: '1s' } } },
      () => at.push(clock.now()),
    )
    const runtime = await bench.open([rated], { clock })
    const start = clock.now()
    const run = runtime
      .session('s')
      .run(Array.from({ length: 6 }, (_, n) => ({ id: `c${n}`, name: 'rated', input: { n } })))
    await clock.advance('3s')
    await run
    expect(at.map((each) => Math.floor((each - start) / 1000))).toEqual([0, 0, 1, 1, 2, 2])
  })

  test('SCHED-3: a tenant with many calls does not starve another', async () => {
    const order: string[] = []
    const work = readOnlyTool('work', async (_, ctx) => (order.push(ctx.tenant), await turn()))
    const runtime = await bench.open([work], { limits: { perWorker: 1, perSession: 1000 } })
    const flood = runtime
      .session('s', { tenant: 'loud' })
      .run(Array.from({ length: 50 }, (_, n) => ({ id: `c${n}`, name: 'work' })))
    const quiet = runtime.session('s', { tenant: 'quiet' }).run([{ id: 'q', name: 'work' }])
    await quiet
    expect(order.indexOf('quiet')).toBeLessThan(5)
    await flood
  })

  test("SCHED-4: a nested call borrows its parent's slot and locks; a key cycle is rejected", async () => {
    const inner = argumentTool(
      'inner',
      z.object({ key: z.string() }),
      { concurrency: { key: ({ key }) => key }, internal: true },
      ({ key }) => `inner ${key}`,
    )
    const outer = argumentTool(
      'outer',
      z.object({ own: z.string(), then: z.string() }),
      { concurrency: { key: ({ own }) => own }, onCrash: 'rerun' },
      async ({ then }, ctx) => {
        await ctx.step('pause', async () => {
          await turn()
          await turn()
        })
        const nested = await ctx.call(inner, { key: then })
        return nested.status === 'success'
          ? nested.value
          : nested.status === 'failure'
            ? nested.failure.code
            : nested.status
      },
    )
    const runtime = await bench.open([inner, outer], { limits: { perWorker: 2 } })
    const same = await runtime.session('s').run([{ id: 'a', name: 'outer', input: { own: 'k', then: 'k' } }])
    expect(same[0]).toMatchObject({ value: 'inner k' })
    const cycle = await runtime.session('s').run([
      { id: 'x', name: 'outer', input: { own: 'one', then: 'two' } },
      { id: 'y', name: 'outer', input: { own: 'two', then: 'one' } },
    ])
    const values = cycle.map((outcome) => (outcome.status === 'success' ? outcome.value : outcome.status))

    expect(values).toContain('would_deadlock')
    expect(values.filter((value) => value !== 'would_deadlock')).toHaveLength(1)
    // The model cannot call an internal tool.
    expect((await runtime.session('s').run([{ id: 'i', name: 'inner', input: { key: 'k' } }]))[0]).toMatchObject({
      failure: { code: 'tool_unavailable' },
    })
  })
})

test('SCHED-3: zero, negative and invalid limits are rejected at configuration', async () => {
  for (const limits of [
    { perWorker: 0 },
    { perSession: -1 },
    { perTool: 1.5 },
    { waiting: Number.NaN },
    { rate: { perTool: { count: 0, per: '1s' } } },
  ] as const) {
    await expect(createRuntime({ store: 'memory:', limits })).rejects.toMatchObject({ code: 'config_invalid' })
  }
  const define = (limits: object) => tool({ name: 'x', description: 'x', input: empty, limits, execute: () => 1 })
  expect(() => define({ concurrent: 0 })).toThrow(/`limits.concurrent` is 0/)
  expect(() => define({ rate: { count: 1, per: 0 } })).toThrow(/`limits.rate.per` is 0/)
})
