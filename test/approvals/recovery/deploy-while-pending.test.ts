// Known failures of other projects (issue numbers in the titles): a deploy while approvals are pending. No pending call
// is lost, and none runs as a tool definition that its approver has not seen.

import { expect, test } from 'vitest'
import { type InboxItem, type Runtime, type RuntimeOptions, type Tool } from 'pawl'
import {
  ask,
  askedAgain,
  bea,
  cem,
  codeOf,
  onGround,
  only,
  refunding,
  session,
  unheard,
} from '../../kit/refund-workers.ts'
import { rerunTool } from '../../kit/simple-tools.ts'

onGround('deploys break paused work', (ground) => {
  /** Makes a call with one tool and continues on a runtime with other tools. */
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

  test('POL-4 (moira#202, druks PR #632): a new title or timeout does not need a new approval', async () => {
    const { next, item, run } = await deployed([
      refunding(ground.ledger, { title: 'Refund!', timeout: '5s', examples: [] }),
    ])
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
    'POL-2: %s: a changed definition asks again and runs once approved',
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

  test('POL-2, POL-3: an edit made for the old tool asks again, with the edited arguments', async () => {
    const { next, item, run } = await deployed([refunding(ground.ledger, { description: 'Refund an order, twice' })])
    expect(await next.decide(item.id, { edit: { order: 'A1', cents: 3 }, ...bea })).toMatchObject({ status: 'edited' })
    const again = await askedAgain(next, item)
    expect(again).toMatchObject({ args: { order: 'A1', cents: 3 }, approvals: [] })
    expect(ground.ledger.cents).toEqual([])
    await next.decide(again.id, { approve: true, ...bea })
    expect((await run()).map(codeOf)).toEqual(['success'])
    expect(ground.ledger.cents).toEqual([3])
  })

  test('CALL-7 (agno PR #9014): a new version without an upgrade fails with tool_changed', async () => {
    const { next, item, run } = await deployed([refunding(ground.ledger, { version: '2' })])
    await next.decide(item.id, { approve: true, ...bea })
    expect((await run()).map(codeOf)).toEqual(['tool_changed'])
    expect(ground.ledger.cents).toEqual([])
  })

  test('CALL-7, POL-2: an upgrade asks again with the upgraded arguments', async () => {
    const upgrade = ({ args }: { args: unknown }) => ({
      ...(args as object),
      cents: (args as { cents: number }).cents * 100,
    })
    const { next, item, run } = await deployed([refunding(ground.ledger, { version: '2', upgrade })])
    await next.decide(item.id, { approve: true, ...bea })
    const again = await askedAgain(next, item)
    expect(again.args).toEqual({ order: 'A1', cents: 500 })
    expect(ground.ledger.cents).toEqual([])
    await next.decide(again.id, { approve: true, ...bea })
    expect((await run()).map(codeOf)).toEqual(['success'])
    expect(ground.ledger.cents).toEqual([500])
  })

  test('CALL-7 (durably#95): a deploy without the tool keeps the pending call until a worker has the tool', async () => {
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

  test('POL-2: the new deploy’s policy can deny an approved call', async () => {
    const options = { policy: { rules: [{ tool: 'refund', then: 'deny' as const }] } }
    const { next, item, run } = await deployed([refunding(ground.ledger)], { options })
    await next.decide(item.id, { approve: true, ...bea })
    expect((await run()).map(codeOf)).toEqual(['denied_by_policy'])
    expect(ground.ledger.cents).toEqual([])
  })

  test('POL-3: the new policy can need more approvers; the given approval still counts', async () => {
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

  test('POL-2 (agenticos PR #274): the new policy can require approval by other people', async () => {
    const options = { policy: { rules: [{ tool: 'refund', then: 'ask' as const, approvers: 'boss:*' }] } }
    const { next, item, run } = await deployed([refunding(ground.ledger)], { options })
    await next.decide(item.id, { approve: true, ...bea })
    const again = await askedAgain(next, item)
    expect(await next.decide(again.id, { approve: true, ...bea })).toMatchObject({
      answer: 'refused',
      why: 'not_an_approver',
    })
    expect(ground.ledger.cents).toEqual([])
    await next.decide(again.id, { approve: true, by: 'boss:dee' })
    expect((await run()).map(codeOf)).toEqual(['success'])
  })

  test('POL-4: after a deploy a body resumes its nested approval without repeating steps', async () => {
    const did: string[] = []
    const desk = (name: string): Tool =>
      rerunTool('desk', async (_, ctx) => {
        await ctx.step('look', () => void did.push(`${name} looked`))
        const [outcome] = await ctx.run([ask(7, 'inner')])
        return `${name} ${outcome?.status}`
      })
    const old = await ground.doomed([refunding(ground.ledger), desk('old')])
    unheard(session(old.runtime).run([{ id: 'd', name: 'desk' }]))
    const { id } = await only(old.runtime)
    old.die()
    const next = await ground.open([refunding(ground.ledger), desk('new')])
    await ground.clock.advance('31s')
    await next.decide(id, { approve: true, ...bea })
    expect(await session(next).run([{ id: 'd', name: 'desk' }])).toMatchObject([
      { status: 'success', value: 'new success' },
    ])
    expect(did).toEqual(['old looked'])
    expect(ground.ledger.cents).toEqual([7])
  })
})
