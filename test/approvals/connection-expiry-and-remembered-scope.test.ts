// Scope of remembered rules, expiry of connections, connection_required results, and tokens in nested arguments.

import { connectionRequired, result, tool } from 'pawl'
import { describe, expect, test } from 'vitest'
import { ignoreResult } from '../kit/interrupted-calls.ts'
import { z } from 'zod'
import { ada, bea, worldOn } from '../kit/approval-workers.ts'
import { argumentTool, rerunTool, simpleTool } from '../kit/simple-tools.ts'

const empty = z.object({})
const token = 'ghp_0123456789abcdef'

describe.each(['memory', 'sqlite'] as const)('connections and remembered scope on %s', (kind) => {
  const world = worldOn(kind)

  test('POL-3: a rule for a missing principal is rejected, and the call still waits', async () => {
    const wipe = simpleTool('wipe', { hints: { destructive: true } }, () => 'wiped')
    const runtime = await world.start([wipe])
    const first = runtime.session('s').run([{ id: 'a', name: 'wipe' }])
    const { id } = await world.item(runtime)
    const answer = await runtime.decide(id, { approve: true, remember: { scope: 'principal' }, ...bea })
    expect(answer).toMatchObject({ answer: 'invalid', problems: [expect.stringContaining('has no principal')] })
    expect(await runtime.inbox()).toMatchObject([{ id }])
    expect(await runtime.decide(id, { approve: true, ...bea })).toMatchObject({ answer: 'accepted' })
    await world.clock.advance('1s')
    expect(await first).toMatchObject([{ status: 'success', value: 'wiped' }])
    const [other] = await runtime
      .session('elsewhere', { principal: 'user:eve' })
      .run([{ id: 'b', name: 'wipe' }], { until: 'waiting' })
    expect(other).toMatchObject({ status: 'waiting', for: 'approval' })
  })

  const issues = simpleTool('issues', { output: z.array(z.string()) }, () => connectionRequired('github'))
  const read = { status: 'success', value: { connection_required: 'github' } }

  test('POL-5: an unattended tool with an output schema still returns connection_required', async () => {
    const runtime = await world.start([issues])
    const [alone] = await runtime.session('s', { ...ada, attended: false }).run([{ id: 'a', name: 'issues' }])
    expect(alone).toMatchObject(read)
  })
  test('POL-5: connection_required is returned after expiry and after a second failed connection', async () => {
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

  test('POL-3 POL-5: connection_required keeps the note about an edit', async () => {
    const push = argumentTool('push', z.object({ branch: z.string() }), { hints: { destructive: true } }, () =>
      connectionRequired('github'),
    )
    const runtime = await world.start([push])
    const session = runtime.session('s', ada)
    const edited = async (id: string) => {
      const run = session.run([{ id, name: 'push', input: { branch: 'main' } }])
      await runtime.decide((await world.item(runtime)).id, { edit: { branch: 'draft' }, ...bea })
      await world.clock.advance('1s')
      return { run }
    }
    const expired = await edited('expired')
    const noted = [{ ...read, note: expect.stringContaining('draft') }]
    await world.clock.advance('16m')
    expect(await expired.run).toMatchObject(noted)
    const twice = await edited('twice')
    for (let round = 0; round < 2; round++) {
      const { id } = await world.item(runtime)
      await runtime.decide(id, { approve: true, ...bea })
      await world.clock.advance('1s')
    }
    expect(await twice.run).toMatchObject(noted)
  })

  test('POL-5: a token passed to a nested call is neither in recorded arguments nor in the inbox', async () => {
    const inner = argumentTool('inner', z.object({ auth: z.string() }), { hints: { destructive: true } }, () => 'ok')
    const outer = rerunTool('outer', async (_, ctx) => {
      const github = await ctx.connection('github')
      return (await ctx.call(inner, { auth: github?.token ?? '' })).status
    })
    const door = await world.start([], { worker: false })
    const runtime = await world.start([outer, inner])
    await runtime.connections.set({ provider: 'github', principal: 'user:ada' }, { token, ...bea })
    ignoreResult(runtime.session('s', ada).run([{ id: 'a', name: 'outer' }]))
    await world.clock.advance('1s')
    expect(JSON.stringify(await door.inbox()).includes(token)).toBe(false)
    const calls = await world.store.callsOf({ tenant: 'default', session: 's' }, { after: '', limit: 10 })
    expect(JSON.stringify(calls).includes(token)).toBe(false)
  })

  test('POL-5: connections.set() rejects an expiresAt that is not a timestamp', async () => {
    const runtime = await world.start([])
    for (const expiresAt of [Number.NaN, '2026-01-01' as never, new Date(0) as never])
      await expect(runtime.connections.set({ provider: 'github' }, { token, ...bea, expiresAt })).rejects.toThrow(
        /expiresAt/,
      )
  })

  test('POL-5: an expired connection is ignored, and the waiting call resumes with the new one', async () => {
    const work = simpleTool('work', async (_, ctx) =>
      (await ctx.connection('github')) ? 'read' : connectionRequired('github'),
    )
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

  test('POL-7: a call that waits for a nested approval returns a placeholder', async () => {
    const inner = simpleTool('inner', { hints: { destructive: true } }, () => 'ok')
    const outer = rerunTool('outer', async (_, ctx) => (await ctx.call(inner, {})).status)
    const runtime = await world.start([outer, inner])
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'outer' }], { batch: 'm1', until: '2s' })
    await world.clock.advance('3s')
    const [open] = await run
    expect(JSON.stringify((open as { parts?: unknown }).parts ?? null)).toContain('[Tool call')
  })

  test('POL-1: session policy applies to nested calls, even after a crash', async () => {
    let ran = 0
    const inner = tool({ name: 'inner', description: 'd', input: empty, execute: () => ++ran })
    const outer = rerunTool('outer', async (_, ctx) => {
      await ctx.sleep('5s')
      return (await ctx.call(inner, {})).status
    })
    const policy = { rules: [{ tool: 'inner', then: 'deny' as const, reason: 'Not here.' }] }
    const { runtime, life } = await world.doomed([outer, inner])
    ignoreResult(runtime.session('s', { ...ada, policy }).run([{ id: 'a', name: 'outer' }]))
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
  ])('POL-5: a secret answer %s appears in no result', async (_, secret, make) => {
    const ask = rerunTool('ask', async (__, ctx) => {
      const { answer } = await (await ctx.ask({ text: 'The code?', secret: true })).value
      return make(answer as string)
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
