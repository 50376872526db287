// More seams: what is remembered for whom, what a schema makes of a missing connection, tokens in arguments, times that are no times.

import { connectionRequired, result, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ada, bea, worldOn } from '../kit/approval-workers.ts'

const empty = z.object({})
const token = 'ghp_0123456789abcdef'

describe.each(['memory', 'sqlite'] as const)('more on %s', (kind) => {
  const world = worldOn(kind)

  test('POL-3: nothing is remembered for a principal that is not on record, and the call still waits', async () => {
    const wipe = tool({ name: 'wipe', description: 'd', input: empty, hints: { destructive: true }, execute: () => 'wiped' })
    const runtime = await world.start([wipe])
    const first = runtime.session('s').run([{ id: 'a', name: 'wipe' }])
    const { id } = await world.item(runtime)
    const answer = await runtime.decide(id, { approve: true, remember: { scope: 'principal' }, ...bea })
    expect(answer).toMatchObject({ answer: 'invalid', problems: [expect.stringContaining('not on record')] })
    expect(await runtime.inbox()).toMatchObject([{ id }])
    expect(await runtime.decide(id, { approve: true, ...bea })).toMatchObject({ answer: 'accepted' })
    await world.clock.advance('1s')
    expect(await first).toMatchObject([{ status: 'success', value: 'wiped' }])
    const [other] = await runtime.session('elsewhere', { principal: 'user:eve' }).run([{ id: 'b', name: 'wipe' }], { until: 'waiting' })
    expect(other).toMatchObject({ status: 'waiting', for: 'approval' })
  })

  const issues = tool({
    name: 'issues',
    description: 'd',
    input: empty,
    output: z.array(z.string()),
    execute: () => connectionRequired('github') as never,
  })
  const read = { status: 'success', value: { connection_required: 'github' } }

  test('POL-5: where nobody can connect the model reads connection_required, also of a tool with an output schema', async () => {
    const runtime = await world.start([issues])
    const [alone] = await runtime.session('s', { ...ada, attended: false }).run([{ id: 'a', name: 'issues' }])
    expect(alone).toMatchObject(read)
  })
  test('POL-5: and also when nobody did in time, or what was connected did not do', async () => {
    const runtime = await world.start([issues])
    const session = runtime.session('s', ada)
    const silent = session.run([{ id: 'a', name: 'issues' }])
    await world.clock.advance('16m')
    expect(await silent).toMatchObject([read])
    const twice = session.run([{ id: 'b', name: 'issues' }])
    for (let round = 0; round < 2; round++) {
      const { id } = await world.item(runtime)
      await runtime.decide(id, { approve: true, ...bea })
      await world.clock.advance('1s')
    }
    expect(await twice).toMatchObject([read])
  })

  test('POL-5: a token that a body passes to a call under it is in no arguments on record, nor in an inbox elsewhere', async () => {
    const inner = tool({
      name: 'inner',
      description: 'd',
      input: z.object({ auth: z.string() }),
      hints: { destructive: true },
      execute: () => 'ok',
    })
    const outer = tool({
      name: 'outer',
      description: 'd',
      input: empty,
      onCrash: 'rerun',
      async execute(_, ctx) {
        const github = await ctx.connection('github')
        return (await ctx.call(inner, { auth: github?.token ?? '' })).status
      },
    })
    const door = await world.start([], { worker: false })
    const runtime = await world.start([outer, inner])
    await runtime.connections.set({ provider: 'github', principal: 'user:ada' }, { token, ...bea })
    void runtime.session('s', ada).run([{ id: 'a', name: 'outer' }])
    await world.clock.advance('1s')
    expect(JSON.stringify(await door.inbox()).includes(token)).toBe(false)
    const calls = await world.store.callsOf({ tenant: 'default', session: 's' }, { after: '', limit: 10 })
    expect(JSON.stringify(calls).includes(token)).toBe(false)
  })

  test('POL-5: when a connection ends must be an instant', async () => {
    const runtime = await world.start([])
    for (const expiresAt of [Number.NaN, '2026-01-01' as never, new Date(0) as never])
      await expect(runtime.connections.set({ provider: 'github' }, { token, ...bea, expiresAt })).rejects.toThrow(/expiresAt/)
  })

  test('POL-5: a connection that has expired is none, and who waits goes on with the new one', async () => {
    const work = tool({
      name: 'work',
      description: 'd',
      input: empty,
      execute: async (_, ctx) => ((await ctx.connection('github')) ? 'read' : connectionRequired('github')),
    })
    const runtime = await world.start([work])
    const of = { provider: 'github', principal: 'user:ada' }
    await runtime.connections.set(of, { token, ...bea, expiresAt: world.clock.now() + 1_000 })
    await world.clock.advance('2s')
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'work' }])
    await world.item(runtime)
    expect(await runtime.connections.set(of, { token: 'another one', ...bea })).toEqual({ resumed: 1 })
    await world.clock.advance('1s')
    expect(await run).toMatchObject([{ value: 'read' }])
  })

  test('POL-7: a call that waits for people in a call under it leaves a placeholder too', async () => {
    const inner = tool({ name: 'inner', description: 'd', input: empty, hints: { destructive: true }, execute: () => 'ok' })
    const outer = tool({
      name: 'outer',
      description: 'd',
      input: empty,
      onCrash: 'rerun',
      execute: async (_, ctx) => (await ctx.call(inner, {})).status,
    })
    const runtime = await world.start([outer, inner])
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'outer' }], { batch: 'm1', until: '2s' })
    await world.clock.advance('3s')
    const [open] = await run
    expect(JSON.stringify((open as { parts?: unknown }).parts ?? null)).toContain('[Tool call')
  })

  test('POL-1: the rules of a session hold for what its calls call, after a crash too', async () => {
    let ran = 0
    const inner = tool({ name: 'inner', description: 'd', input: empty, execute: () => ++ran })
    const outer = tool({
      name: 'outer',
      description: 'd',
      input: empty,
      onCrash: 'rerun',
      async execute(_, ctx) {
        await ctx.sleep('5s')
        return (await ctx.call(inner, {})).status
      },
    })
    const policy = { rules: [{ tool: 'inner', then: 'deny' as const, reason: 'Not here.' }] }
    const { runtime, life } = await world.doomed([outer, inner])
    void runtime.session('s', { ...ada, policy }).run([{ id: 'a', name: 'outer' }])
    await world.clock.advance('1s')
    life.die()
    const second = await world.takeOver([outer, inner])
    await world.clock.advance('10s')
    expect(await second.session('s').calls.get('a')).toMatchObject({ outcome: { value: 'failure' } })
    expect(ran).toBe(0)
  })

  test.each([
    ['as a key of an object', token, (given: string) => ({ [given]: 1 })],
    ['of two lines, in JSON as text', 'a "first" line\nand a second', (given: string) => JSON.stringify({ given })],
    ['in raw and summary', token, (given: string) => result(null, { raw: { given }, summary: `with ${given}` })],
    ['of six digits', '402817', (given: string) => ({ code: given })],
  ])('POL-5: a secret answer %s is in no result', async (_, secret, make) => {
    const ask = tool({
      name: 'ask',
      description: 'd',
      input: empty,
      onCrash: 'rerun',
      async execute(__, ctx) {
        const { answer } = await (await ctx.ask({ text: 'The code?', secret: true })).value
        return make(answer as string) as never
      },
    })
    const runtime = await world.start([ask])
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'ask' }])
    const { id } = await world.item(runtime)
    await runtime.decide(id, { answer: secret, ...bea })
    await world.clock.advance('1s')
    const [outcome] = await run
    expect(outcome?.status).toBe('success')
    const calls = await world.store.callsOf({ tenant: 'default', session: 's' }, { after: '', limit: 10 })
    const all = JSON.stringify([outcome, calls.map((each) => each.outcome)])
    expect(all.includes(secret.split('\n').at(-1) as string)).toBe(false)
  })
})
