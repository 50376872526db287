// Known failures of other projects (issue numbers in the titles): an approval gate exists but is bypassed or inverted.

import { dynamicTool, tool as aiTool } from 'ai'
import { aiTools, pawlTools } from 'pawl/ai-sdk'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { fromAnthropic, fromMcp, fromOpenAI, toAnthropic, toMcp, toOpenAI, type Tool } from 'pawl'
import { Changing } from '../../kit/changing-provider.ts'
import { loops, scripted } from '../../kit/models/scripted-sdk-model.ts'
import {
  ask,
  askedAgain,
  bea,
  codeOf,
  eventsOf,
  onGround,
  only,
  refunding,
  session,
  unheard,
  waiting,
} from '../../kit/refund-workers.ts'
import { argumentTool, rerunTool } from '../../kit/simple-tools.ts'

onGround('approval gate inverted or bypassed', (ground) => {
  const asks = { rules: [{ tool: 'refund', then: 'ask' as const }] }
  const plain = (more = {}): Tool => refunding(ground.ledger, { hints: {}, ...more })

  test('POL-2 (mastra#20470): a denial runs nothing, even in a process without the policy that asked', async () => {
    const first = await ground.doomed([plain()], { policy: asks })
    unheard(session(first.runtime).run([ask(1, 'a'), ask(2, 'b')], { batch: 'm' }))
    const items = await waiting(first.runtime, 2)
    await first.runtime.decide(items.find(({ callId }) => callId === 'a')?.id as string, { deny: true, ...bea })
    first.die()
    // Without the policy (mastra PR #20487) the tool needs no approval.
    const next = await ground.open([plain()])
    expect(await session(next, 'free').run([ask(9)])).toMatchObject([{ status: 'success' }])
    const rest = await only(next)
    await next.decide(rest.id, { deny: true, ...bea })
    await ground.clock.advance('31s')
    expect((await session(next).run([ask(1, 'a'), ask(2, 'b')], { batch: 'm' })).map(codeOf)).toEqual([
      'denied_by_person',
      'denied_by_person',
    ])
    expect(ground.ledger.cents).toEqual([9])
  })

  test('POL-2 (mastra PR #20487): a runtime without the policy does not release a pending call', async () => {
    const first = await ground.doomed([plain()], { policy: asks })
    unheard(session(first.runtime).run([ask(1)]))
    const { id } = await only(first.runtime)
    first.die()
    const next = await ground.open([plain()])
    await ground.clock.advance('5m')
    expect(await next.inbox()).toMatchObject([{ id }])
    expect(ground.ledger.cents).toEqual([])
    await ground.clock.advance('11m')
    expect((await session(next).run([ask(1)])).map(codeOf)).toEqual(['approval_expired'])
    expect(ground.ledger.cents).toEqual([])
  })

  test('POL-4 (mastra PR #19377, #19633): approving B runs only B, and a repeated decision affects no other call', async () => {
    const runtime = await ground.open([refunding(ground.ledger)])
    const run = session(runtime).run([ask(1, 'a'), ask(2, 'b')])
    const items = await waiting(runtime, 2)
    const idOf = (callId: string): string => items.find((item) => item.callId === callId)?.id as string
    await runtime.decide(idOf('b'), { approve: true, ...bea })
    expect(await session(runtime).run([ask(2, 'b')])).toMatchObject([{ status: 'success' }])
    expect(ground.ledger.cents).toEqual([2])
    // A click on a stale button.
    expect(await runtime.decide(idOf('b'), { approve: true, ...bea })).toMatchObject({
      answer: 'already_decided',
      status: 'approved',
    })
    expect(ground.ledger.cents).toEqual([2])
    await runtime.decide(idOf('a'), { deny: true, ...bea })
    expect((await run).map(codeOf)).toEqual(['denied_by_person', 'success'])
    expect(ground.ledger.cents).toEqual([2])
  })

  test('POL-6 (mastra#20934): approving an agent does not approve its charge, which gets its own item', async () => {
    const agent = argumentTool(
      'agent',
      z.object({ task: z.string() }),
      { approval: 'always', onCrash: 'rerun' },
      async (_, ctx) => (await ctx.run([ask(99_000, 'charge')])).map(({ status }) => status),
    )
    const runtime = await ground.open([refunding(ground.ledger), agent])
    const run = session(runtime).run([{ id: 'outer', name: 'agent', input: { task: 'be kind' } }])
    const outer = await only(runtime)
    expect(outer).toMatchObject({ tool: 'agent', under: [] })
    await runtime.decide(outer.id, { approve: true, ...bea })
    const inner = await vi.waitUntil(async () => (await runtime.inbox()).find((item) => item.tool === 'refund'), {
      interval: 1,
    })
    expect(inner).toMatchObject({
      tool: 'refund',
      args: { order: 'A1', cents: 99_000 },
      under: [outer.call],
      callId: 'charge',
    })
    expect(ground.ledger.cents).toEqual([])
    await runtime.decide(inner.id, { deny: true, ...bea })
    expect(await run).toMatchObject([{ status: 'success', value: ['failure'] }])
    expect(ground.ledger.cents).toEqual([])
  })

  test('POL-2 (langchain#37093, #40492): a denied call stays denied when repeated, whatever hooks and policy say', async () => {
    const hooks = [
      { name: 'answers', before: () => undefined, after: () => undefined },
      { name: 'again', before: ({ input }: { input: unknown }) => ({ replace: input }) },
    ]
    const first = await ground.doomed([refunding(ground.ledger)], { hooks })
    const asked = [ask(1, 'a'), ask(2, 'b')]
    const run = session(first.runtime).run(asked, { batch: 'm' })
    const items = await waiting(first.runtime, 2)
    for (const { id } of items) await first.runtime.decide(id, { deny: true, reason: 'no', ...bea })
    expect((await run).map(codeOf)).toEqual(['denied_by_person', 'denied_by_person'])
    first.die()
    const next = await ground.open([refunding(ground.ledger)], { hooks, policy: { rules: [{ then: 'allow' }] } })
    for (let again = 0; again < 3; again++)
      expect((await session(next).run(asked, { batch: 'm' })).map(codeOf)).toEqual([
        'denied_by_person',
        'denied_by_person',
      ])
    expect(ground.ledger.cents).toEqual([])
    // The denial and its reason are recorded.
    const made = (await eventsOf(session(next), 2)).filter(({ type }) => type === 'decision.made')
    expect(made.map(({ body }) => body)).toMatchObject([
      { decision: 'deny', by: 'user:bea', reason: 'no' },
      { decision: 'deny' },
    ])
  })

  test('POL-3 (claude-agent-sdk-python#304, bernstein#5051): an approval at the instant of expiry is too late, and none is recorded', async () => {
    const runtime = await ground.open([refunding(ground.ledger)])
    const run = session(runtime).run([ask(1)])
    const { id, expiresAt, askedAt } = await only(runtime)
    await ground.clock.advance(expiresAt - askedAt - 1)
    expect(ground.ledger.cents).toEqual([])
    const [, late] = await Promise.all([ground.clock.advance(1), run])
    expect(late.map(codeOf)).toEqual(['approval_expired'])
    expect(await runtime.decide(id, { approve: true, ...bea })).toEqual({
      answer: 'already_decided',
      status: 'expired',
      by: [],
    })
    const events = await eventsOf(session(runtime))
    expect(events.filter(({ type }) => type === 'decision.made')).toEqual([])
    expect(events.find(({ type }) => type === 'wait.resolved')?.body).toMatchObject({ by: 'timeout' })
    expect(ground.ledger.cents).toEqual([])
  })

  test('POL-2 (anvia PR #178): the arguments after hooks are approved and run, and the hooks do not run again', async () => {
    let turn = 0
    const hooks = [
      {
        name: 'cap',
        before: ({ input }: { input: unknown }) => ({ replace: { ...(input as object), cents: 10 + turn++ } }),
      },
    ]
    const runtime = await ground.open([refunding(ground.ledger)], { hooks })
    const run = session(runtime).run([ask(1_000_000)])
    const { id, args } = await only(runtime)
    expect(args).toEqual({ order: 'A1', cents: 10 })
    await runtime.decide(id, { approve: true, ...bea })
    await run
    expect(ground.ledger.refunds).toEqual([args])
  })

  test('POL-2: a changed tool description needs a new approval', async () => {
    const first = await ground.doomed([refunding(ground.ledger)])
    unheard(session(first.runtime).run([ask(1)]))
    const before = await only(first.runtime)
    first.die()
    const next = await ground.open([refunding(ground.ledger, { description: 'Refund an order twice' })])
    await next.decide(before.id, { approve: true, ...bea })
    const again = await askedAgain(next, before)
    expect(again).toMatchObject({ args: before.args, approvals: [] })
    expect(again.fingerprint).not.toBe(before.fingerprint)
    expect(ground.ledger.cents).toEqual([])
  })

  describe('mastra#15776, #14996: approval requirements survive every tool format', () => {
    const input = z.object({ order: z.string(), cents: z.number() })
    const shape = { name: 'refund', description: 'Refunds', inputSchema: { type: 'object', properties: {} } }
    const body = () => (given: unknown) => {
      ground.ledger.refunds.push(given as never)
      return Promise.resolve('done')
    }
    const always = (): Tool => refunding(ground.ledger, { hints: {}, approval: 'always' })
    const ways: Record<string, () => Tool> = {
      'its own approval': always,
      'an approval function': () => refunding(ground.ledger, { hints: {}, approval: (() => 'always') as never }),
      'a tool of MCP without hints': () => fromMcp(toMcp([always()])[0] as never, body()),
      'a tool of MCP that says it only reads': () =>
        fromMcp({ ...shape, annotations: { readOnlyHint: true, openWorldHint: false } }, body()),
      'a definition of OpenAI, with terms': () =>
        fromOpenAI(toOpenAI([always()], { api: 'chat' })[0] as never, body(), { approval: 'always' }),
      'a definition of Anthropic, with terms': () =>
        fromAnthropic(toAnthropic([always()])[0] as never, body(), { approval: 'always' }),
      'a tool of the AI SDK with needsApproval': () =>
        pawlTools({ refund: aiTool({ inputSchema: input, needsApproval: true, execute: body() }) })[0] as Tool,
      'a tool of the AI SDK whose needsApproval is a function': () =>
        pawlTools({
          refund: aiTool({
            inputSchema: input,
            needsApproval: async ({ cents }: { cents: number }) => cents > 100,
            execute: body(),
          }),
        })[0] as Tool,
      'a dynamic tool of the AI SDK with needsApproval': () =>
        pawlTools({
          refund: dynamicTool({ description: 'x', inputSchema: input, needsApproval: true, execute: body() }),
        })[0] as Tool,
    }

    test.for(Object.keys(ways))('POL-1: %s needs approval', async (way) => {
      const runtime = await ground.open([ways[way]?.() as Tool])
      expect(await session(runtime).run([ask(4200)], { until: 'waiting' })).toMatchObject([
        { status: 'waiting', for: 'approval' },
      ])
      // The same holds for a tool of the session's own toolset and for a nested call.
      const other = await ground.open([rerunTool('desk', async (_, ctx) => (await ctx.run([ask(4200)])).length)])
      const own = session(other, 'own', { tools: [ways[way]?.() as Tool] })
      unheard(own.run([ask(4200), { id: 'd', name: 'desk' }]))
      const places = (items: { session: string; under: readonly string[] }[]) =>
        items.filter((item) => item.session === 'own').map(({ under }) => under.length)
      await vi.waitUntil(async () => places(await other.inbox()).length === 2, { interval: 1 })
      expect(places(await other.inbox()).toSorted((a, b) => a - b)).toEqual([0, 1])
      expect(ground.ledger.refunds).toEqual([])
    })

    test('POL-1: an AI SDK needsApproval of false does not vote, and one that throws denies', async () => {
      const small = pawlTools({
        refund: aiTool({
          inputSchema: input,
          needsApproval: ({ cents }: { cents: number }) => cents > 100,
          execute: body(),
        }),
      })
      const broken = pawlTools({
        broken: aiTool({ inputSchema: input, needsApproval: () => Promise.reject(new Error('x')), execute: body() }),
      })
      const runtime = await ground.open([...small, ...broken])
      expect((await session(runtime).run([ask(5), ask(5, 'c2', 'broken')])).map(codeOf)).toEqual([
        'success',
        'denied_by_policy',
      ])
      expect(ground.ledger.refunds).toHaveLength(1)
      const careful = await ground.open(small, { policy: { default: 'careful' } })
      expect(await session(careful, 'careful').run([ask(5)], { until: 'waiting' })).toMatchObject([
        { status: 'waiting' },
      ])
    })

    test('POL-9, POL-1: a provider tool needs approval when called by name or by id', async () => {
      const provider = new Changing([
        refunding(ground.ledger, { hints: { readOnly: true }, approval: 'never', id: 'refund-id' }),
      ])
      const runtime = await ground.open([], { providers: [provider] })
      const asked = ['refund', 'refund-id'].map((name, order) => ask(1, `c${order}`, name))
      const open = await session(runtime).run(asked, { until: 'waiting' })
      expect(open.map(codeOf)).toEqual(['waiting', 'waiting'])
      expect(ground.ledger.refunds).toEqual([])
    })

    test('POL-2: the AI SDK loops wait for the decision and run nothing before it', async () => {
      const runtime = await ground.open([refunding(ground.ledger)])
      const of = session(runtime)
      const model = scripted([['a', 'refund', '{"order":"A1","cents":7}']])
      const loop = loops.generateText(model, aiTools(of))
      const { id } = await only(runtime)
      expect(ground.ledger.refunds).toEqual([])
      await runtime.decide(id, { deny: true, ...bea })
      expect(JSON.stringify((await loop).prompts.at(-1))).toContain('A person denied this call')
      expect(ground.ledger.refunds).toEqual([])
    })
  })
})
