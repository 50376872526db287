// Decisions at the wrong moment: late, repeated, after a cancel, or after the policy became stricter.

import { expect } from 'vitest'
import type { Attack, Door, Over, Setting } from './attack-interface.ts'
import { ask, no, only, pending, ran, refund, until, waiting, yes } from './attack-interface.ts'

const minutes15 = 15 * 60_000
const start = (door: Door, more: Partial<Setting> = {}): Promise<void> => door.start({ tools: [refund(door)], ...more })
const asking = (terms: object) => ({ policy: { rules: [{ tool: 'refund', then: 'ask' as const, ...terms }] } })

/** One person approves while no worker runs; then a worker starts with another policy. */
async function approvedThen(door: Door, more: Partial<Setting>, by = 'user:bea'): Promise<string> {
  await start(door)
  const { id } = await waiting(door, ask(), { principal: 'user:ada' })
  await door.rest({ tools: [refund(door)] })
  expect(await door.decide(id, yes(by))).toMatchObject({ answer: 'accepted', status: 'approved' })
  await start(door, more)
  return door.ask(ask(), { principal: 'user:ada' })
}

export const moments: readonly Attack[] = [
  {
    name: 'POL-2: approved again by the same and by another person',
    may: [ran(4200)],
    async run(door) {
      const { id } = await pending(door)
      await door.decide(id, yes())
      for (const by of ['user:bea', 'user:eve'])
        expect(await door.decide(id, yes(by))).toMatchObject({
          answer: 'already_decided',
          status: 'approved',
          by: [{ by: 'user:bea' }],
        })
      expect(await door.ask(ask())).toBe('success')
      expect(await door.decide(id, yes())).toMatchObject({ answer: 'already_decided' })
      expect(await door.ask(ask())).toBe('success')
    },
  },
  {
    name: 'POL-3: approved exactly at expiry, before any timer has fired',
    async run(door) {
      const { id } = await pending(door)
      await door.rest({ tools: [refund(door)] })
      await door.advance(minutes15)
      expect(await door.decide(id, yes())).toMatchObject({ answer: 'already_decided', status: 'expired', by: [] })
      await start(door)
      expect(await door.ask(ask())).toBe('approval_expired')
    },
  },
  {
    name: 'POL-3: approved 1 ms before expiry: it runs once, and a later denial has no effect',
    may: [ran(4200)],
    async run(door) {
      const { id } = await pending(door)
      await door.rest({ tools: [refund(door)] })
      await door.advance(minutes15 - 1)
      expect(await door.decide(id, yes())).toMatchObject({ answer: 'accepted' })
      await door.advance(1)
      expect(await door.decide(id, no())).toMatchObject({ answer: 'already_decided', status: 'approved' })
      await start(door)
      expect(await door.ask(ask())).toBe('success')
    },
  },
  {
    name: 'POL-3: the last vote of a quorum arrives at expiry',
    async run(door) {
      await start(door, asking({ quorum: 2, expires: '1h' }))
      const { id } = await waiting(door)
      await door.decide(id, yes('user:bea'))
      await door.advance('1h')
      expect(await door.decide(id, yes('user:cem'))).toMatchObject({ answer: 'already_decided', status: 'expired' })
      expect(await door.ask(ask())).toBe('approval_expired')
    },
  },
  {
    name: 'POL-3: expired while no worker ran: the call is denied after the restart',
    async run(door) {
      const { id } = await pending(door)
      await door.crash()
      await door.advance('1d')
      await start(door)
      expect(await door.ask(ask())).toBe('approval_expired')
      expect(await door.decide(id, yes())).toMatchObject({ answer: 'already_decided', status: 'expired' })
      expect(await door.inbox()).toEqual([])
    },
  },
  {
    name: 'POL-2: approved after a cancel',
    async run(door) {
      const { id } = await pending(door)
      expect(await door.cancel()).toBe(1)
      expect(await door.decide(id, yes())).toMatchObject({ answer: 'already_decided', status: 'withdrawn' })
      expect(await door.ask(ask())).toBe('cancelled')
      expect(await door.inbox()).toEqual([])
    },
  },
  {
    name: 'POL-2: cancelled after the approval and before it runs',
    async run(door) {
      const { id } = await pending(door)
      await door.rest({ tools: [refund(door)] })
      await door.decide(id, yes())
      expect(await door.cancel()).toBe(1)
      await start(door)
      expect(await door.ask(ask())).toBe('cancelled')
    },
  },
  {
    name: 'POL-7: approved after a new user message withdrew it',
    async run(door) {
      const { id } = await pending(door)
      expect(await door.supersede()).toBe(1)
      expect(await door.decide(id, yes())).toMatchObject({ answer: 'already_decided', status: 'withdrawn' })
      expect(await door.ask(ask())).toBe('cancelled')
    },
  },
  {
    name: 'POL-2: decided after the call settled',
    may: [ran(4200)],
    async run(door) {
      const { id } = await pending(door)
      await door.decide(id, yes())
      expect(await door.ask(ask())).toBe('success')
      for (const decision of [no(), { edit: ran(1), by: 'user:eve' }, { answer: 1, by: 'user:eve' }, yes('user:eve')])
        expect(await door.decide(id, decision)).toMatchObject({ answer: 'already_decided', status: 'approved' })
    },
  },
  {
    name: 'POL-2: a denied call repeated by id or idempotency key stays denied',
    async run(door) {
      await start(door)
      const keyed = { ...ask(), idempotencyKey: 'order-A1' }
      const { id } = await waiting(door, keyed)
      await door.decide(id, no())
      for (const again of [keyed, { ...keyed, id: 'c2' }, { ...keyed, id: 'c3' }])
        expect(await door.ask(again)).toBe('denied_by_person')
      await door.crash()
      await start(door)
      expect(await door.ask({ ...keyed, id: 'c9' })).toBe('denied_by_person')
      expect(await door.inbox()).toEqual([])
    },
  },
  {
    name: 'POL-2: the idempotency key of an approved call with other arguments',
    may: [ran(4200)],
    async run(door) {
      await start(door)
      const keyed = { ...ask(), idempotencyKey: 'order-A1' }
      await door.decide((await waiting(door, keyed)).id, yes())
      expect(await door.ask(keyed)).toBe('success')
      expect(await door.ask({ ...ask(9_000, 'c2'), idempotencyKey: 'order-A1' }).catch(() => 'refused')).not.toBe(
        'success',
      )
    },
  },
  {
    name: 'POL-2: the policy denies the call before it runs',
    async run(door) {
      const policy = { rules: [{ tool: 'refund', then: 'deny' as const }] }
      expect(await approvedThen(door, { policy })).toBe('denied_by_policy')
      expect(await door.inbox()).toEqual([])
    },
  },
  {
    name: 'POL-2: the policy throws before it runs',
    async run(door) {
      const decide = (): never => {
        throw new Error('no database')
      }
      expect(await approvedThen(door, { policy: { decide } })).toBe('denied_by_policy')
    },
  },
  {
    name: 'POL-2: a deny rule on a missing argument is added before it runs',
    async run(door) {
      const policy = { rules: [{ tool: 'refund', when: { country: { in: ['XX'] } }, then: 'deny' as const }] }
      expect(await approvedThen(door, { policy })).toBe('denied_by_policy')
    },
  },
  {
    name: 'POL-3: the policy needs two approvers before it runs',
    async run(door) {
      expect(await approvedThen(door, asking({ quorum: 2 }))).toBe('waiting')
      const item = await only(door)
      expect(item).toMatchObject({ quorum: 2, approvals: [{ by: 'user:bea' }] })
      expect(await door.decide(item.id, yes('user:bea'))).toMatchObject({ answer: 'refused', why: 'voted_already' })
    },
  },
  {
    name: 'POL-3: the requester approved, but the policy now needs a separate approver',
    async run(door) {
      expect(await approvedThen(door, asking({ separate: true }), 'user:ada')).toBe('waiting')
      expect(await door.decide((await only(door)).id, yes('user:ada'))).toMatchObject({ answer: 'refused' })
    },
  },
  {
    name: 'POL-3: the approver is no longer in the approver list before it runs',
    async run(door) {
      expect(await approvedThen(door, asking({ approvers: 'boss' }))).toBe('waiting')
      expect(await door.decide((await only(door)).id, yes('user:bea'))).toMatchObject({ answer: 'refused' })
    },
  },
  {
    name: 'POL-3: the quorum becomes two while an item with quorum one waits',
    async run(door) {
      const { id } = await pending(door)
      await start(door, asking({ quorum: 2 }))
      await door.decide(id, yes())
      expect(await door.ask(ask())).toBe('waiting')
      expect(await only(door)).toMatchObject({ quorum: 2, approvals: [{ by: 'user:bea' }] })
    },
  },
  {
    name: 'POL-3: the requester’s old approval does not count for a stricter policy’s quorum',
    async run(door) {
      expect(await approvedThen(door, asking({ separate: true, quorum: 2 }), 'user:ada')).toBe('waiting')
      await door.decide((await only(door)).id, yes('user:bea'))
      expect(await door.ask(ask(), { principal: 'user:ada' })).toBe('waiting')
      const item = await only(door)
      expect(await door.decide(item.id, yes('user:bea'))).toMatchObject({ answer: 'refused' })
    },
  },
  {
    name: 'POL-3: the quorum grows twice, and each approver is counted once',
    async run(door) {
      expect(await approvedThen(door, asking({ quorum: 2 }))).toBe('waiting')
      const { id } = await only(door)
      await door.rest({ tools: [refund(door)] })
      expect(await door.decide(id, yes('user:cem'))).toMatchObject({ status: 'approved', approvals: 2 })
      await start(door, asking({ quorum: 3 }))
      expect(await door.ask(ask(), { principal: 'user:ada' })).toBe('waiting')
      const again = await only(door)
      expect(again.quorum).toBe(3)
      for (const by of ['user:bea', 'user:cem'])
        expect(await door.decide(again.id, yes(by))).toMatchObject({ why: 'voted_already' })
    },
  },
  {
    name: 'POL-2: denied, and the policy allows the call afterwards',
    async run(door) {
      const { id } = await pending(door)
      await door.rest({ tools: [refund(door)] })
      await door.decide(id, no())
      await start(door, { policy: { rules: [{ tool: 'refund', then: 'allow' }] } })
      expect(await door.ask(ask())).toBe('denied_by_person')
    },
  },
  {
    name: 'POL-3: session policy holds on another worker, even for an edit by one person',
    async run(door) {
      const who = { policy: { rules: [{ tool: 'refund', then: 'ask', quorum: 2 }] } }
      await start(door)
      const { id } = await waiting(door, ask(), who)
      await door.crash()
      await start(door)
      await door.decide(id, { edit: ran(1), by: 'user:bea' })
      expect(await door.ask(ask(), who)).toBe('waiting')
      expect(await only(door)).toMatchObject({ quorum: 2, approvals: [{ by: 'user:bea' }] })
    },
  },
  {
    name: 'POL-3 DUR-3: the requester tries to rerun an interrupted call that needs two others',
    may: [ran(4200)],
    async run(door) {
      const hangs = (input: object): Promise<never> => {
        door.ran.push(input)
        return new Promise(() => {})
      }
      const over: Over = { onUnknown: 'ask', execute: hangs as never }
      const setting = { tools: [refund(door, over)], ...asking({ quorum: 2, separate: true, approvers: ['user:*'] }) }
      const who = { principal: 'user:ada' }
      await door.start(setting)
      const { id } = await waiting(door, ask(), who)
      door.submit(ask(), who)
      await door.decide(id, yes('user:bea'))
      await door.decide(id, yes('user:cem'))
      await until(() => door.ran.length === 1)
      await door.crash()
      await door.start(setting)
      expect(await door.ask(ask(), who)).toBe('waiting')
      const finding = await only(door)
      expect(finding.kind).toBe('finding')
      for (const by of ['user:ada', 'guest'])
        expect(await door.decide(finding.id, yes(by))).toMatchObject({ answer: 'refused' })
      expect(await door.decide(finding.id, yes('user:bea'))).toMatchObject({ answer: 'accepted', status: 'pending' })
    },
  },
]
