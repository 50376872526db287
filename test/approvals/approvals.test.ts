// Approvals through the library: inbox, decide(), quorum, edits, remembered rules. The attacks are in
// attacks/approval-attacks.test.ts.

import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type CallOutcome, type InboxItem, type Runtime, tool, type Tool } from '../../src/index.ts'
import { manualClock } from '../../src/testing/manual-clock.ts'
import { onEachStore } from '../kit/stores/local-stores.ts'
import { argumentTool, rerunTool } from '../kit/simple-tools.ts'

interface Refund {
  readonly order: string
  readonly cents: number
}

const refunding = (ran: Refund[], over: Partial<Parameters<typeof tool>[0]> = {}): Tool =>
  tool({
    name: 'refund',
    description: 'Refund an order. Money goes back.',
    input: z.object({ order: z.string(), cents: z.number() }),
    hints: { destructive: true },
    ...over,
    execute: (input: Refund) => {
      ran.push(input)
      return { refunded: input.cents }
    },
  } as never)

const ask = (cents: number, id = 'c1') => ({ id, name: 'refund', input: { order: 'A1', cents } })
const first = async (runtime: Runtime, query?: Parameters<Runtime['inbox']>[0]): Promise<InboxItem> =>
  vi.waitUntil(async () => (await runtime.inbox(query))[0], { interval: 1 })
const bea = { by: 'user:bea' }
const codeOf = (outcome: CallOutcome | undefined): string =>
  outcome?.status === 'failure' ? outcome.failure.code : (outcome?.status ?? 'none')
const textOf = (outcome: CallOutcome | undefined): string =>
  outcome?.parts.map((part) => (part.type === 'text' ? part.text : '')).join('') ?? ''

onEachStore('approvals', (bench) => {
  const clock = manualClock()
  const session = (runtime: Runtime, id = 'chat') => runtime.session(id, { tenant: 'acme', principal: 'user:ada' })

  test('POL-2, POL-6: a call that needs approval waits in the inbox and runs once approved', async () => {
    const ran: Refund[] = []
    const runtime = await bench.open([refunding(ran)], { clock })
    const run = session(runtime).run([ask(4200)])
    const item = await first(runtime)
    expect(item).toMatchObject({
      kind: 'approval',
      tenant: 'acme',
      session: 'chat',
      principal: 'user:ada',
      tool: 'refund',
      args: { order: 'A1', cents: 4200 },
      preview: { summary: 'Refund an order: order "A1", cents 4200.' },
      effect: 'It can have effects that cannot be undone.',
      quorum: 1,
      approvals: [],
      callId: 'c1',
      expiresAt: item.askedAt + 15 * 60_000,
    })
    expect(ran).toEqual([])
    expect(await runtime.decide(item.id, { approve: true, ...bea })).toEqual({
      answer: 'accepted',
      status: 'approved',
      approvals: 1,
      quorum: 1,
    })
    expect(await run).toMatchObject([{ status: 'success', value: { refunded: 4200 }, attempts: 1 }])
    expect(ran).toEqual([{ order: 'A1', cents: 4200 }])
    expect(await runtime.inbox()).toEqual([])
  })

  test('POL-3: a denied call fails with the reason and never runs', async () => {
    const ran: Refund[] = []
    const runtime = await bench.open([refunding(ran)], { clock })
    const run = session(runtime).run([ask(4200)])
    await runtime.decide((await first(runtime)).id, { deny: true, reason: 'Ask the customer first', ...bea })
    const [outcome] = await run
    expect(outcome).toMatchObject({
      status: 'failure',
      failure: { class: 'permission_denied', code: 'denied_by_person', source: 'policy' },
    })
    expect(textOf(outcome)).toContain('A person denied this call: Ask the customer first. It was not run.')
    expect(ran).toEqual([])
  })

  test('POL-3: an undecided approval expires as a denial after the rule’s time', async () => {
    const ran: Refund[] = []
    const policy = { rules: [{ tool: 'refund', then: 'ask', expires: '1h' }] } as const
    const runtime = await bench.open([refunding(ran)], { clock, policy })
    const run = session(runtime).run([ask(4200)])
    const { id } = await first(runtime)
    await clock.advance('59m')
    expect(await runtime.inbox()).toHaveLength(1)
    await clock.advance('1m')
    const [outcome] = await run
    expect(codeOf(outcome)).toBe('approval_expired')
    expect(outcome?.waitingMs).toBe(3_600_000)
    expect(await runtime.decide(id, { approve: true, ...bea })).toEqual({
      answer: 'already_decided',
      status: 'expired',
      by: [],
    })
    expect(await runtime.inbox()).toEqual([])
    expect(ran).toEqual([])
  })

  test('POL-3: an edit is validated, shown to the model, and recorded as the input that ran', async () => {
    const ran: Refund[] = []
    const runtime = await bench.open([refunding(ran)], { clock })
    const run = session(runtime).run([ask(4200)])
    const { id } = await first(runtime)
    expect(await runtime.decide(id, { edit: { order: 'A1', cents: 'much' }, ...bea })).toMatchObject({
      answer: 'invalid',
    })
    expect(await runtime.inbox()).toHaveLength(1)
    const decided = await runtime.decide(id, {
      approve: true,
      edit: { order: 'A1', cents: 2000 },
      reason: 'half',
      ...bea,
    })
    expect(decided).toMatchObject({ answer: 'accepted', status: 'edited' })
    const [outcome] = await run
    expect(outcome).toMatchObject({ status: 'success', value: { refunded: 2000 } })
    expect(textOf(outcome)).toBe(
      '[A person changed the arguments of this call before it ran (half). It ran with: {"order":"A1","cents":2000}]\n{"refunded":2000}',
    )
    expect(ran).toEqual([{ order: 'A1', cents: 2000 }])
    expect(await session(runtime).calls.get('c1')).toMatchObject({ input: { order: 'A1', cents: 2000 } })
  })

  test('POL-3: policy and hooks check edited arguments again and may deny them', async () => {
    const ran: Refund[] = []
    const policy = { rules: [{ tool: 'refund', when: { cents: { gt: 9_000 } }, then: 'deny' as const }] }
    const hooks = [
      {
        name: 'no A2',
        before: ({ input }: { input: unknown }) => ((input as Refund).order === 'A2' ? { deny: 'not A2' } : undefined),
      },
    ]
    const runtime = await bench.open([refunding(ran)], { clock, policy, hooks })
    const runs = [session(runtime).run([ask(4200)]), session(runtime).run([ask(4200, 'c2')])]
    const items = await vi.waitUntil(async () => {
      const all = await runtime.inbox()
      return all.length === 2 && all
    })
    await runtime.decide(items[0]?.id as string, { edit: { order: 'A1', cents: 10_000 }, ...bea })
    await runtime.decide(items[1]?.id as string, { edit: { order: 'A2', cents: 1 }, ...bea })
    const codes = (await Promise.all(runs)).map(([outcome]) => codeOf(outcome))
    expect(codes.toSorted()).toEqual(['denied_by_hook', 'denied_by_policy'])
    expect(ran).toEqual([])
  })

  test('POL-3: a person’s answer replaces the tool result and is validated', async () => {
    const ran: Refund[] = []
    const runtime = await bench.open([refunding(ran, { output: z.object({ refunded: z.number() }) as never })], {
      clock,
    })
    const run = session(runtime).run([ask(4200)])
    const { id } = await first(runtime)
    expect(await runtime.decide(id, { answer: 'a voucher', ...bea })).toMatchObject({ answer: 'invalid' })
    expect(await runtime.decide(id, { answer: { refunded: 1 }, reason: 'done by hand', ...bea })).toMatchObject({
      status: 'answered',
    })
    const [outcome] = await run
    expect(outcome).toMatchObject({ status: 'success', value: { refunded: 1 }, attempts: 0 })
    expect(textOf(outcome)).toBe(
      '[A person answered instead of this tool, which was not run: done by hand]\n{"refunded":1}',
    )
    expect(ran).toEqual([])
  })

  test('POL-3: a quorum needs distinct approvers, not the requester, and restarts after an edit', async () => {
    const ran: Refund[] = []
    const policy = {
      rules: [{ tool: 'refund', then: 'ask' as const, quorum: 2, separate: true, approvers: ['user:*', 'boss'] }],
    }
    const runtime = await bench.open([refunding(ran)], { clock, policy })
    const run = session(runtime).run([ask(4200)])
    const { id } = await first(runtime)
    expect(await runtime.decide(id, { approve: true, by: 'user:ada' })).toMatchObject({
      answer: 'refused',
      why: 'own_request',
    })
    expect(await runtime.decide(id, { approve: true, by: 'guest' })).toMatchObject({
      answer: 'refused',
      why: 'not_an_approver',
    })
    expect(await runtime.decide(id, { approve: true, ...bea })).toMatchObject({
      answer: 'accepted',
      status: 'pending',
      approvals: 1,
      quorum: 2,
    })
    expect(await runtime.decide(id, { approve: true, ...bea })).toMatchObject({
      answer: 'refused',
      why: 'voted_already',
    })
    expect((await first(runtime)).approvals).toMatchObject([{ by: 'user:bea', door: 'library' }])
    expect(await runtime.decide(id, { edit: { order: 'A1', cents: 7 }, by: 'user:cem' })).toMatchObject({
      status: 'edited',
    })
    const again = await vi.waitUntil(async () => (await runtime.inbox()).find((item) => item.id !== id))
    // An edit counts as the editor's approval (Cem); Bea approved the old arguments, so Bea's vote is dropped.
    expect(again).toMatchObject({ args: { order: 'A1', cents: 7 }, approvals: [{ by: 'user:cem' }] })
    expect(ran).toEqual([])
    expect(await runtime.decide(again.id, { approve: true, by: 'boss', door: 'cli' })).toMatchObject({
      status: 'approved',
    })
    expect(await run).toMatchObject([{ status: 'success', value: { refunded: 7 } }])
    expect(ran).toHaveLength(1)
    const events = []
    for await (const event of session(runtime).events({ live: false } as never)) {
      events.push(event)
      if (event.type === 'call.settled') break
    }
    const made = events.filter((event) => event.type === 'decision.made' || event.type === 'decision.refused')
    expect(made.map(({ body }) => body)).toMatchObject([
      { by: 'user:ada', why: 'own_request' },
      { by: 'guest', why: 'not_an_approver' },
      { by: 'user:bea', decision: 'approve', votes: { have: 1, need: 2 } },
      { by: 'user:bea', why: 'voted_already' },
      { by: 'user:cem', decision: 'edit' },
      { by: 'boss', decision: 'approve', door: 'cli', votes: { have: 2, need: 2 }, fingerprint: again?.fingerprint },
    ])
  })

  test('POL-3: a remembered rule applies within its scope, condition and lifetime until revoked', async () => {
    const ran: Refund[] = []
    const runtime = await bench.open([refunding(ran)], { clock })
    const run = session(runtime).run([ask(100)])
    const remember = { when: { cents: { lte: 500 } }, for: '2h' } as const
    const decided = await runtime.decide((await first(runtime)).id, { approve: true, remember, ...bea })
    await run
    expect(decided).toMatchObject({ status: 'approved', rule: expect.any(String) })
    expect(await runtime.rules.list({ tenant: 'acme' })).toMatchObject([
      { tool: 'refund', then: 'approve', session: 'chat', votes: [{ by: 'user:bea' }], when: { cents: { lte: 500 } } },
    ])
    expect(await runtime.rules.list({ tenant: 'other' })).toEqual([])
    const again = async (cents: number, id: string, of = session(runtime)): Promise<string> => {
      const [outcome] = await of.run([ask(cents, id)], { until: 'waiting' })
      return outcome?.status ?? ''
    }
    expect(await again(500, 'c2')).toBe('success')
    expect(await again(501, 'c3')).toBe('waiting')
    expect(await again(100, 'c4', session(runtime, 'other chat'))).toBe('waiting')
    expect(await again(100, 'c5', runtime.session('chat', { tenant: 'other' }))).toBe('waiting')
    expect(
      await runtime.explain({ tool: 'refund', input: { order: 'A1', cents: 3 }, tenant: 'acme', session: 'chat' }),
    ).toMatchObject({
      would: 'run',
      remembered: { then: 'approve' },
    })
    const rule = (decided as { rule: string }).rule
    expect(await runtime.rules.revoke(rule, { tenant: 'other', ...bea })).toBe(false)
    expect(await runtime.rules.revoke(rule, { tenant: 'acme', ...bea })).toBe(true)
    expect(await runtime.rules.revoke(rule, { tenant: 'acme', ...bea })).toBe(false)
    expect(await again(100, 'c6')).toBe('waiting')
    expect(await runtime.rules.list({ tenant: 'acme' })).toEqual([])
    expect(await runtime.rules.list({ tenant: 'acme', all: true })).toMatchObject([{ revoked: { by: 'user:bea' } }])
    // A rule expires after its `for` duration.
    const [item] = await runtime.inbox({ tenant: 'acme', session: 'other chat' })
    await runtime.decide(item?.id as string, { approve: true, remember: { scope: 'principal', for: '1m' }, ...bea })
    expect(await again(100, 'c7')).toBe('success')
    await clock.advance('1m')
    expect(await again(100, 'c8')).toBe('waiting')
    // prune() also removes expired and revoked rules.
    expect(await runtime.rules.list({ tenant: 'acme', all: true })).toHaveLength(2)
    await clock.advance('2h')
    await runtime.prune({ olderThan: '1h' })
    expect(await runtime.rules.list({ tenant: 'acme', all: true })).toEqual([])
  })

  test('POL-3: a remembered denial applies; an approval never overrides deny, quorum or a new tool', async () => {
    const ran: Refund[] = []
    const runtime = await bench.open([refunding(ran)], { clock })
    const run = session(runtime).run([ask(100)])
    await runtime.decide((await first(runtime)).id, { approve: true, remember: { scope: 'tenant' }, ...bea })
    await run
    const under = async (policy: object, id: string): Promise<string> => {
      const [outcome] = await runtime
        .session('chat', { tenant: 'acme', policy })
        .run([ask(100, id)], { until: 'waiting' })
      return outcome?.status === 'failure' ? outcome.failure.code : (outcome?.status ?? '')
    }
    expect(await under({}, 'c2')).toBe('success')
    expect(await under({ rules: [{ then: 'deny' }] }, 'c3')).toBe('denied_by_policy')
    expect(await under({ rules: [{ then: 'ask', quorum: 2 }] }, 'c4')).toBe('waiting')
    runtime.tools.remove('refund')
    runtime.tools.add([refunding(ran, { description: 'Refund an order, and tell nobody' })])
    expect(await under({}, 'c5')).toBe('waiting')
    const [, item] = await runtime.inbox({ tenant: 'acme' })
    await runtime.decide(item?.id as string, { deny: true, remember: true, reason: 'never', ...bea })
    expect(await under({}, 'c6')).toBe('denied_by_person')
    expect(ran).toHaveLength(2)
  })

  test('POL-4: approvals arrive in any order and do not hold back siblings that need none', async () => {
    const ran: Refund[] = []
    const read = tool({ name: 'look', description: 'Looks', input: z.object({}), execute: () => 'seen' })
    const runtime = await bench.open([refunding(ran), read], { clock })
    const of = session(runtime)
    const calls = [ask(1, 'a'), { id: 'b', name: 'look' }, ask(2, 'c'), { id: 'd', name: 'look' }, ask(3, 'e')]
    const all = of.run(calls, { batch: 'm' })
    const open = await of.run(calls, { batch: 'm', until: 'waiting' })
    expect(open.map(({ status }) => status)).toEqual(['waiting', 'success', 'waiting', 'success', 'waiting'])
    const items = await runtime.inbox()
    expect(items.map(({ callId }) => callId).toSorted()).toEqual(['a', 'c', 'e'])
    const idOf = (callId: string): string => items.find((item) => item.callId === callId)?.id as string
    await runtime.decide(idOf('e'), { approve: true, ...bea })
    await runtime.decide(idOf('a'), { deny: true, ...bea })
    await runtime.decide(idOf('c'), { approve: true, ...bea })
    expect((await all).map(codeOf)).toEqual(['denied_by_person', 'success', 'success', 'success', 'success'])
    expect(ran.map(({ cents }) => cents).toSorted((a, b) => a - b)).toEqual([2, 3])
  })

  test('POL-4: a nested call has its own inbox item with its arguments and parent calls', async () => {
    const ran: Refund[] = []
    const desk = rerunTool(
      'desk',
      { description: 'A desk that refunds' },
      async (_, ctx) => (await ctx.run([ask(42, 'inner')]))[0]?.status,
    )
    const runtime = await bench.open([refunding(ran), desk], { clock })
    const run = session(runtime).run([{ id: 'outer', name: 'desk' }])
    const item = await first(runtime)
    expect(item).toMatchObject({ tool: 'refund', args: { cents: 42 }, under: [expect.any(String)] })
    await runtime.decide(item.id, { approve: true, ...bea })
    expect(await run).toMatchObject([{ status: 'success', value: 'success' }])
    expect(ran).toHaveLength(1)
  })

  test('POL-2: a cancel withdraws the approval request, and a late approval runs nothing', async () => {
    const ran: Refund[] = []
    const runtime = await bench.open([refunding(ran)], { clock })
    const of = session(runtime)
    const run = of.run([ask(4200)])
    const { id } = await first(runtime)
    expect(await of.cancel('never mind')).toBe(1)
    expect(await run).toMatchObject([{ status: 'cancelled', cancellation: { message: 'never mind' } }])
    expect(await runtime.inbox()).toEqual([])
    expect(await runtime.decide(id, { approve: true, ...bea })).toMatchObject({
      answer: 'already_decided',
      status: 'withdrawn',
    })
    expect(ran).toEqual([])
  })

  test('POL-1: explain() names the deciding rule and the reason, and runs nothing', async () => {
    const ran: Refund[] = []
    const rules = [
      { tool: 'refund', when: { cents: { lte: 2000 } }, then: 'allow' as const, reason: 'Small refunds are fine.' },
      {
        tool: 'refund',
        when: { cents: { gt: 2000 } },
        then: 'ask' as const,
        quorum: 2,
        reason: 'Large refunds take two.',
      },
    ]
    const runtime = await bench.open([refunding(ran)], { clock, policy: { rules } })
    const explain = (cents: unknown) => runtime.explain({ tool: 'refund', input: { order: 'A1', cents }, session: 's' })
    expect(await explain(2000)).toMatchObject({
      would: 'run',
      decision: { rule: 0, reason: 'Small refunds are fine.' },
    })
    expect(await explain(2001)).toMatchObject({
      would: 'ask',
      decision: { rule: 1, asking: { quorum: 2 } },
      why: expect.stringContaining('Rule 1'),
    })
    expect(await explain('x')).toMatchObject({ would: 'be refused', why: expect.stringContaining('cents') })
    expect(await runtime.explain({ tool: 'refnd', session: 's' })).toMatchObject({ would: 'be refused' })
    expect(ran).toEqual([])
  })

  test('POL-1: the tool’s approval function can allow, ask, or deny by throwing', async () => {
    const ran: Refund[] = []
    const approval = ({ cents }: Refund) => cents > 10
    const runtime = await bench.open([refunding(ran, { approval: approval as never })], { clock })
    const open = await session(runtime).run([ask(10, 'a'), ask(11, 'b')], { until: 'waiting' })
    expect(open.map(({ status }) => status)).toEqual(['success', 'waiting'])
    const broken = await bench.open(
      [refunding(ran, { approval: (() => Promise.reject(new Error('secret cause'))) as never })],
      { clock },
    )
    const [denied] = await session(broken, 'broken').run([ask(1)])
    expect(codeOf(denied)).toBe('denied_by_policy')
    expect(textOf(denied)).not.toContain('secret cause')
  })

  test('POL-6: the inbox shows the tool’s preview, or the default one if the preview throws', async () => {
    const ran: Refund[] = []
    const preview = ({ order, cents }: Refund) => {
      if (cents > 100) throw new Error('no preview')
      return {
        summary: `Send ${cents} cents back for ${order}`,
        details: '- paid\n+ refunded',
        format: 'diff' as const,
      }
    }
    const runtime = await bench.open([refunding(ran, { preview: preview as never })], { clock })
    await session(runtime).run([ask(5, 'a'), ask(500, 'b')], { until: 'waiting' })
    const items = (await runtime.inbox()).toSorted((a, b) => (a.callId < b.callId ? -1 : 1))
    expect(items.map((item) => item.preview)).toEqual([
      { summary: 'Send 5 cents back for A1', details: '- paid\n+ refunded', format: 'diff' },
      { summary: 'Refund an order: order "A1", cents 500.' },
    ])
  })

  test('POL-1: an unattended session refuses a call that needs approval', async () => {
    const ran: Refund[] = []
    const runtime = await bench.open([refunding(ran)], { clock })
    const [outcome] = await runtime.session('s', { attended: false }).run([ask(1)])
    expect(codeOf(outcome)).toBe('approval_required')
    expect(await runtime.inbox()).toEqual([])
  })

  test('POL-2: approval covers the arguments after prepare(), which runs again after an edit', async () => {
    const ran: unknown[] = []
    const prepared: unknown[] = []
    const pay = argumentTool(
      'pay',
      z.object({ cents: z.number(), iban: z.string().optional() }),
      {
        approval: 'always',
        prepare: ({ cents, iban }) => {
          prepared.push(cents)
          return { input: { cents, iban: iban ?? 'DE00' }, payload: { quoted: cents } }
        },
      },
      (input, ctx) => void ran.push([input, ctx.prepared]),
    )
    const runtime = await bench.open([pay], { clock })
    const run = session(runtime).run([{ id: 'p', name: 'pay', input: { cents: 5 } }])
    const item = await first(runtime)
    expect(item.args).toEqual({ cents: 5, iban: 'DE00' })
    await runtime.decide(item.id, { edit: { cents: 6, iban: 'DE99' }, ...bea })
    await run
    expect(ran).toEqual([[{ cents: 6, iban: 'DE99' }, { quoted: 6 }]])
    expect(prepared).toEqual([5, 6])
  })

  test.runIf(bench.survives)(
    'POL-4: a process without the tool can approve and deny but not edit or answer',
    async () => {
      const ran: Refund[] = []
      const runtime = await bench.open([refunding(ran)], { clock })
      const other = await bench.open([], { clock, worker: false })
      const run = session(runtime).run([ask(4200)])
      const { id } = await first(runtime)
      expect(await other.inbox()).toMatchObject([{ id, args: { cents: 4200 } }])
      await expect(other.decide(id, { edit: { order: 'A1', cents: 1 }, ...bea })).rejects.toMatchObject({
        code: 'answer_unchecked',
      })
      await expect(other.decide(id, { answer: 1, ...bea })).rejects.toMatchObject({ code: 'answer_unchecked' })
      expect(await other.decide(id, { approve: true, ...bea })).toMatchObject({ answer: 'accepted' })
      await clock.advance('1s')
      expect(await run).toMatchObject([{ status: 'success', value: { refunded: 4200 } }])
    },
  )
})
