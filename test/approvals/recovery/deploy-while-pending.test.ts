// Pain 25 of reference/peers.md, where approvals wait: a deploy comes while calls are paused. None of them is killed by it, and none of them
// runs as something that nobody has seen.

import { expect, test } from 'vitest'
import { z } from 'zod'
import { type InboxItem, type Runtime, type RuntimeOptions, type Tool, tool } from 'pawl'
import { ask, askedAgain, bea, cem, codeOf, onGround, only, refunding, session, unheard } from '../../kit/refund-workers.ts'

onGround('pain 25: deploys break paused work', (ground) => {
  /** Asks with one tool, and goes on with another runtime. */
  const deployed = async (
    after: readonly Tool[],
    { before = refunding(ground.ledger), options = {} }: { before?: Tool; options?: Partial<RuntimeOptions> } = {},
  ): Promise<{ next: Runtime; item: InboxItem; run: () => ReturnType<ReturnType<typeof session>['run']> }> => {
    const old = await ground.doomed([before])
    unheard(session(old.runtime).run([ask(5)], { batch: 'm' }))
    const item = await only(old.runtime)
    old.die()
    const next = await ground.open(after, options)
    await ground.clock.advance('31s')
    return { next, item, run: () => session(next).run([ask(5)], { batch: 'm' }) }
  }

  test('POL-4 (moira#202, druks PR #632): what the model is not told may change: another body, title or timeout, and it runs without asking again', async () => {
    const { next, item, run } = await deployed([refunding(ground.ledger, { title: 'Refund!', timeout: '5s', examples: [] })])
    await next.decide(item.id, { approve: true, ...bea })
    expect((await run()).map(codeOf)).toEqual(['success'])
    expect(await next.inbox()).toEqual([])
    expect(ground.ledger.cents).toEqual([5])
  })

  const changes: Record<string, Parameters<typeof refunding>[1]> = {
    'other words': { description: 'Refund an order, and tell nobody' },
    'other hints': { hints: { destructive: true, openWorld: true } },
  }
  test.for(Object.entries(changes))(
    'POL-2: %s: the approval of the old tool is not one of the new: asked again, and run once it is given',
    async ([, more]) => {
      const { next, item, run } = await deployed([refunding(ground.ledger, more)])
      expect(await next.decide(item.id, { approve: true, ...bea })).toMatchObject({ answer: 'accepted' })
      const again = await askedAgain(next, item)
      expect(again.fingerprint).not.toBe(item.fingerprint)
      expect(ground.ledger.cents).toEqual([])
      await next.decide(again.id, { approve: true, ...bea })
      expect((await run()).map(codeOf)).toEqual(['success'])
      expect(ground.ledger.cents).toEqual([5])
    },
  )

  test('POL-2, POL-3: nor are arguments that a person wrote for the old tool an approval of the new: asked again, with what they wrote', async () => {
    const { next, item, run } = await deployed([refunding(ground.ledger, { description: 'Refund an order, twice' })])
    expect(await next.decide(item.id, { edit: { order: 'A1', cents: 3 }, ...bea })).toMatchObject({ status: 'edited' })
    const again = await askedAgain(next, item)
    expect(again).toMatchObject({ args: { order: 'A1', cents: 3 }, approvals: [] })
    expect(ground.ledger.cents).toEqual([])
    await next.decide(again.id, { approve: true, ...bea })
    expect((await run()).map(codeOf)).toEqual(['success'])
    expect(ground.ledger.cents).toEqual([3])
  })

  test('CALL-7 (agno PR #9014): another version without an upgrade stops, and says so', async () => {
    const { next, item, run } = await deployed([refunding(ground.ledger, { version: '2' })])
    await next.decide(item.id, { approve: true, ...bea })
    expect((await run()).map(codeOf)).toEqual(['tool_changed'])
    expect(ground.ledger.cents).toEqual([])
  })

  test('CALL-7, POL-2: with an upgrade the person is asked about what it has become', async () => {
    const upgrade = ({ args }: { args: unknown }) => ({ ...(args as object), cents: (args as { cents: number }).cents * 100 })
    const { next, item, run } = await deployed([refunding(ground.ledger, { version: '2', upgrade })])
    await next.decide(item.id, { approve: true, ...bea })
    const again = await askedAgain(next, item)
    expect(again.args).toEqual({ order: 'A1', cents: 500 })
    expect(ground.ledger.cents).toEqual([])
    await next.decide(again.id, { approve: true, ...bea })
    expect((await run()).map(codeOf)).toEqual(['success'])
    expect(ground.ledger.cents).toEqual([500])
  })

  test('CALL-7 (durably#95): a deploy without the tool keeps what waits: it is listed, decided, and runs where the tool is', async () => {
    const { next, item } = await deployed([])
    expect(await next.inbox()).toMatchObject([{ id: item.id, tool: 'refund' }])
    expect(await next.decide(item.id, { approve: true, ...bea })).toMatchObject({ answer: 'accepted' })
    await ground.clock.advance('1m')
    expect(ground.ledger.cents).toEqual([])
    const later = await ground.open([refunding(ground.ledger)])
    await ground.clock.advance('1s')
    expect((await session(later).run([ask(5)], { batch: 'm' })).map(codeOf)).toEqual(['success'])
    expect(ground.ledger.cents).toEqual([5])
  })

  test('POL-2: the policy of the new deploy has the last word: it may deny what was approved', async () => {
    const options = { policy: { rules: [{ tool: 'refund', then: 'deny' as const }] } }
    const { next, item, run } = await deployed([refunding(ground.ledger)], { options })
    await next.decide(item.id, { approve: true, ...bea })
    expect((await run()).map(codeOf)).toEqual(['denied_by_policy'])
    expect(ground.ledger.cents).toEqual([])
  })

  test('POL-3: or want more people: the approval that was given counts, and one is not enough', async () => {
    const options = { policy: { rules: [{ tool: 'refund', then: 'ask' as const, quorum: 2 }] } }
    const { next, item, run } = await deployed([refunding(ground.ledger)], { options })
    await next.decide(item.id, { approve: true, ...bea })
    const again = await askedAgain(next, item)
    expect(again).toMatchObject({ quorum: 2, approvals: [bea] })
    expect(await next.decide(again.id, { approve: true, ...bea })).toMatchObject({ why: 'voted_already' })
    expect(ground.ledger.cents).toEqual([])
    await next.decide(again.id, { approve: true, ...cem })
    expect((await run()).map(codeOf)).toEqual(['success'])
    expect(ground.ledger.cents).toEqual([5])
  })

  test('POL-2 (agenticos PR #274): or want other people: who approved under the old rules is not enough', async () => {
    const options = { policy: { rules: [{ tool: 'refund', then: 'ask' as const, approvers: 'boss:*' }] } }
    const { next, item, run } = await deployed([refunding(ground.ledger)], { options })
    await next.decide(item.id, { approve: true, ...bea })
    const again = await askedAgain(next, item)
    expect(await next.decide(again.id, { approve: true, ...bea })).toMatchObject({ answer: 'refused', why: 'not_an_approver' })
    expect(ground.ledger.cents).toEqual([])
    await next.decide(again.id, { approve: true, by: 'boss:dee' })
    expect((await run()).map(codeOf)).toEqual(['success'])
  })

  test('POL-4: a body that waits for a nested approval finds it after the deploy, and its steps are not done again', async () => {
    const did: string[] = []
    const desk = (name: string): Tool =>
      tool({
        name: 'desk',
        description: 'A desk',
        input: z.object({}),
        onCrash: 'rerun',
        async execute(_, ctx) {
          await ctx.step('look', () => void did.push(`${name} looked`))
          const [outcome] = await ctx.run([ask(7, 'inner')])
          return `${name} ${outcome?.status}`
        },
      })
    const old = await ground.doomed([refunding(ground.ledger), desk('old')])
    unheard(session(old.runtime).run([{ id: 'd', name: 'desk' }]))
    const { id } = await only(old.runtime)
    old.die()
    const next = await ground.open([refunding(ground.ledger), desk('new')])
    await ground.clock.advance('31s')
    await next.decide(id, { approve: true, ...bea })
    expect(await session(next).run([{ id: 'd', name: 'desk' }])).toMatchObject([{ status: 'success', value: 'new success' }])
    expect(did).toEqual(['old looked'])
    expect(ground.ledger.cents).toEqual([7])
  })
})
