// Decisions on nested calls, the effect of hooks on decisions, and questions across a deploy.

import { fail, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ada, bea, hang, worldOn } from '../kit/approval-workers.ts'
import { argumentTool, rerunTool, simpleTool } from '../kit/simple-tools.ts'

const empty = z.object({})

describe.each(['memory', 'sqlite'] as const)('nested decisions on %s', (kind) => {
  const world = worldOn(kind)

  test('POL-4, DUR-3: an approval does not run a nested call whose parent has settled', async () => {
    let charged = 0
    const charge = simpleTool('charge', { hints: { destructive: true } }, () => ++charged)
    const shop = tool({
      name: 'shop',
      description: 'd',
      input: empty,
      execute: async (_, ctx) => (await ctx.call(charge, {})).status,
    })
    const { runtime, life } = await world.doomed([shop, charge])
    void runtime.session('s', ada).run([{ id: 'a', name: 'shop' }])
    await world.item(runtime)
    await world.clock.advance('1s')
    life.die()
    const second = await world.takeOver([shop, charge])
    expect(await second.session('s').calls.get('a')).toMatchObject({ state: 'settled', outcome: { status: 'unknown' } })
    // The model has read the parent's outcome and may ask for the work again, so a late approval must not charge.
    for (const { id } of await second.inbox()) await second.decide(id, { approve: true, ...bea })
    await world.clock.advance('1s')
    expect(charged).toBe(0)
  })

  test('TIME-2: timeouts pause until the last of several nested approvals is decided', async () => {
    const charge = argumentTool(
      'charge',
      z.object({ n: z.number() }),
      { concurrency: 'parallel', hints: { destructive: true } },
      ({ n }) => n,
    )
    const shop = rerunTool('shop', { timeout: { attempt: '10s', idle: '10s' } }, async (_, ctx) => {
      const asked = await ctx.ask({ text: 'Which?', deadline: '1h' })
      const [both, { answer }] = await Promise.all([
        ctx.run([1, 2].map((n) => ({ id: `${n}`, name: 'charge', input: { n } }))),
        asked.value,
      ])
      return [...both.map(({ status }) => status), answer]
    })
    const runtime = await world.start([shop, charge])
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'shop' }])
    await world.clock.advance('1s')
    const items = await runtime.inbox()
    expect(items).toHaveLength(3)
    for (const { id, kind: of } of items) {
      await world.clock.advance('2m')
      await runtime.decide(id, of === 'question' ? { answer: 'x', ...bea } : { approve: true, ...bea })
    }
    await world.clock.advance('1s')
    expect(await run).toMatchObject([{ status: 'success', value: ['success', 'success', 'x'] }])
  })

  test('CALL-8: a project hook also redacts the note about a person’s edit', async () => {
    const work = argumentTool('work', z.object({ card: z.string() }), { approval: 'always' }, ({ card }) => card)
    const masked = {
      name: 'mask',
      project: (_: unknown, __: unknown, parts: readonly { type: string; text?: string }[]) =>
        parts.map((part) => ({ ...part, text: part.text?.replaceAll(/\d{4}-\d{4}/g, '****') })),
    }
    const runtime = await world.start([work], { hooks: [masked as never] })
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'work', input: { card: 'none' } }])
    const { id } = await world.item(runtime)
    await runtime.decide(id, { edit: { card: '1234-5678' }, ...bea })
    await world.clock.advance('1s')
    const [outcome] = await run
    expect(JSON.stringify(outcome?.parts)).toContain('****')
    expect(JSON.stringify(outcome?.parts)).not.toContain('1234-5678')
  })

  test('POL-5: after a deploy an old answer is not used for a new question of the same name', async () => {
    const ask = (choices: string[], end: (answer: unknown) => unknown) =>
      rerunTool('ask', async (_, ctx) => {
        const { answer } = await (await ctx.ask({ text: `${choices.join(' or ')}?`, choices, deadline: '1h' })).value
        return await end(answer)
      })
    const { runtime, life } = await world.doomed([ask(['keep', 'delete'], hang)])
    void runtime.session('s', ada).run([{ id: 'a', name: 'ask' }])
    const { id } = await world.item(runtime)
    await runtime.decide(id, { answer: 'delete', ...bea })
    await world.clock.advance('1s')
    life.die()
    const second = await world.takeOver([ask(['yes', 'no'], (answer) => answer)])
    await world.clock.advance('1s')
    const found = await second.session('s').calls.get('a')
    expect(found?.outcome).not.toMatchObject({ status: 'success', value: 'delete' })
  })

  test('SESS-7, POL-3: the client receives the edited arguments', async () => {
    const pick = tool({
      name: 'pick',
      description: 'd',
      input: z.object({ k: z.string() }),
      approval: 'always',
      client: true,
    })
    const runtime = await world.start([pick])
    const session = runtime.session('s', ada)
    const call = { id: 'a', name: 'pick', input: { k: 'a' } }
    void session.run([call])
    const { id } = await world.item(runtime)
    await runtime.decide(id, { edit: { k: 'b' }, ...bea })
    await world.clock.advance('1s')
    expect(await session.pendingClientCalls()).toMatchObject([{ input: { k: 'b' } }])
    expect(await session.run([call], { until: 'waiting' })).toMatchObject([{ for: 'client', input: { k: 'b' } }])
    await session.answer('a', { value: 'done' })
    await world.clock.advance('1s')
    const [outcome] = await session.run([call])
    expect(JSON.stringify(outcome?.parts)).toContain('A person changed the arguments')
  })

  test('CALL-8, POL-3: a before hook can deny edited arguments, and the inbox item is removed', async () => {
    const work = argumentTool('work', z.object({ n: z.number() }), { approval: 'always' }, ({ n }) => n)
    const guard = {
      name: 'guard',
      before: ({ input }: { input: { n: number } }) => (input.n > 5 ? { deny: 'too much' } : undefined),
    }
    const runtime = await world.start([work], { hooks: [guard as never] })
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'work', input: { n: 1 } }])
    const { id } = await world.item(runtime)
    await runtime.decide(id, { edit: { n: 9 }, ...bea })
    await world.clock.advance('1s')
    expect(await run).toMatchObject([{ status: 'failure' }])
    expect(await runtime.inbox()).toEqual([])
  })

  test('POL-5: a failed body leaves no question in the inbox and no health issue', async () => {
    const ask = simpleTool('ask', async (_, ctx) => {
      await ctx.ask({ text: 'Which?' })
      throw fail('no')
    })
    const runtime = await world.start([ask])
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'ask' }])
    await world.clock.advance('1s')
    expect(await run).toMatchObject([{ status: 'failure' }])
    expect(await runtime.inbox()).toEqual([])
    expect((await runtime.health()).findings).toEqual([])
  })
})
