// Interactions of decisions with the rest of a call: unknown outcomes, upgrades, client calls, budgets and connections.

import { connectionRequired, result, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ada, bea, hang, parks, worldOn } from '../kit/approval-workers.ts'
import { argumentTool, rerunTool, simpleTool } from '../kit/simple-tools.ts'

const empty = z.object({})

describe.each(['memory', 'sqlite'] as const)('unknown outcomes and client calls on %s', (kind) => {
  const world = worldOn(kind)

  const interrupted = async (): Promise<void> => {
    const { runtime, life } = await world.doomed([pay(hang)])
    void runtime.session('s', ada).run([{ id: 'a', name: 'pay' }])
    await world.clock.advance(10)
    life.die()
  }
  const pay = (execute: () => unknown, more: object = {}) =>
    tool({ name: 'pay', description: 'd', input: empty, onUnknown: 'ask', ...more, execute } as never) as never

  test('DUR-3: a cancel leaves an unknown outcome unknown while a person is asked about it', async () => {
    await interrupted()
    const second = await world.takeOver([pay(() => 'paid')])
    expect(await world.item(second)).toMatchObject({ kind: 'finding' })
    const run = second.session('s', ada).run([{ id: 'a', name: 'pay' }])
    await second.session('s', ada).cancel('enough')
    await world.clock.advance('1s')
    const [outcome] = await run
    expect(outcome).toMatchObject({ status: 'unknown' })
  })

  test('DUR-3, POL-7: a superseding user message leaves an unknown outcome unknown', async () => {
    await interrupted()
    const second = await world.takeOver([pay(() => 'paid')])
    await world.item(second)
    const run = second.session('s', ada).run([{ id: 'a', name: 'pay' }])
    await second.session('s', ada).supersede()
    await world.clock.advance('1s')
    const [outcome] = await run
    expect(outcome).toMatchObject({ status: 'unknown' })
  })

  test('DUR-3: a rerun approved before the request parked runs once after the worker died', async () => {
    await interrupted()
    let ran = 0
    await world.doomed([pay(hang)], {}, parks)
    await world.clock.advance('31s')
    const door = await world.start([pay(hang)], { worker: false })
    const { id } = await world.item(door)
    expect(await door.decide(id, { approve: true, ...bea })).toMatchObject({ answer: 'accepted' })
    const third = await world.takeOver([pay(() => ++ran)])
    const run = third.session('s', ada).run([{ id: 'a', name: 'pay' }])
    // Two workers died while they ran the call, so it is on trial: it starts when the worker has been up for a while.
    for (let minute = 0; minute < 3; minute++) await world.clock.advance('1m')
    expect(await third.inbox()).toEqual([])
    expect(await run).toMatchObject([{ status: 'success', value: 1 }])
  })

  test('POL-3, DUR-3: the note about an edit stays when another person resolves the outcome', async () => {
    const make = (execute: () => unknown) =>
      argumentTool('pay', z.object({ cents: z.number() }), { approval: 'always', onUnknown: 'ask' }, execute)
    const call = { id: 'a', name: 'pay', input: { cents: 100 } }
    const { runtime, life } = await world.doomed([make(hang)])
    void runtime.session('s', ada).run([call])
    const { id } = await world.item(runtime)
    await runtime.decide(id, { edit: { cents: 7 }, ...bea })
    await world.clock.advance(10)
    life.die()
    const second = await world.takeOver([make(hang)])
    const finding = await world.item(second)
    expect(finding).toMatchObject({ kind: 'finding', args: { cents: 7 } })
    await second.decide(finding.id, { answer: 'paid', ...bea })
    const run = second.session('s', ada).run([call])
    await world.clock.advance('1s')
    const [outcome] = await run
    expect(outcome).toMatchObject({ status: 'success', value: 'paid' })
    expect(JSON.stringify(outcome?.parts)).toContain('A person changed the arguments')
  })

  test('CALL-7, POL-3: arguments edited for the new tool version are not upgraded again', async () => {
    const ran: unknown[] = []
    const old = argumentTool('pay', z.object({ amount: z.number() }), { version: '1' }, () => 'old')
    const now = tool({
      name: 'pay',
      description: 'd',
      version: '2',
      // Version 2 takes the amount in cents.
      input: z.object({ amount: z.number() }),
      upgrade: ({ args }) => ({ amount: (args as { amount: number }).amount * 100 }),
      execute: (input) => {
        ran.push(input)
        return 'new'
      },
    })
    const policy = { rules: [{ tool: 'pay', then: 'ask' as const, quorum: 2 }] }
    const call = { id: 'a', name: 'pay', input: { amount: 3 } }
    const first = await world.start([old], { policy })
    await first.session('s', ada).run([call], { until: 'waiting' })
    await first.close()
    const second = await world.start([now], { policy })
    const { id } = await world.item(second)
    await second.decide(id, { edit: { amount: 250 }, ...bea })
    await world.clock.advance('1s')
    const again = await world.item(second)
    expect(again.args).toEqual({ amount: 250 })
    // The edited item was shown for version 1, so version 2 needs both approvals again.
    for (const by of ['user:cem', 'user:dan']) await second.decide(again.id, { approve: true, by })
    const run = second.session('s', ada).run([call])
    await world.clock.advance('1s')
    expect((await second.inbox()).map(({ args }) => args)).toEqual([])
    await run
    expect(ran).toEqual([{ amount: 250 }])
  })

  test('CALL-7, SESS-7: the client receives the upgraded arguments', async () => {
    const shape = { name: 'pick', description: 'd', client: true as const, approval: 'always' as const }
    const old = tool({ ...shape, version: '1', input: z.object({ path: z.string() }) })
    const now = tool({
      ...shape,
      version: '2',
      input: z.object({ url: z.string() }),
      upgrade: ({ args }) => ({ url: `file://${(args as { path: string }).path}` }),
    })
    const call = { id: 'a', name: 'pick', input: { path: '/x' } }
    const first = await world.start([old])
    await first.session('s', ada).run([call], { until: 'waiting' })
    await first.close()
    const second = await world.start([now])
    for (let round = 0; round < 3 && (await second.session('s', ada).pendingClientCalls()).length === 0; round++) {
      const { id } = await world.item(second)
      await second.decide(id, { approve: true, ...bea })
      await world.clock.advance('1s')
    }
    expect(await second.session('s', ada).pendingClientCalls()).toMatchObject([{ input: { url: 'file:///x' } }])
  })

  test('CALL-6, SESS-7: two client calls with the same id in one batch are answered separately', async () => {
    const pick = tool({ name: 'pick', description: 'd', input: z.object({ k: z.string() }), client: true })
    const runtime = await world.start([pick])
    const session = runtime.session('s', ada)
    const calls = [
      { id: 'x', name: 'pick', input: { k: 'one' } },
      { id: 'x', name: 'pick', input: { k: 'two' } },
    ]
    const run = session.run(calls, { batch: 'm1' })
    await world.clock.advance(10)
    const handed = await session.pendingClientCalls()
    expect(handed).toHaveLength(2)
    await session.answer('x', { value: 'first' }, { batch: 'm1' })
    await session.answer('x', { value: 'second' }, { batch: 'm1' })
    await world.clock.advance('1s')
    expect(await run).toMatchObject([{ value: 'first' }, { value: 'second' }])
  })

  test('WAIT-6, SESS-7: an invalid client result leaves the call open after its worker died', async () => {
    const pick = tool({
      name: 'pick',
      description: 'd',
      input: empty,
      output: z.object({ path: z.string() }),
      client: true,
    })
    const { runtime } = await world.doomed([pick], {}, parks)
    void runtime.session('s', ada).run([{ id: 'a', name: 'pick' }])
    await world.clock.advance(10)
    const second = await world.start([pick])
    const session = second.session('s', ada)
    expect(await session.pendingClientCalls()).toHaveLength(1)
    expect(await session.answer('a', { value: { wrong: true } })).toMatchObject({ answer: 'invalid' })
    await world.clock.advance('31s')
    expect(await session.answer('a', { value: { path: '/x' } })).toMatchObject({ answer: 'accepted' })
  })

  test('POL-8: the time budget counts all body time of a call that parks several times', async () => {
    const slow = simpleTool('slow', async (_, ctx) => {
      await ctx.connection('github')
      await new Promise<void>((resolve) => void world.clock.timer(10_000, resolve))
      return ctx.attempt < 3 ? connectionRequired('github') : 'done'
    })
    const runtime = await world.start([slow], { budgets: { session: { time: '25s' } } })
    const session = runtime.session('s', ada)
    const run = session.run([{ id: 'a', name: 'slow' }])
    for (const token of ['one one one', 'two two two']) {
      await world.clock.advance('11s')
      await world.item(runtime)
      await runtime.connections.set({ provider: 'github', principal: 'user:ada' }, { token, ...bea })
    }
    await world.clock.advance('11s')
    expect(await run).toMatchObject([{ value: 'done' }])
    // 30 s of the 25 s budget are used.
    const next = session.run([{ id: 'b', name: 'slow' }])
    await world.clock.advance('1s')
    await session.cancel()
    await world.clock.advance('20s')
    expect(await next).toMatchObject([{ status: 'failure', failure: { code: 'over_budget' } }])
  })

  test('POL-5, SCHED-3: a call whose connection is set while its body runs does not block itself', async () => {
    const issues = simpleTool('issues', { concurrency: 'exclusive', limits: { concurrent: 1 } }, async (_, ctx) => {
      if (await ctx.connection('github')) return result('read')
      await runtime.connections.set({ provider: 'github' }, { token: 'in between', ...bea })
      return connectionRequired('github')
    })
    const runtime = await world.start([issues], { limits: { perTenant: 1, perSession: 1, perTool: 1 } })
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'issues' }])
    let end: unknown = 'hangs'
    void run.then(([outcome]) => (end = outcome))
    await world.clock.advance('1m')
    expect(end).toMatchObject({ status: 'success', value: 'read' })
    const again = runtime.session('s2', ada).run([{ id: 'b', name: 'issues' }])
    await world.clock.advance('1m')
    expect(await again).toMatchObject([{ status: 'success' }])
  })

  test('POL-5: a connection resumes the call even if the process that set it died', async () => {
    const issues = simpleTool('issues', async (_, ctx) =>
      (await ctx.connection('github')) ? 'read' : connectionRequired('github'),
    )
    const runtime = await world.start([issues])
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'issues' }])
    await world.item(runtime)
    const { runtime: door, life } = await world.doomed([issues], { worker: false })
    const { documentsOf: keptOf } = life.store
    life.store.documentsOf = (query) => {
      life.die()
      return keptOf(query)
    }
    void door.connections.set({ provider: 'github', principal: 'user:ada' }, { token: 'a token of ada', ...bea })
    await world.clock.advance('20m')
    expect(await run).toMatchObject([{ status: 'success', value: 'read' }])
  })

  test('POL-5: a second question with the same name fails and does not take the first answer', async () => {
    const seen: unknown[] = []
    const ask = rerunTool('ask', async (_, ctx) => {
      const first = await (await ctx.ask({ text: 'May I look at the list?', choices: ['yes', 'no'] })).value
      const second = await (await ctx.ask({ text: 'May I delete everything?', choices: ['yes', 'no'] })).value
      seen.push(first.answer, second.answer)
      return 'done'
    })
    const runtime = await world.start([ask])
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'ask' }])
    const { id } = await world.item(runtime)
    await runtime.decide(id, { answer: 'yes', ...bea })
    await world.clock.advance('10m')
    expect(await run).toMatchObject([{ status: 'failure', failure: { code: 'replay_mismatch' } }])
    expect(seen).toEqual([])
  })
})
