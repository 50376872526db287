// Calls under calls, hooks, deploys: what people decide meets what stands above and around it.

import { fail, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ada, bea, hang, worldOn } from '../kit/approval-workers.ts'

const empty = z.object({})

describe.each(['memory', 'sqlite'] as const)('under, on %s', (kind) => {
  const world = worldOn(kind)

  test('POL-4, DUR-3: what waits for people under a call that is over is not run on their word', async () => {
    let charged = 0
    const charge = tool({ name: 'charge', description: 'd', input: empty, hints: { destructive: true }, execute: () => ++charged })
    const shop = tool({ name: 'shop', description: 'd', input: empty, execute: async (_, ctx) => (await ctx.call(charge, {})).status })
    const { runtime, life } = await world.doomed([shop, charge])
    void runtime.session('s', ada).run([{ id: 'a', name: 'shop' }])
    await world.item(runtime)
    await world.clock.advance('1s')
    life.die()
    const second = await world.takeOver([shop, charge])
    expect(await second.session('s').calls.get('a')).toMatchObject({ state: 'settled', outcome: { status: 'unknown' } })
    // The model has read how it ended, and may ask for it again.
    for (const { id } of await second.inbox()) await second.decide(id, { approve: true, ...bea })
    await world.clock.advance('1s')
    expect(charged).toBe(0)
  })

  test('TIME-2: of two calls under a body that ask people the second is approved much later: its clocks stood still', async () => {
    const charge = tool({
      name: 'charge',
      description: 'd',
      input: z.object({ n: z.number() }),
      concurrency: 'parallel',
      hints: { destructive: true },
      execute: ({ n }) => n,
    })
    const shop = tool({
      name: 'shop',
      description: 'd',
      input: empty,
      timeout: { attempt: '10s', idle: '10s' },
      onCrash: 'rerun',
      async execute(_, ctx) {
        const asked = await ctx.ask({ text: 'Which?', deadline: '1h' })
        const [both, { answer }] = await Promise.all([
          ctx.run([1, 2].map((n) => ({ id: `${n}`, name: 'charge', input: { n } }))),
          asked.value,
        ])
        return [...both.map(({ status }) => status), answer]
      },
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

  test('CALL-8: what a project hook takes out stays out, also of what the model is told about a person’s edit', async () => {
    const work = tool({
      name: 'work',
      description: 'd',
      input: z.object({ card: z.string() }),
      approval: 'always',
      execute: ({ card }) => card,
    })
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

  test('POL-5: after a deploy that asks something else under the same name, the old answer is not taken for the new one', async () => {
    const ask = (choices: string[], end: (answer: unknown) => unknown) =>
      tool({
        name: 'ask',
        description: 'd',
        input: empty,
        onCrash: 'rerun',
        async execute(_, ctx) {
          const { answer } = await (await ctx.ask({ text: `${choices.join(' or ')}?`, choices, deadline: '1h' })).value
          return (await end(answer)) as string
        },
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

  test('SESS-7, POL-3: what a person edited is what the client gets', async () => {
    const pick = tool({ name: 'pick', description: 'd', input: z.object({ k: z.string() }), approval: 'always', client: true })
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

  test('CALL-8, POL-3: a before hook may refuse what a person wrote, and the item is gone', async () => {
    const work = tool({ name: 'work', description: 'd', input: z.object({ n: z.number() }), approval: 'always', execute: ({ n }) => n })
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

  test('POL-5: a body that asked and failed leaves nothing in the inbox, and its question is unknown', async () => {
    const ask = tool({
      name: 'ask',
      description: 'd',
      input: empty,
      async execute(_, ctx) {
        await ctx.ask({ text: 'Which?' })
        throw fail('no')
      },
    })
    const runtime = await world.start([ask])
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'ask' }])
    await world.clock.advance('1s')
    expect(await run).toMatchObject([{ status: 'failure' }])
    expect(await runtime.inbox()).toEqual([])
    expect((await runtime.health()).findings).toEqual([])
  })
})
