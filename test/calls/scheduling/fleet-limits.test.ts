// Mutual exclusion, limits and rates across workers. Two runtimes on one store act as two workers; test/chaos runs them
// in separate processes.

import { createRuntime, type Runtime, type Tool, tool } from 'pawl'
import { type ManualClock } from 'pawl/testing'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Store } from '../../../src/store/store.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'
import { mortal, type StoreKind } from '../../kit/stores/killable-store.ts'
import { fleetOn } from '../../kit/worker-fleet.ts'
import { argumentTool } from '../../kit/simple-tools.ts'

const input = z.object({ k: z.string().default('k') })

/** A tool that runs until the test releases it, and counts its concurrent executions. */
function gated(name: string, more: object = {}) {
  const going: (() => void)[] = []
  const seen = { now: 0, most: 0, began: [] as string[] }
  const made = tool({
    name,
    description: 'Runs until told',
    input,
    timeout: { attempt: '1d' },
    ...more,
    async execute({ k }: { k: string }, ctx: { callId: string }) {
      seen.began.push(ctx.callId)
      seen.most = Math.max(seen.most, ++seen.now)
      await new Promise<void>((resolve) => void going.push(resolve))
      seen.now--
      return k
    },
  } as never) as Tool
  return { tool: made, seen, go: (many = 1) => going.splice(0, many).forEach((each) => each()) }
}

describe.each(['memory', 'sqlite'] as const)('several workers on %s', (kind: StoreKind) => {
  let clock: ManualClock
  let store: Store
  const { start: worker, settle } = fleetOn(kind, (has) => ({ clock, store } = has))
  const run = (runtime: Runtime, session: string, id: string, name: string, given = {}) =>
    runtime
      .session(session)
      .run([{ id, name, input: given }])
      .then(([outcome]) => outcome)

  const keyed = { concurrency: { key: ({ k }: { k: string }) => k } }
  /** Starts call a of session s on a worker that dies while the body runs. */
  const dieDuring = async (called: Tool): Promise<void> => {
    const dying = mortal(store)
    const first = await createRuntime({ store: dying.store, tools: [called], clock, logger: quiet })
    void run(first, 's', 'a', called.name)
    await settle()
    dying.die()
  }

  test('SCHED-2: equal keys exclude each other on two workers, and the waiting call runs next', async () => {
    const { tool: pay, seen, go } = gated('pay', keyed)
    const [one, two] = [await worker([pay]), await worker([pay])]
    const first = run(one, 's', 'a', 'pay')
    const second = run(two, 'other', 'b', 'pay')
    const third = run(two, 'other', 'c', 'pay', { k: 'else' })
    await settle()
    expect(seen.began.toSorted()).toEqual(['a', 'c'])
    go(2)
    await Promise.all([first, third])
    await settle()
    expect(seen.began).toHaveLength(3)
    go()
    expect(await second).toMatchObject({ status: 'success' })
    expect(await store.holds()).toEqual([])
  })

  test('SCHED-2: exclusive calls of one session exclude each other on two workers', async () => {
    const { tool: alone, seen, go } = gated('alone', { concurrency: 'exclusive' })
    const [one, two] = [await worker([alone]), await worker([alone])]
    const ends = [run(one, 's', 'a', 'alone'), run(two, 's', 'b', 'alone'), run(two, 't', 'c', 'alone')]
    await settle()
    expect(seen.began.toSorted()).toEqual(['a', 'c'])
    go(2)
    await settle()
    go()
    expect(await Promise.all(ends)).toMatchObject([{ status: 'success' }, { status: 'success' }, { status: 'success' }])
  })

  test('SCHED-3: the limit of a tool counts the calls of all workers, and every call runs', async () => {
    const { tool: few, seen, go } = gated('few', { limits: { concurrent: 2 }, concurrency: 'parallel' })
    const workers = [await worker([few]), await worker([few]), await worker([few])]
    const ends = Array.from({ length: 12 }, (_, index) =>
      run(workers[index % 3] as Runtime, `s${index}`, `${index}`, 'few'),
    )
    for (let round = 0; round < 12; round++) {
      await settle()
      expect(seen.now).toBe(Math.min(2, 12 - round))
      go()
    }
    await Promise.all(ends)
    expect(seen.most).toBe(2)
    expect(await store.holds()).toEqual([])
  })

  test('SCHED-3: a call that finds one limit full and then another runs when both have room', async () => {
    const { tool: few, seen, go } = gated('few', { limits: { concurrent: 1 }, concurrency: 'parallel' })
    const { tool: any, seen: others, go: goOther } = gated('any', { concurrency: 'parallel' })
    const limits = { perTenant: 2 }
    const workers = [await worker([few, any], { limits }), await worker([few, any], { limits })] as const
    await clock.advance('11s') // the workers know of each other
    const first = run(workers[0], 's1', 'first', 'few')
    const other = run(workers[0], 's2', 'other', 'any')
    await settle()
    const next = run(workers[0], 's3', 'next', 'any') // waits for the tenant's limit, ahead of the last call
    await settle()
    const last = run(workers[1], 's4', 'last', 'few') // waits for the tool's limit, then for the tenant's
    await settle()
    expect([...seen.began, ...others.began]).toEqual(['first', 'other'])
    go()
    await first
    await settle()
    expect([...seen.began, ...others.began]).toEqual(['first', 'other', 'next'])
    goOther()
    await other
    await settle()
    expect(seen.began).toEqual(['first', 'last'])
    go()
    goOther()
    expect(await Promise.all([next, last])).toMatchObject([{ status: 'success' }, { status: 'success' }])
    expect(await store.holds()).toEqual([])
  })

  test('SCHED-3: the limits of a session and a tenant count the calls of all workers', async () => {
    const { tool: any, seen, go } = gated('any', { concurrency: 'parallel' })
    const limits = { perSession: 3, perTenant: 4 }
    const [one, two] = [await worker([any], { limits }), await worker([any], { limits })]
    await clock.advance('11s') // the first worker has renewed its lease and knows of the second
    const ends = Array.from({ length: 8 }, (_, index) => run(index % 2 ? one : two, 's', `${index}`, 'any'))
    await settle()
    expect(seen.now).toBe(3)
    const others = Array.from({ length: 4 }, (_, index) => run(index % 2 ? one : two, 't', `${index}`, 'any'))
    await settle()
    expect(seen.now).toBe(4)
    for (let round = 0; round < 12; round++) {
      go()
      await settle()
      expect(seen.now).toBeLessThanOrEqual(4)
    }
    await Promise.all([...ends, ...others])
    expect(await store.holds()).toEqual([])
  })

  test('SCHED-3: a rate limit counts the starts of all workers', async () => {
    const {
      tool: slow,
      seen,
      go,
    } = gated('slow', { limits: { rate: { count: 2, per: '1m' } }, concurrency: 'parallel' })
    const [one, two] = [await worker([slow]), await worker([slow])]
    const ends = Array.from({ length: 5 }, (_, index) => run(index % 2 ? one : two, 's', `${index}`, 'slow'))
    await settle()
    expect(seen.began).toHaveLength(2)
    go(2)
    await clock.advance('57s')
    expect(seen.began).toHaveLength(2)
    await clock.advance('5s')
    expect(seen.began).toHaveLength(4)
    go(2)
    await clock.advance('61s')
    expect(seen.began).toHaveLength(5)
    go()
    await Promise.all(ends)
  })

  test('SCHED-2: a sleeping call releases its key to another worker and reacquires it', async () => {
    const order: string[] = []
    const define = (name: string, more: object, body: (ctx: never) => Promise<unknown>): Tool =>
      tool({
        name,
        description: 'd',
        input,
        onCrash: 'rerun',
        ...keyed,
        ...more,
        execute: (_: unknown, ctx: never) => body(ctx),
      } as never)
    const sleeper = define('sleeper', {}, async (ctx: { sleep(for_: string): Promise<void> }) => {
      order.push('sleeps')
      await ctx.sleep('10s')
      order.push('awake')
      return 'slept'
    })
    const { tool: pay, seen, go } = gated('pay', keyed)
    const [one, two] = [await worker([sleeper, pay]), await worker([sleeper, pay])]
    const slept = run(one, 's', 'a', 'sleeper')
    await settle()
    const paid = run(two, 's2', 'b', 'pay')
    await settle()
    expect(seen.began).toEqual(['b'])
    await clock.advance('20s')
    expect(order).toEqual(['sleeps']) // the sleep is over, but another call has the key
    go()
    await paid
    await settle()
    expect(await slept).toMatchObject({ value: 'slept' })
    expect(order).toEqual(['sleeps', 'awake'])
    expect(await store.holds()).toEqual([])
  })

  test('SCHED-2: a key stays locked after its worker died, until its call has settled', async () => {
    const { tool: pay, seen, go } = gated('pay', { ...keyed, onCrash: 'rerun' })
    await dieDuring(pay)
    const second = await worker([pay])
    const next = run(second, 's2', 'b', 'pay')
    await settle()
    expect(seen.began).toEqual(['a'])
    await clock.advance('40s')
    expect(seen.began).toEqual(['a', 'a'])
    go(2)
    await settle()
    expect(seen.began).toEqual(['a', 'a', 'b'])
    go()
    expect(await next).toMatchObject({ status: 'success' })
    expect(await store.holds()).toEqual([])
  })

  test('SCHED-2 DUR-3: a call that ends as unknown after its worker died releases its key', async () => {
    const { tool: pay, seen, go } = gated('pay', keyed)
    await dieDuring(pay)
    const second = await worker([pay])
    const next = run(second, 's2', 'b', 'pay')
    await clock.advance('40s')
    expect(await run(second, 's', 'a', 'pay')).toMatchObject({ status: 'unknown' })
    await settle()
    expect(seen.began).toEqual(['a', 'b'])
    go(2)
    expect(await next).toMatchObject({ status: 'success' })
    expect(await store.holds()).toEqual([])
  })

  test('SCHED-3 TIME-1: a queued call can be cancelled or time out, and leaves no ticket', async () => {
    const { tool: pay, seen, go } = gated('pay', keyed)
    const impatient = gated('impatient', { ...keyed, timeout: { queue: '5s' } })
    const tools = [pay, impatient.tool]
    const [one, two] = [await worker(tools), await worker(tools)]
    const first = run(one, 's', 'a', 'pay')
    await settle()
    const cancelled = run(two, 's2', 'b', 'pay')
    await settle()
    expect((await store.holds()).filter((each) => each.ticket !== null)).toHaveLength(1)
    await two.session('s2').cancel('no more')
    expect(await cancelled).toMatchObject({ status: 'cancelled' })
    const late = run(two, 's2', 'c', 'impatient')
    await clock.advance('6s')
    expect(await late).toMatchObject({ status: 'failure', failure: { class: 'timeout' } })
    expect((await store.holds()).map((each) => each.ticket)).toEqual([null])
    go()
    await first
    expect(seen.began).toEqual(['a'])
    expect(await store.holds()).toEqual([])
  })

  test("SCHED-4: if nested calls on two workers need each other's keys, one of them is rejected", async () => {
    const inner = tool({
      name: 'inner',
      description: 'd',
      input,
      ...keyed,
      execute: ({ k }: { k: string }) => k,
    } as never) as Tool
    const outer = tool({
      name: 'outer',
      description: 'd',
      input: z.object({ k: z.string(), other: z.string() }),
      onCrash: 'rerun',
      concurrency: { key: ({ k }: { k: string }) => k },
      async execute(
        { other }: { other: string },
        ctx: { sleep(ms: number): Promise<void>; run(calls: unknown[]): Promise<unknown[]> },
      ) {
        await gate
        return { nested: await ctx.run([{ id: 'n', name: 'inner', input: { k: other } }]) }
      },
    } as never) as Tool
    let start = (): void => {}
    const gate = new Promise<void>((resolve) => (start = resolve))
    const [one, two] = [await worker([inner, outer]), await worker([inner, outer])]
    const ends = [
      run(one, 's', 'a', 'outer', { k: 'x', other: 'y' }),
      run(two, 't', 'b', 'outer', { k: 'y', other: 'x' }),
    ]
    await settle()
    start()
    await clock.advance('5s')
    const [first, second] = (await Promise.all(ends)) as unknown as {
      value: { nested: { status: string; failure?: { code: string } }[] }
    }[]
    const told = [first?.value.nested[0], second?.value.nested[0]]
    expect(told.map((each) => `${each?.status}`).toSorted()).toEqual(['failure', 'success'])
    expect(told.find((each) => each?.status === 'failure')?.failure?.code).toBe('would_deadlock')
    expect(await store.holds()).toEqual([])
  })

  test("SCHED-1: one worker takes over the rest of a dead worker's batch, in batch order", async () => {
    const order: string[] = []
    const define = (hangs: boolean): Tool =>
      argumentTool('write', input, { onCrash: 'rerun' }, async ({ k }) => {
        order.push(k)
        await new Promise<void>((resolve) => void (hangs ? undefined : clock.timer(100, resolve)))
        order.push(`${k} done`)
        return k
      })
    const dying = mortal(store)
    const first = await createRuntime({ store: dying.store, tools: [define(true)], clock, logger: quiet })
    const calls = ['a', 'b', 'c', 'd'].map((k) => ({ id: k, name: 'write', input: { k } }))
    void first.session('s').run(calls)
    await settle()
    dying.die()
    order.length = 0
    const [one] = [await worker([define(false)]), await worker([define(false)]), await worker([define(false)])]
    await clock.advance('40s')
    await clock.advance('1s')
    await one.session('s').run(calls)
    expect(order).toEqual(['a', 'a done', 'b', 'b done', 'c', 'c done', 'd', 'd done'])
  })

  test('SCHED-3: forty calls on three workers and one key all run, one at a time', async () => {
    let now = 0
    let most = 0
    const ran: string[] = []
    const step = tool({
      name: 'step',
      description: 'd',
      input,
      ...keyed,
      async execute(_: unknown, ctx: { callId: string }) {
        most = Math.max(most, ++now)
        await new Promise<void>((resolve) => void clock.timer(10, resolve))
        now--
        ran.push(ctx.callId)
        return null
      },
    } as never) as Tool
    const workers = [await worker([step]), await worker([step]), await worker([step])]
    const ends = Array.from({ length: 40 }, (_, index) =>
      run(workers[index % 3] as Runtime, `s${index}`, `${index}`, 'step'),
    )
    for (let turn = 0; turn < 200 && ran.length < 40; turn++) await clock.advance(100)
    expect(await Promise.all(ends)).toHaveLength(40)
    expect(most).toBe(1)
    expect(new Set(ran).size).toBe(40)
    expect(await store.holds()).toEqual([])
  })
})
