// Known failures of other projects (issue numbers in the titles): double clicks, deciders on two workers, and a
// decision at the moment of the request.

import { expect, test, vi } from 'vitest'
import type { DecideAnswer, InboxDecision, Runtime } from 'pawl'
import { ask, bea, cem, codeOf, eventsOf, onGround, only, refunding, session, waiting } from '../kit/refund-workers.ts'

onGround('double resume and lost updates between workers', (ground) => {
  const answers = (all: readonly DecideAnswer[]): string[] => all.map(({ answer }) => answer).toSorted()

  test('POL-2 (mastra#20443): a double click on approve makes one decision and one execution', async () => {
    const runtime = await ground.open([refunding(ground.ledger)])
    const run = session(runtime).run([ask(5)], { batch: 'm' })
    const joined = session(runtime).run([ask(5)], { batch: 'm' })
    const { id } = await only(runtime)
    const clicks = await Promise.all([1, 2, 3].map(() => runtime.decide(id, { approve: true, ...bea })))
    expect(answers(clicks)).toEqual(['accepted', 'already_decided', 'already_decided'])
    expect(await run).toEqual(await joined)
    expect(ground.ledger.cents).toEqual([5])
    const types = (await eventsOf(session(runtime))).map(({ type }) => type)
    for (const once of ['decision.made', 'wait.resolved', 'call.started', 'call.settled']) expect(types.filter((type) => type === once), once).toHaveLength(1) // prettier-ignore
  })

  test('POL-2 (open-multi-agent#481, cloudflare/agents PR #1998): approve and deny race on two workers: one wins, and the other reports it', async () => {
    const workers = [await ground.open([refunding(ground.ledger)]), await ground.open([refunding(ground.ledger)])] as [
      Runtime,
      Runtime,
    ]
    const expected: number[] = []
    for (let round = 0; round < 12; round++) {
      const [asking, other] = round % 2 === 0 ? workers : ([workers[1], workers[0]] as [Runtime, Runtime])
      const run = session(asking).run([ask(round, `c${round}`)])
      const { id } = await only(asking)
      const [yes, no] = await Promise.all([
        other.decide(id, { approve: true, ...bea }),
        asking.decide(id, { deny: true, ...cem }),
        asking.decide(id, { deny: true, ...cem }),
      ])
      expect(answers([yes, no]).includes('accepted') || no.answer === 'already_decided').toBe(true)
      let code = ''
      run.then(([outcome]) => (code = codeOf(outcome))).catch(() => {})
      await vi.waitUntil(async () => {
        await ground.clock.advance('1s')
        return code
      })
      expect(code).toBe(yes.answer === 'accepted' ? 'success' : 'denied_by_person')
      if (yes.answer === 'accepted') expected.push(round)
      else expect(yes).toMatchObject({ answer: 'already_decided', status: 'denied' })
    }
    expect(ground.ledger.cents).toEqual(expected)
  })

  test('FEED-1, POL-4 (mastra#22413): an approval sent on the wait.opened event is accepted and runs once', async () => {
    const runtime = await ground.open([refunding(ground.ledger)])
    const of = session(runtime)
    const run = of.run([ask(5)])
    for await (const event of of.events()) {
      if (event.type !== 'wait.opened') continue
      const { wait } = event.body as { wait: string }
      expect(await runtime.decide(wait, { approve: true, ...bea })).toMatchObject({ answer: 'accepted' })
      break
    }
    expect((await run).map(codeOf)).toEqual(['success'])
    expect(ground.ledger.cents).toEqual([5])
  })

  test('POL-4 (mastra#22413): a call with large arguments waits and runs, with a short preview', async () => {
    const runtime = await ground.open([refunding(ground.ledger)])
    const order = 'x'.repeat(900_000)
    const run = session(runtime).run([{ id: 'c', name: 'refund', input: { order, cents: 1 } }])
    const { id, preview } = await only(runtime)
    expect(preview.summary.length).toBeLessThan(600)
    await runtime.decide(id, { approve: true, ...bea })
    expect((await run).map(codeOf)).toEqual(['success'])
    expect(ground.ledger.refunds[0]?.order).toHaveLength(900_000)
  })

  test('POL-3 (OR PR #90, xum PR #3431): concurrent votes on two workers are all counted, each person once', async () => {
    const policy = { rules: [{ tool: 'refund', then: 'ask' as const, quorum: 5 }] }
    const first = await ground.open([refunding(ground.ledger)], { policy })
    const second = await ground.open([refunding(ground.ledger)], { policy })
    const run = session(first).run([ask(5)])
    const { id } = await only(first)
    const people = ['a', 'b', 'c', 'd', 'a', 'b', 'c', 'd'].map((name) => ({ by: `user:${name}` }))
    const vote = (by: object, order: number) =>
      (order % 2 === 0 ? first : second).decide(id, { approve: true, ...by } as InboxDecision)
    const said = await Promise.all(people.map(vote))
    expect(answers(said)).toEqual([...Array<string>(4).fill('accepted'), ...Array<string>(4).fill('refused')])
    expect((await waiting(first))[0]?.approvals.map(({ by }) => by).toSorted()).toEqual([
      'user:a',
      'user:b',
      'user:c',
      'user:d',
    ])
    expect(ground.ledger.cents).toEqual([])
    await first.decide(id, { approve: true, by: 'user:e' })
    expect((await run).map(codeOf)).toEqual(['success'])
    expect(ground.ledger.cents).toEqual([5])
  })

  test('DUR-7, POL-2 (open-multi-agent PR #587): an approved call whose worker died in it is not run again', async () => {
    let begun = (): void => {}
    const started = new Promise<void>((resolve) => (begun = resolve))
    const first = await ground.doomed([refunding(ground.ledger, { timeout: '1h' })], {
      hooks: [{ name: 'begun', after: () => (begun(), new Promise(() => {})) } as never],
    })
    session(first.runtime).run([ask(5)]).catch(() => {}) // prettier-ignore
    await first.runtime.decide((await only(first.runtime)).id, { approve: true, ...bea })
    await started
    first.die()
    const next = await ground.open([refunding(ground.ledger)])
    await ground.clock.advance('31s')
    // The refund happened once. Its outcome is unknown and the approval is used up.
    expect((await session(next).run([ask(5)])).map(codeOf)).toEqual(['unknown'])
    expect(ground.ledger.cents).toEqual([5])
    expect(await next.inbox()).toEqual([])
  })
})
