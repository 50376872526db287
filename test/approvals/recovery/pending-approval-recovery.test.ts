// Pain 3 of reference/peers.md: an approval that waits is forgotten with the process, or is there and nobody can find it.

import { expect, test } from 'vitest'
import { z } from 'zod'
import { tool } from 'pawl'
import { ask, bea, codeOf, eventsOf, onGround, only, refunding, session, unheard, waiting } from '../../kit/refund-workers.ts'

onGround('pain 3: approvals lost or undiscoverable after restart', (ground) => {
  test('POL-4 (mastra#10389, claude-agent-sdk-python#304): killed while it waits, found as it was, and run once when it is approved', async () => {
    const first = await ground.doomed([refunding(ground.ledger)])
    unheard(session(first.runtime).run([ask(4200)], { batch: 'm1' }))
    const before = await only(first.runtime)
    first.die()
    const next = await ground.open([refunding(ground.ledger)])
    const after = await only(next)
    expect(after).toEqual(before)
    expect(await next.decide(after.id, { approve: true, ...bea })).toMatchObject({ answer: 'accepted', status: 'approved' })
    expect(await session(next).run([ask(4200)], { batch: 'm1' })).toMatchObject([
      { status: 'success', value: { refunded: 4200 }, attempts: 1 },
    ])
    expect(ground.ledger.cents).toEqual([4200])
  })

  test('POL-4 (copilot-sdk#1003): the id is of the record, not of a process: shown by one, decided by another, after both are gone', async () => {
    const asking = await ground.doomed([refunding(ground.ledger)])
    unheard(session(asking.runtime).run([ask(1)]))
    const { id } = await only(asking.runtime)
    asking.die()
    // A door without a worker: it decides, and nothing runs there.
    const door = await ground.doomed([refunding(ground.ledger)], { worker: false })
    expect(await door.runtime.decide(id, { approve: true, door: 'http', ...bea })).toMatchObject({ answer: 'accepted' })
    door.die()
    expect(ground.ledger.cents).toEqual([])
    const worker = await ground.open([refunding(ground.ledger)])
    expect(await session(worker).run([ask(1)])).toMatchObject([{ status: 'success' }])
    expect(ground.ledger.cents).toEqual([1])
  })

  test('POL-6 (mastra PR #17898, #6000): what waits is listed after a restart by tenant, session, kind and page, with what would run', async () => {
    const first = await ground.doomed([refunding(ground.ledger)])
    for (const [order, id] of ['a', 'b', 'c'].entries()) unheard(session(first.runtime, id).run([ask(order, 'x'), ask(order + 10, 'y')]))
    unheard(first.runtime.session('a', { tenant: 'other' }).run([ask(99)]))
    await waiting(first.runtime, 7)
    first.die()
    const next = await ground.open([refunding(ground.ledger)])
    const all = await next.inbox()
    expect(all).toHaveLength(7)
    for (const { args, preview, effect, verbs } of all) {
      expect(preview.summary).toContain(`cents ${(args as { cents: number }).cents}`)
      expect(effect).toContain('destroy')
      expect(verbs).toContain('approve')
    }
    expect(await next.inbox({ tenant: 'other' })).toHaveLength(1)
    expect(await next.inbox({ tenant: 'acme', session: 'b' })).toMatchObject([{ session: 'b' }, { session: 'b' }])
    expect(await next.inbox({ kind: 'question' })).toEqual([])
    const pages = [await next.inbox({ limit: 4 }), await next.inbox({ limit: 4, after: all[3]?.id as string })]
    expect(pages.flat().map(({ id }) => id)).toEqual(all.map(({ id }) => id))
    // A worker that died before it had let go of a call is believed to be alive for a lease.
    await ground.clock.advance('31s')
    // And where the call is asked for again, it says so itself.
    expect(await session(next, 'b').run([ask(1, 'x')], { until: 'waiting' })).toMatchObject([{ status: 'waiting', for: 'approval' }])
  })

  test('POL-2 (mastra PR #19307): approved, and killed before it ran: it runs once and nobody is asked again', async () => {
    const first = await ground.doomed([refunding(ground.ledger)], { worker: false })
    const worker = await ground.doomed([refunding(ground.ledger)])
    unheard(session(worker.runtime).run([ask(5)]))
    const { id } = await only(worker.runtime)
    worker.die()
    expect(await first.runtime.decide(id, { approve: true, ...bea })).toMatchObject({ status: 'approved' })
    first.die()
    const next = await ground.open([refunding(ground.ledger)])
    expect(await session(next).run([ask(5)])).toMatchObject([{ status: 'success' }])
    expect(ground.ledger.cents).toEqual([5])
    expect(await next.inbox()).toEqual([])
    const made = (await eventsOf(session(next))).filter(({ type }) => type === 'decision.made' || type === 'wait.opened')
    expect(made.map(({ type }) => type)).toEqual(['wait.opened', 'decision.made'])
  })

  test('POL-4 (mastra#20213): the approval of a nested call outlives the worker too, and the call above goes on with it', async () => {
    const desk = tool({
      name: 'desk',
      description: 'A desk that refunds',
      input: z.object({}),
      onCrash: 'rerun',
      execute: async (_, ctx) => (await ctx.run([ask(42, 'inner')]))[0]?.status,
    })
    const tools = () => [refunding(ground.ledger), desk]
    const first = await ground.doomed(tools())
    unheard(session(first.runtime).run([{ id: 'outer', name: 'desk' }]))
    const { id, under } = await only(first.runtime)
    expect(under).toHaveLength(1)
    first.die()
    const next = await ground.open(tools())
    await ground.clock.advance('31s')
    const run = session(next).run([{ id: 'outer', name: 'desk' }])
    expect((await only(next)).id).toBe(id)
    await next.decide(id, { approve: true, ...bea })
    expect(await run).toMatchObject([{ status: 'success', value: 'success' }])
    expect(ground.ledger.cents).toEqual([42])
  })

  test('POL-3 (mastra#20496): the time to decide goes on while nobody runs: what was forgotten ends as no', async () => {
    const first = await ground.doomed([refunding(ground.ledger)])
    unheard(session(first.runtime).run([ask(7)]))
    const { id } = await only(first.runtime)
    first.die()
    await ground.clock.advance('16m')
    const next = await ground.open([refunding(ground.ledger)])
    expect(await next.decide(id, { approve: true, ...bea })).toMatchObject({ answer: 'already_decided', status: 'expired' })
    expect((await session(next).run([ask(7)])).map(codeOf)).toEqual(['approval_expired'])
    expect(ground.ledger.cents).toEqual([])
  })

  test('POL-4 (claude-agent-sdk-python#96): silence of a worker is not silence of people: leases end while it waits, and nothing runs', async () => {
    const first = await ground.open([refunding(ground.ledger)])
    const second = await ground.open([refunding(ground.ledger)])
    const run = session(first).run([ask(8)])
    const { id } = await only(first)
    for (let lease = 0; lease < 5; lease++) await ground.clock.advance('1m')
    expect(ground.ledger.cents).toEqual([])
    expect(await second.inbox()).toMatchObject([{ id }])
    await second.decide(id, { deny: true, ...bea })
    await ground.clock.advance('1s')
    expect((await run).map(codeOf)).toEqual(['denied_by_person'])
    expect(ground.ledger.cents).toEqual([])
  })
})
