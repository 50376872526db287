// The wrong moment (POL-2): too late, after a cancel, after the policy has become stricter, twice, again.

import { expect } from 'vitest'
import { type Attack, ask, type Door, no, only, type Over, ran, refund, type Setting, until, waiting, yes } from './attack-interface.ts'

const minutes15 = 15 * 60_000
const start = (door: Door, more: Partial<Setting> = {}): Promise<void> => door.start({ tools: [refund(door)], ...more })
const asking = (terms: object) => ({ policy: { rules: [{ tool: 'refund', then: 'ask' as const, ...terms }] } })

/** One person approves while nobody runs anything; then a worker comes with another policy. */
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
    name: 'POL-2: approved twice, by the same and by another person',
    may: [ran(4200)],
    async run(door) {
      await start(door)
      const { id } = await waiting(door)
      await door.decide(id, yes())
      for (const by of ['user:bea', 'user:eve'])
        expect(await door.decide(id, yes(by))).toMatchObject({ answer: 'already_decided', status: 'approved', by: [{ by: 'user:bea' }] })
      expect(await door.ask(ask())).toBe('success')
      expect(await door.decide(id, yes())).toMatchObject({ answer: 'already_decided' })
      expect(await door.ask(ask())).toBe('success')
    },
  },
  {
    name: 'POL-3: approved exactly at the deadline, before any timer has fired',
    async run(door) {
      await start(door)
      const { id } = await waiting(door)
      await door.rest({ tools: [refund(door)] })
      await door.advance(minutes15)
      expect(await door.decide(id, yes())).toMatchObject({ answer: 'already_decided', status: 'expired', by: [] })
      await start(door)
      expect(await door.ask(ask())).toBe('approval_expired')
    },
  },
  {
    name: 'POL-3: approved a millisecond before the deadline it runs, once; what comes at the deadline changes nothing',
    may: [ran(4200)],
    async run(door) {
      await start(door)
      const { id } = await waiting(door)
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
    name: 'POL-3: the last of a quorum comes at the deadline',
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
    name: 'POL-3: nobody was there when it expired: it is no, not yes, when somebody comes',
    async run(door) {
      await start(door)
      const { id } = await waiting(door)
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
      await start(door)
      const { id } = await waiting(door)
      expect(await door.cancel()).toBe(1)
      expect(await door.decide(id, yes())).toMatchObject({ answer: 'already_decided', status: 'withdrawn' })
      expect(await door.ask(ask())).toBe('cancelled')
      expect(await door.inbox()).toEqual([])
    },
  },
  {
    name: 'POL-2: cancelled after the approval and before it runs',
    async run(door) {
      await start(door)
      const { id } = await waiting(door)
      await door.rest({ tools: [refund(door)] })
      await door.decide(id, yes())
      expect(await door.cancel()).toBe(1)
      await start(door)
      expect(await door.ask(ask())).toBe('cancelled')
    },
  },
  {
    name: 'POL-7: approved after a new message of the user called it off',
    async run(door) {
      await start(door)
      const { id } = await waiting(door)
      expect(await door.supersede()).toBe(1)
      expect(await door.decide(id, yes())).toMatchObject({ answer: 'already_decided', status: 'withdrawn' })
      expect(await door.ask(ask())).toBe('cancelled')
    },
  },
  {
    name: 'POL-2: decided after the call was settled',
    may: [ran(4200)],
    async run(door) {
      await start(door)
      const { id } = await waiting(door)
      await door.decide(id, yes())
      expect(await door.ask(ask())).toBe('success')
      for (const decision of [no(), { edit: ran(1), by: 'user:eve' }, { answer: 1, by: 'user:eve' }, yes('user:eve')])
        expect(await door.decide(id, decision)).toMatchObject({ answer: 'already_decided', status: 'approved' })
    },
  },
  {
    name: 'POL-2: a denial is asked for again: the same call, by id and by idempotency key, is the same denial',
    async run(door) {
      await start(door)
      const keyed = { ...ask(), idempotencyKey: 'order-A1' }
      const { id } = await waiting(door, keyed)
      await door.decide(id, no())
      for (const again of [keyed, { ...keyed, id: 'c2' }, { ...keyed, id: 'c3' }]) expect(await door.ask(again)).toBe('denied_by_person')
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
      expect(await door.ask({ ...ask(9_000, 'c2'), idempotencyKey: 'order-A1' }).catch(() => 'refused')).not.toBe('success')
    },
  },
  {
    name: 'POL-2: the policy denies it by the time it would run',
    async run(door) {
      const policy = { rules: [{ tool: 'refund', then: 'deny' as const }] }
      expect(await approvedThen(door, { policy })).toBe('denied_by_policy')
      expect(await door.inbox()).toEqual([])
    },
  },
  {
    name: 'POL-2: the policy fails by the time it would run',
    async run(door) {
      const decide = (): never => {
        throw new Error('no database')
      }
      expect(await approvedThen(door, { policy: { decide } })).toBe('denied_by_policy')
    },
  },
  {
    name: 'POL-2: the policy denies these arguments, which could not be read, by the time it would run',
    async run(door) {
      const policy = { rules: [{ tool: 'refund', when: { country: { in: ['XX'] } }, then: 'deny' as const }] }
      expect(await approvedThen(door, { policy })).toBe('denied_by_policy')
    },
  },
  {
    name: 'POL-3: it takes two by the time it would run',
    async run(door) {
      expect(await approvedThen(door, asking({ quorum: 2 }))).toBe('waiting')
      const item = await only(door)
      expect(item).toMatchObject({ quorum: 2, approvals: [{ by: 'user:bea' }] })
      expect(await door.decide(item.id, yes('user:bea'))).toMatchObject({ answer: 'refused', why: 'voted_already' })
    },
  },
  {
    name: 'POL-3: who asked approved, and may not any more by the time it would run',
    async run(door) {
      expect(await approvedThen(door, asking({ separate: true }), 'user:ada')).toBe('waiting')
      expect(await door.decide((await only(door)).id, yes('user:ada'))).toMatchObject({ answer: 'refused' })
    },
  },
  {
    name: 'POL-3: who approved is not among the approvers any more by the time it would run',
    async run(door) {
      expect(await approvedThen(door, asking({ approvers: 'boss' }))).toBe('waiting')
      expect(await door.decide((await only(door)).id, yes('user:bea'))).toMatchObject({ answer: 'refused' })
    },
  },
  {
    name: 'POL-3: it takes two while it waits, and the item still says one',
    async run(door) {
      await start(door)
      const { id } = await waiting(door)
      await start(door, asking({ quorum: 2 }))
      await door.decide(id, yes())
      expect(await door.ask(ask())).toBe('waiting')
      expect(await only(door)).toMatchObject({ quorum: 2, approvals: [{ by: 'user:bea' }] })
    },
  },
  {
    name: 'POL-3: a stale approval of who asked does not fill the quorum of a stricter policy',
    async run(door) {
      expect(await approvedThen(door, asking({ separate: true, quorum: 2 }), 'user:ada')).toBe('waiting')
      await door.decide((await only(door)).id, yes('user:bea'))
      expect(await door.ask(ask(), { principal: 'user:ada' })).toBe('waiting')
      const item = await only(door)
      expect(await door.decide(item.id, yes('user:bea'))).toMatchObject({ answer: 'refused' })
    },
  },
  {
    name: 'POL-3: the policy wants more people each time: who is asked again is counted once',
    async run(door) {
      expect(await approvedThen(door, asking({ quorum: 2 }))).toBe('waiting')
      const { id } = await only(door)
      await door.rest({ tools: [refund(door)] })
      expect(await door.decide(id, yes('user:cem'))).toMatchObject({ status: 'approved', approvals: 2 })
      await start(door, asking({ quorum: 3 }))
      expect(await door.ask(ask(), { principal: 'user:ada' })).toBe('waiting')
      const again = await only(door)
      expect(again.quorum).toBe(3)
      for (const by of ['user:bea', 'user:cem']) expect(await door.decide(again.id, yes(by))).toMatchObject({ why: 'voted_already' })
    },
  },
  {
    name: 'POL-2: denied, and the policy allows it by the time it would have run',
    async run(door) {
      await start(door)
      const { id } = await waiting(door)
      await door.rest({ tools: [refund(door)] })
      await door.decide(id, no())
      await start(door, { policy: { rules: [{ tool: 'refund', then: 'allow' }] } })
      expect(await door.ask(ask())).toBe('denied_by_person')
    },
  },
  {
    name: 'POL-3: the rules of the session hold on another worker, for an edit by one person too',
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
    name: 'POL-3 DUR-3: who asked has an interrupted call run again, which it takes two others to approve',
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
      for (const by of ['user:ada', 'guest']) expect(await door.decide(finding.id, yes(by))).toMatchObject({ answer: 'refused' })
      expect(await door.decide(finding.id, yes('user:bea'))).toMatchObject({ answer: 'accepted', status: 'pending' })
    },
  },
]
