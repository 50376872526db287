// Known failures of other projects (issue numbers in the titles): with several pending calls, an answer reaches the
// wrong call, all calls, or none.

import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { type InboxDecision } from 'pawl'
import { ask, bea, cem, codeOf, onGround, refunding, session, textOf, unheard, waiting } from '../kit/refund-workers.ts'
import { argumentTool } from '../kit/simple-tools.ts'

onGround('several pending calls at once', (ground) => {
  const look = argumentTool('look', z.object({}), { hints: { readOnly: true } }, () => 'seen')

  test('POL-4 (langgraph#6626, #6624, mastra#16468): equal calls of one message get separate items with distinct ids', async () => {
    const runtime = await ground.open([refunding(ground.ledger)])
    const calls = [ask(5, 'same'), ask(5, 'same'), ask(5, 'same'), ask(5, 'other')]
    const run = session(runtime).run(calls, { batch: 'm' })
    const items = await waiting(runtime, 4)
    expect(new Set(items.map(({ id }) => id)).size).toBe(4)
    expect(new Set(items.map(({ fingerprint }) => fingerprint)).size).toBe(4)
    await runtime.decide(items[2]?.id as string, { approve: true, ...bea })
    for (const index of [0, 1, 3]) await runtime.decide(items[index]?.id as string, { deny: true, ...bea })
    expect((await run).map(codeOf).toSorted()).toEqual([
      'denied_by_person',
      'denied_by_person',
      'denied_by_person',
      'success',
    ])
    expect(ground.ledger.cents).toEqual([5])
  })

  test('POL-4 (mastra#16468, #20322, #20443): concurrent decisions by two processes on two calls are accepted once per call', async () => {
    const first = await ground.open([refunding(ground.ledger)])
    const second = await ground.open([refunding(ground.ledger)])
    const run = session(first).run([ask(1, 'a'), ask(2, 'b')], { batch: 'm' })
    const items = await waiting(first, 2)
    const idOf = (callId: string): string => items.find((item) => item.callId === callId)?.id as string
    const answers = await Promise.all([
      second.decide(idOf('b'), { approve: true, ...bea }),
      first.decide(idOf('b'), { deny: true, ...cem }),
      first.decide(idOf('a'), { deny: true, ...cem }),
      second.decide(idOf('a'), { approve: true, ...bea }),
    ])
    expect(answers.filter(({ answer }) => answer === 'accepted')).toHaveLength(2)
    expect(answers.filter(({ answer }) => answer === 'already_decided')).toHaveLength(2)
    for (let second = 0; second < 5; second++) await ground.clock.advance('1s')
    const outcomes = await run
    const approved = answers.flatMap((each, order) =>
      each.answer === 'accepted' && each.status === 'approved' ? [order === 0 ? 2 : 1] : [],
    )
    expect(outcomes.map(codeOf)).toEqual(
      [1, 2].map((cents) => (approved.includes(cents) ? 'success' : 'denied_by_person')),
    )
    expect(ground.ledger.cents).toEqual(approved.toSorted((a, b) => a - b))
  })

  test('POL-3, POL-4 (langgraph#6533, mastra PR #19435): each decision applies to its own call, across a restart', async () => {
    const tools = () => [refunding(ground.ledger), look]
    const calls = [
      ask(1, 'approve'),
      ask(2, 'deny'),
      ask(3, 'edit'),
      ask(4, 'answer'),
      ask(5, 'silence'),
      { id: 'look', name: 'look' },
    ]
    const first = await ground.doomed(tools())
    unheard(session(first.runtime).run(calls, { batch: 'm' }))
    const items = await waiting(first.runtime, 5)
    const say = (runtime: typeof first.runtime, callId: string, word: object) =>
      runtime.decide(items.find((item) => item.callId === callId)?.id as string, { ...word, ...bea } as InboxDecision)
    expect(await say(first.runtime, 'edit', { edit: { order: 'A1', cents: 33 } })).toMatchObject({ status: 'edited' })
    expect(await say(first.runtime, 'deny', { deny: true, reason: 'two' })).toMatchObject({ status: 'denied' })
    first.die()
    const next = await ground.open(tools())
    await ground.clock.advance('31s')
    expect(await say(next, 'answer', { answer: { refunded: 'by hand' } })).toMatchObject({ status: 'answered' })
    expect(await say(next, 'approve', { approve: true })).toMatchObject({ status: 'approved' })
    await ground.clock.advance('15m')
    const outcomes = await session(next).run(calls, { batch: 'm' })
    expect(outcomes.map(codeOf)).toEqual([
      'success',
      'denied_by_person',
      'success',
      'success',
      'approval_expired',
      'success',
    ])
    expect(outcomes.map(({ callId }) => callId)).toEqual(calls.map(({ id }) => id))
    expect(textOf(outcomes[1])).toContain('two')
    expect(outcomes[2]).toMatchObject({ value: { refunded: 33 } })
    expect(outcomes[3]).toMatchObject({ value: { refunded: 'by hand' } })
    expect(ground.ledger.cents).toEqual([1, 33])
  })

  test('POL-4 (langchainjs#11125, PR #11437, #10176, PR #11391): one denial does not affect sibling calls, and every call has a result', async () => {
    const runtime = await ground.open([refunding(ground.ledger), look])
    const calls = [ask(1, 'a'), { id: 'l1', name: 'look' }, ask(2, 'b'), { id: 'l2', name: 'look' }]
    const run = session(runtime).run(calls, { batch: 'm' })
    const items = await waiting(runtime, 2)
    expect((await session(runtime).run(calls, { batch: 'm', until: 'waiting' })).map(codeOf)).toEqual([
      'waiting',
      'success',
      'waiting',
      'success',
    ])
    await runtime.decide(items.find(({ callId }) => callId === 'a')?.id as string, { deny: true, ...bea })
    await runtime.decide(items.find(({ callId }) => callId === 'b')?.id as string, { approve: true, ...bea })
    expect((await run).map(codeOf)).toEqual(['denied_by_person', 'success', 'success', 'success'])
    // The session continues: the next message runs.
    expect((await session(runtime).run([{ id: 'l1', name: 'look' }], { batch: 'm2' })).map(codeOf)).toEqual(['success'])
    expect(ground.ledger.cents).toEqual([2])
  })

  test.for([false, 0, '', null, [], {}])(
    'POL-3 (mastra PR #21319): decide() accepts the falsy or empty value %j as an answer',
    async (answer) => {
      const runtime = await ground.open([refunding(ground.ledger)])
      const run = session(runtime).run([ask(1, 'a'), ask(2, 'b')])
      const items = await waiting(runtime, 2)
      const a = items.find(({ callId }) => callId === 'a')?.id as string
      expect(await runtime.decide(a, { answer, ...bea })).toMatchObject({ answer: 'accepted', status: 'answered' })
      expect(await runtime.inbox()).toMatchObject([{ callId: 'b' }])
      await runtime.decide((await waiting(runtime))[0]?.id as string, { deny: true, ...bea })
      expect(await run).toMatchObject([{ status: 'success', value: answer }, { status: 'failure' }])
      expect(ground.ledger.refunds).toEqual([])
    },
  )

  test('POL-5 (langgraph#6533): concurrent questions from several bodies get their own answers', async () => {
    const color = argumentTool(
      'color',
      z.object({ of: z.string() }),
      { hints: { readOnly: true }, onCrash: 'rerun' },
      async ({ of }, ctx) => ({ of, got: (await (await ctx.ask({ text: `Which color for ${of}?` })).value).answer }),
    )
    const runtime = await ground.open([color])
    const names = ['door', 'wall', 'roof', 'floor']
    const run = session(runtime).run(names.map((of) => ({ id: of, name: 'color', input: { of } })))
    const items = await waiting(runtime, 4)
    for (const { id, callId } of items.toReversed()) await runtime.decide(id, { answer: `${callId} color`, ...bea })
    expect((await run).map((each) => each.status === 'success' && each.value)).toEqual(
      names.map((of) => ({ of, got: `${of} color` })),
    )
  })

  test('POL-4 (mastra#9288, #6418, openai-agents-js#1435, MCPJam PR #3436): two workers decide forty pending calls in random order', async () => {
    const first = await ground.open([refunding(ground.ledger)])
    const second = await ground.open([refunding(ground.ledger)])
    const calls = Array.from({ length: 40 }, (_, order) => ask(order, `c${order}`))
    const run = session(first).run(calls, { batch: 'm' })
    const items = await waiting(first, 40)
    const mixed = items.toSorted((a, b) => (a.fingerprint < b.fingerprint ? -1 : 1))
    await Promise.all(
      mixed.map(({ id, args }, order) => {
        const even = (args as { cents: number }).cents % 2 === 0
        return (order % 3 === 0 ? second : first).decide(id, even ? { approve: true, ...bea } : { deny: true, ...bea })
      }),
    )
    await vi.waitUntil(async () => {
      await ground.clock.advance('1s')
      return (await session(first).calls.list({ status: 'settled' })).length === 40
    })
    expect((await run).map(codeOf)).toEqual(calls.map((_, order) => (order % 2 === 0 ? 'success' : 'denied_by_person')))
    expect(ground.ledger.cents).toEqual(calls.flatMap((_, order) => (order % 2 === 0 ? [order] : [])))
  })
})
