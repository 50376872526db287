// Approver rights, redaction of the inbox and logs, connection scope, and what erase and cancel leave in the inbox.

import { readFileSync } from 'node:fs'
import { connectionRequired, retry, tool, type RuntimeOptions } from 'pawl'
import { describe, expect, test } from 'vitest'
import { ignoreResult } from '../kit/interrupted-calls.ts'
import { z } from 'zod'
import { ada, bea, hang, worldOn } from '../kit/approval-workers.ts'
import { argumentTool, rerunTool, simpleTool } from '../kit/simple-tools.ts'

const empty = z.object({})
const token = 'ghp_0123456789abcdef'

describe.each(['memory', 'sqlite'] as const)('approver rights and redaction on %s', (kind) => {
  const world = worldOn(kind)

  test('POL-3, DUR-3: the requester cannot approve a rerun that needs two other approvers', async () => {
    let ran = 0
    const pay = (execute: () => unknown) =>
      tool({ name: 'pay', description: 'd', input: empty, onUnknown: 'ask', execute })
    const policy = {
      rules: [{ tool: 'pay', then: 'ask' as const, quorum: 2, approvers: ['user:bea', 'user:bob'], separate: true }],
    } as RuntimeOptions['policy'] & object
    const { runtime, life } = await world.doomed([pay(hang)], { policy })
    ignoreResult(runtime.session('s', ada).run([{ id: 'a', name: 'pay' }]))
    const { id } = await world.item(runtime)
    expect(await runtime.decide(id, { approve: true, by: 'user:ada' })).toMatchObject({ answer: 'refused' })
    await runtime.decide(id, { approve: true, by: 'user:bea' })
    await runtime.decide(id, { approve: true, by: 'user:bob' })
    await world.clock.advance(10)
    life.die()
    const second = await world.takeOver([pay(() => ++ran)], { policy })
    const finding = await world.item(second)
    expect(finding.kind).toBe('finding')
    const answer = await second.decide(finding.id, { approve: true, by: 'user:ada' })
    await world.clock.advance('1s')
    expect(ran).toBe(0)
    expect(answer).toMatchObject({ answer: 'refused' })
  })

  test('POL-8: the outcome includes the cost of earlier attempts even if the last one parked', async () => {
    let tries = 0
    const work = rerunTool('work', async (_, ctx) => {
      if (++tries === 1) throw retry({ after: 10, cost: 5 })
      return ctx.ask({ text: 'Which?' })
    })
    const runtime = await world.start([work], { budgets: { session: { cost: 4 } } })
    const session = runtime.session('s', ada)
    const run = session.run([{ id: 'a', name: 'work' }])
    await world.clock.advance('1m')
    const { id } = await world.item(runtime)
    await runtime.decide(id, { answer: 'this', ...bea })
    await world.clock.advance('1s')
    expect(await run).toMatchObject([{ status: 'success', cost: 5 }])
    const next = session.run([{ id: 'b', name: 'work' }])
    await world.clock.advance('10m')
    expect(await next).toMatchObject([{ failure: { code: 'over_budget' } }])
  })

  test('TIME-1: the queue timeout does not count the time spent waiting for approval', async () => {
    const work = simpleTool('work', { approval: 'always', timeout: { queue: '1m' } }, () => 'ok')
    const runtime = await world.start([work])
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'work' }])
    const { id } = await world.item(runtime)
    await world.clock.advance('5m')
    await runtime.decide(id, { approve: true, ...bea })
    await world.clock.advance('1s')
    expect(await run).toMatchObject([{ status: 'success' }])
  })

  test('DUR-12: an inbox question shows no secret from its text', async () => {
    const ask = rerunTool('ask', async (_, ctx) => {
      const github = await ctx.connection('github')
      return (await ctx.ask({ text: `Is ${github?.token} still right?` })).value
    })
    const runtime = await world.start([ask])
    await runtime.connections.set({ provider: 'github', principal: 'user:ada' }, { token, ...bea })
    ignoreResult(runtime.session('s', ada).run([{ id: 'a', name: 'ask' }]))
    const item = await world.item(runtime)
    expect(JSON.stringify(item).includes(token)).toBe(false)
  })

  test('VAL-4, DUR-12: logs and errors contain neither the token nor the secret answer', async () => {
    const lines: string[] = []
    const write = (...said: unknown[]): void =>
      void lines.push(
        JSON.stringify(said, (_, value: unknown) => (value instanceof Error ? String(value.stack) : value)),
      )
    const logger = { debug: write, info: write, warn: write, error: write }
    const ask = rerunTool('ask', async (_, ctx) => {
      const github = await ctx.connection('github')
      const { answer } = await (await ctx.ask({ text: 'Your password?', secret: true })).value
      ctx.log.info(`with ${github?.token} and ${answer as string}`, { answer })
      throw new Error(`bad ${answer as string}`, { cause: new Error(`also ${github?.token}`) })
    })
    const door = await world.start([ask], { worker: false })
    await door.connections.set({ provider: 'github', principal: 'user:ada' }, { token, ...bea })
    const runtime = await world.start([ask], { logger })
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'ask' }])
    const { id } = await world.item(runtime)
    await door.decide(id, { answer: 'correct horse battery', ...bea })
    await world.clock.advance('1s')
    const [outcome] = await run
    expect(outcome?.status).toBe('failure')
    const all = lines.join('\n') + JSON.stringify(outcome)
    expect([all.includes(token), all.includes('correct horse')]).toEqual([false, false])
    if (kind === 'sqlite') {
      const bytes = ['', '-wal'].map((end) => readFileSync(world.file + end).toString('latin1')).join('')
      expect([bytes.includes(token), bytes.includes('correct horse')]).toEqual([false, false])
    }
  })

  test('POL-5: a connection for another tenant, principal or provider does not resume the call', async () => {
    const issues = simpleTool(
      'issues',
      async (_, ctx) => (await ctx.connection('github'))?.expiresAt ?? connectionRequired('github'),
    )
    const runtime = await world.start([issues])
    ignoreResult(runtime.session('s', { ...ada, tenant: 'acme' }).run([{ id: 'a', name: 'issues' }]))
    await world.item(runtime)
    const other = async (of: object) =>
      (await runtime.connections.set({ provider: 'github', ...of }, { token, ...bea })).resumed
    expect(await other({})).toBe(0)
    expect(await other({ principal: 'user:ada' })).toBe(0)
    expect(await other({ tenant: 'acme', principal: 'user:bob' })).toBe(0)
    expect(await other({ tenant: 'acme', provider: 'gitlab', principal: 'user:ada' })).toBe(0)
    expect(await runtime.inbox()).toHaveLength(1)
    expect(await other({ tenant: 'acme', principal: 'user:ada' })).toBe(1)
  })

  test('DUR-10: erase removes the inbox items and rules of a session and the tokens of a tenant', async () => {
    const tools = [
      tool({ name: 'wipe', description: 'd', input: empty, approval: 'always', execute: () => 'wiped' }),
      tool({ name: 'pick', description: 'd', input: empty, client: true }),
      tool({ name: 'ask', description: 'd', input: empty, execute: (_, ctx) => ctx.ask({ text: 'Which?' }) }),
      rerunTool('inside', async (_, ctx) => (await ctx.ask({ text: 'Which?' })).value),
      tool({ name: 'issues', description: 'd', input: empty, execute: () => connectionRequired('github') }),
    ]
    const runtime = await world.start(tools, { budgets: { session: { calls: 100 }, tenant: { calls: 100 } } })
    const session = runtime.session('s', { ...ada, tenant: 'acme' })
    const first = session.run([{ id: 'r', name: 'wipe' }])
    const { id } = await world.item(runtime)
    await runtime.decide(id, { approve: true, remember: true, ...bea })
    await world.clock.advance('1s')
    await first
    await runtime.rules.revoke((await runtime.rules.list({ tenant: 'acme' }))[0]?.id ?? '', { tenant: 'acme', ...bea })
    ignoreResult(session.run(tools.map(({ name }) => ({ id: name, name }))).catch(() => {}))
    await world.clock.advance('1s')
    expect((await runtime.inbox()).length).toBeGreaterThanOrEqual(3)
    await runtime.connections.set({ provider: 'other', tenant: 'acme' }, { token, ...bea })
    const erasing = runtime.erase({ tenant: 'acme', session: 's', open: 'cancel' })
    await world.clock.advance('10s')
    await erasing
    const left = async (of: string) =>
      (await world.store.documentsOf({ of, tenant: 'acme', after: '', limit: 100 })).map(({ session: s }) => s)
    for (const of of ['inbox', 'client', 'rule']) expect([of, await left(of)]).toEqual([of, []])
    expect((await left('usage')).filter((s) => s !== '')).toEqual([])
    const all = runtime.erase({ tenant: 'acme', open: 'cancel' })
    await world.clock.advance('10s')
    await all
    for (const of of ['connection', 'usage']) expect([of, await left(of)]).toEqual([of, []])
  })

  test('TIME-3, POL-6: cancelling a question whose worker died empties the inbox', async () => {
    const ask = rerunTool('ask', async (_, ctx) => (await ctx.ask({ text: 'Which?', deadline: '1d' })).value)
    const { runtime, life } = await world.doomed([ask])
    ignoreResult(runtime.session('s', ada).run([{ id: 'a', name: 'ask' }]))
    await world.item(runtime)
    life.die()
    const door = await world.start([ask], { worker: false })
    await door.session('s').cancel('enough')
    await world.clock.advance('1s')
    expect(await door.inbox()).toEqual([])
    const second = await world.takeOver([ask])
    expect(await second.session('s').calls.get('a')).toMatchObject({
      state: 'settled',
      outcome: { status: 'cancelled' },
    })
  })

  test('VAL-7: the note about a person’s edit counts toward the output budget', async () => {
    const work = argumentTool('work', z.object({ k: z.string() }), { approval: 'always' }, () => 'x'.repeat(5_000))
    const runtime = await world.start([work], { output: { bytes: 1_024 } })
    const run = runtime.session('s', ada).run([{ id: 'a', name: 'work', input: { k: 'a' } }])
    const { id } = await world.item(runtime)
    await runtime.decide(id, { edit: { k: 'é'.repeat(950) }, reason: 'é'.repeat(1_000), ...bea })
    await world.clock.advance('1s')
    const [outcome] = await run
    const text = (outcome?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('')
    expect(text).toContain('A person changed')
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1_024)
  })
})
