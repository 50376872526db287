// A body awaits a nested call that waits for people: timeouts of the outer call pause, with the default timeouts of a
// tool.

import { connectionRequired, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { ignoreResult } from '../kit/interrupted-calls.ts'
import { z } from 'zod'
import { ada, bea, hang, parks, worldOn } from '../kit/approval-workers.ts'
import { argumentTool, rerunTool } from '../kit/simple-tools.ts'

const empty = z.object({})

describe.each(['memory', 'sqlite'] as const)('nested approvals on %s', (kind) => {
  const world = worldOn(kind)
  const shop = rerunTool('shop', async (_, ctx) =>
    (await ctx.run([{ id: 'inner', name: 'inner' }])).map(({ status }) => status),
  )
  const shape = { name: 'inner', description: 'd', input: empty }
  const decided = async (inner: unknown, how: object): Promise<unknown> => {
    const runtime = await world.start([shop, inner as never])
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'shop' }])
    const { id } = await world.item(runtime)
    await world.clock.advance('3m')
    const answer = await runtime.decide(id, { ...how, ...bea } as never)
    await world.clock.advance('5s')
    return [answer.answer, (await run)[0]]
  }
  const fine = ['accepted', { status: 'success', value: ['success'] }]

  test('TIME-2, POL-4: the attempt timeout pauses while a nested call waits for approval', async () => {
    expect(await decided(tool({ ...shape, approval: 'always', execute: () => 'ok' }), { approve: true })).toMatchObject(
      fine,
    )
  })
  test('TIME-2, POL-4: the attempt timeout pauses while a nested call waits for a connection', async () => {
    let tries = 0
    const inner = tool({ ...shape, execute: () => (++tries > 1 ? 'ok' : connectionRequired('github')) })
    expect(await decided(inner, { approve: true })).toMatchObject(fine)
  })
  test('TIME-2, POL-4: the attempt timeout pauses while a nested call is parked on a question', async () => {
    const inner = tool({ ...shape, execute: (_, ctx) => ctx.ask({ text: 'Which?', deadline: '1h' }) })
    expect(await decided(inner, { answer: 'x' })).toMatchObject(fine)
  })
  test('TIME-2, POL-4: the attempt timeout pauses while a nested body awaits an answer', async () => {
    const inner = tool({
      ...shape,
      onCrash: 'rerun',
      execute: async (_, ctx) => (await ctx.ask({ text: 'Which?', deadline: '1h' })).value,
    })
    expect(await decided(inner, { answer: 'x' })).toMatchObject(fine)
  })
  test('TIME-2, SESS-7: the attempt timeout pauses while the client runs a nested call', async () => {
    const runtime = await world.start([shop, tool({ ...shape, client: true })])
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'shop' }])
    await world.clock.advance('3m')
    const session = runtime.session('s', ada)
    const [handed] = await session.pendingClientCalls()
    await session.answer(handed?.callId ?? '', { value: 'x' })
    await world.clock.advance('5s')
    expect(await run).toMatchObject([{ status: 'success', value: ['success'] }])
  })
  test('TIME-2, DUR-3: the attempt timeout pauses while an unknown nested outcome is resolved', async () => {
    const inner = (execute: () => unknown) => tool({ ...shape, onUnknown: 'ask', execute })
    const { runtime, life } = await world.doomed([shop, inner(hang)])
    ignoreResult(runtime.session('s', ada).run([{ id: 'a', name: 'shop' }]))
    await world.clock.advance(10)
    life.die()
    const second = await world.takeOver([shop, inner(() => 'ok')])
    const { id } = await world.item(second)
    await world.clock.advance('3m')
    expect(await second.decide(id, { approve: true, ...bea })).toMatchObject({ answer: 'accepted' })
    const run = second.session('s', ada).run([{ id: 'a', name: 'shop' }])
    await world.clock.advance('5s')
    expect(await run).toMatchObject([{ status: 'success', value: ['success'] }])
  })
  test('SCHED-2: the body’s concurrency key is free while a nested call waits for approval', async () => {
    const inner = tool({ ...shape, approval: 'always', execute: () => 'ok' })
    const keyed = argumentTool(
      'keyed',
      z.object({ nest: z.boolean() }),
      { onCrash: 'rerun', concurrency: { key: () => 'one' } },
      async ({ nest }, ctx) => (nest ? (await ctx.call(inner, {})).status : 'quick'),
    )
    const runtime = await world.start([keyed, inner])
    ignoreResult(runtime.session('s', ada).run([{ id: 'a', name: 'keyed', input: { nest: true } }]))
    await world.item(runtime)
    const quick = runtime.session('s', ada).run([{ id: 'b', name: 'keyed', input: { nest: false } }])
    let end: unknown = 'stands in line'
    void quick.then(([outcome]) => (end = outcome))
    await world.clock.advance('5s')
    expect(end).toMatchObject({ status: 'success', value: 'quick' })
  })
  test('POL-4: after a crash between request and park, a nested call asks once and completes', async () => {
    const inner = tool({ ...shape, approval: 'always', execute: () => 'ok' })
    const { runtime } = await world.doomed([shop, inner], {}, parks)
    ignoreResult(runtime.session('s', ada).run([{ id: 'a', name: 'shop' }]))
    await world.clock.advance(10)
    const second = await world.takeOver([shop, inner])
    expect(await second.inbox()).toHaveLength(1)
    const { id } = await world.item(second)
    await second.decide(id, { approve: true, ...bea })
    const run = second.session('s', ada).run([{ id: 'a', name: 'shop' }])
    await world.clock.advance('5s')
    expect(await run).toMatchObject([{ status: 'success', value: ['success'] }])
  })
})
