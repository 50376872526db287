import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Change } from '../../src/store/store.ts'
import { ada, bea, hang, parks, worldOn } from '../kit/approval-workers.ts'
import { argumentTool } from '../kit/simple-tools.ts'

describe.each(['memory', 'sqlite'] as const)('withdrawn approval requests on %s', (kind) => {
  const world = worldOn(kind)
  const ran: number[] = []
  const refund = argumentTool('refund', z.object({ cents: z.number() }), { onCrash: 'rerun' }, ({ cents }) => {
    ran.push(cents)
    return hang()
  })
  const asking = (quorum: number) => ({ policy: { rules: [{ tool: 'refund', then: 'ask' as const, quorum }] } })

  test('POL-2: a call that needs no further approval withdraws its open request before it runs', async () => {
    ran.length = 0
    let parked = 0
    // The worker dies after it opened a request for the edited arguments and before the call parks again.
    const secondPark = (change: Change): boolean => parks(change) && ++parked === 2
    const { runtime } = await world.doomed([refund], asking(2), secondPark)
    void runtime.session('s', ada).run([{ id: 'a', name: 'refund', input: { cents: 100 } }])
    const { id } = await world.item(runtime)
    expect(await runtime.decide(id, { edit: { cents: 7 }, ...bea })).toMatchObject({ status: 'edited' })
    await world.clock.advance(10)
    expect(parked).toBe(2)
    // The open request has the editor's vote and needs one more.
    const door = await world.start([refund], { ...asking(2), worker: false })
    const [open] = await door.inbox()
    expect(open).toMatchObject({ args: { cents: 7 }, approvals: [bea], quorum: 2 })
    expect(ran).toEqual([])
    // After the deploy one vote is enough, and the edit counts as one.
    const next = await world.takeOver([refund], asking(1))
    expect(ran).toEqual([7])
    expect(await next.inbox()).toEqual([])
    expect(await next.decide(open?.id ?? '', { deny: true, by: 'user:cem' })).not.toMatchObject({ answer: 'accepted' })
  })
})
