// Attacks by approvers: deciding without the right to, under similar names, or with edits.

import { expect } from 'vitest'
import { type Attack, ask, type Door, no, only, ran, refund, waiting, yes } from './attack-interface.ts'

const rule = (terms: object) => ({ rules: [{ tool: 'refund', then: 'ask' as const, ...terms }] })
const start = (door: Door, terms: object = {}): Promise<void> =>
  door.start({ tools: [refund(door)], policy: rule(terms) })
/** Names that look the same as this one to a person or to a loose comparison. */
const alike = (name: string): string[] => [
  `${name} `,
  ` ${name}`,
  `${name}\u200b`,
  `${name}\u2060`,
  `\ufeff${name}`,
  `${name}\u00ad`,
  `${name}\ufe0f`,
  `${name}\u034f`,
  `${name}\u3164`,
  `${name}\u{e0100}`,
  `${name}\u0000`,
  `${name}\n`,
  `${name}\u00a0`,
  name.toUpperCase(),
  `${name[0]?.toUpperCase()}${name.slice(1)}`,
  name.normalize('NFD'),
  name.replace('e', '\uff45'),
]

export const people: readonly Attack[] = [
  {
    name: 'POL-3: the requester approves, edits or answers their own request',
    async run(door) {
      await start(door, { separate: true })
      const { id } = await waiting(door, ask(), { principal: 'user:ada' })
      for (const decision of [
        { approve: true },
        { edit: ran(1) },
        { approve: true, edit: ran(1) },
        { answer: { refunded: 1 } },
      ])
        expect(await door.decide(id, { ...decision, by: 'user:ada' })).toMatchObject({
          answer: 'refused',
          why: 'own_request',
        })
      expect((await only(door)).approvals).toEqual([])
    },
  },
  {
    name: 'POL-3: the requester approves under a name that looks like their own',
    async run(door) {
      await start(door, { separate: true })
      const { id } = await waiting(door, ask(), { principal: 'user:hélène' })
      for (const by of alike('user:hélène'))
        expect((await door.decide(id, yes(by))).answer, JSON.stringify(by)).toMatch(/^(refused|invalid)$/)
      expect((await only(door)).approvals).toEqual([])
    },
  },
  {
    name: 'POL-3: the request was made under a name that looks like the approver’s',
    async run(door) {
      await start(door, { separate: true })
      const by = 'user:hélène'
      const names = alike(by).filter((name) => !name.includes('\u0000'))
      for (const [n, principal] of names.entries()) {
        const { id } = await waiting(door, ask(1, `c${n}`), { principal })
        expect(await door.decide(id, yes(by)), JSON.stringify(principal)).toMatchObject({
          answer: 'refused',
          why: 'own_request',
        })
      }
    },
  },
  {
    name: 'POL-3: a separate approver is required but the requester is unknown',
    async run(door) {
      await start(door, { separate: true })
      const { id } = await waiting(door)
      expect(await door.decide(id, yes())).toMatchObject({ answer: 'refused', why: 'requester_unknown' })
    },
  },
  {
    name: 'POL-3: one person votes twice in a quorum under similar names',
    async run(door) {
      await start(door, { quorum: 2 })
      const { id } = await waiting(door)
      expect(await door.decide(id, yes('user:hélène'))).toMatchObject({
        answer: 'accepted',
        status: 'pending',
        approvals: 1,
      })
      for (const by of ['user:hélène', ...alike('user:hélène')])
        expect((await door.decide(id, yes(by))).answer, JSON.stringify(by)).toMatch(/^(refused|invalid)$/)
      expect((await only(door)).approvals).toHaveLength(1)
    },
  },
  {
    name: 'POL-3: one person votes twice in a quorum, by an edit and by approving it',
    async run(door) {
      await start(door, { quorum: 2 })
      const { id } = await waiting(door)
      expect(await door.decide(id, { edit: ran(1), by: 'user:bea' })).toMatchObject({ status: 'edited' })
      expect(await door.ask(ask())).toBe('waiting')
      const again = await only(door)
      expect(again).toMatchObject({ args: ran(1), approvals: [{ by: 'user:bea' }] })
      expect(await door.decide(again.id, yes())).toMatchObject({ answer: 'refused', why: 'voted_already' })
      expect(await door.decide(again.id, { edit: ran(1), by: 'user:bea' })).toMatchObject({ answer: 'refused' })
      expect(await door.decide(again.id, { edit: ran(9_000), by: 'User:Bea' })).toMatchObject({ answer: 'refused' })
    },
  },
  {
    name: 'POL-3: an edit drops the approvals of the previous arguments',
    async run(door) {
      await start(door, { quorum: 3 })
      const { id } = await waiting(door)
      await door.decide(id, yes('user:bea'))
      await door.decide(id, yes('user:cem'))
      expect(await door.decide(id, { edit: ran(9_000_000), by: 'user:eve' })).toMatchObject({ status: 'edited' })
      expect(await door.ask(ask())).toBe('waiting')
      expect((await only(door)).approvals).toMatchObject([{ by: 'user:eve' }])
    },
  },
  {
    name: 'POL-3: a person missing from one of the approver lists decides',
    async run(door) {
      const policy = [rule({ approvers: ['boss:*'] }), rule({ approvers: ['*:bea', '*:cem'] })]
      await door.start({ tools: [refund(door)], policy })
      const { id } = await waiting(door)
      for (const by of [
        'user:bea',
        'boss:dan',
        'boss',
        'boss:bea:x',
        'Boss:bea',
        'boss:*',
        '*',
        'xboss:bea',
        'BOSS:BEA',
      ])
        for (const decision of [{ approve: true }, { deny: true }, { edit: ran(1) }, { answer: 1 }])
          expect((await door.decide(id, { ...decision, by })).answer).toBe('refused')
      expect((await only(door)).approvals).toEqual([])
    },
  },
  {
    name: 'POL-3: a denial after one of two approvals is final',
    async run(door) {
      await start(door, { quorum: 2 })
      const { id } = await waiting(door)
      await door.decide(id, yes('user:bea'))
      expect(await door.decide(id, no('user:cem'))).toMatchObject({ answer: 'accepted', status: 'denied' })
      for (const by of ['user:bea', 'user:dan', 'user:eve'])
        expect(await door.decide(id, yes(by))).toMatchObject({ answer: 'already_decided', status: 'denied' })
      expect(await door.ask(ask())).toBe('denied_by_person')
    },
  },
  {
    name: 'POL-3: an approver denies after their own approval, before the quorum is full',
    async run(door) {
      await start(door, { quorum: 2 })
      const { id } = await waiting(door)
      await door.decide(id, yes('user:bea'))
      expect(await door.decide(id, no('user:bea'))).toMatchObject({ status: 'denied' })
      await door.decide(id, yes('user:cem'))
      expect(await door.ask(ask())).toBe('denied_by_person')
    },
  },
  {
    name: 'POL-3: an edit to arguments that the policy denies',
    async run(door) {
      const policy = { rules: [{ tool: 'refund', when: { cents: { gt: 9_000 } }, then: 'deny' as const }] }
      await door.start({ tools: [refund(door)], policy })
      const { id } = await waiting(door)
      await door.decide(id, { edit: ran(9_001), by: 'user:bea' })
      expect(await door.ask(ask())).toBe('denied_by_policy')
    },
  },
  {
    name: 'POL-3: an edit to arguments that need a larger quorum',
    async run(door) {
      const policy = rule({ when: { cents: { gt: 9_000 } }, quorum: 2 })
      await door.start({ tools: [refund(door)], policy })
      const { id, quorum } = await waiting(door)
      expect(quorum).toBe(1)
      await door.decide(id, { edit: ran(9_001), by: 'user:bea' })
      expect(await door.ask(ask())).toBe('waiting')
      expect(await only(door)).toMatchObject({ quorum: 2, approvals: [{ by: 'user:bea' }] })
    },
  },
  {
    name: 'POL-2: a hook replaces edited arguments, so the edit does not approve them',
    async run(door) {
      const before = ({ input }: { input: unknown }) =>
        (input as { order: string }).order === 'B' ? { replace: ran(1_000_000, 'eve') } : undefined
      await door.start({ tools: [refund(door)], hooks: [{ name: 'greedy', before }] })
      const { id } = await waiting(door)
      expect(await door.decide(id, { edit: ran(1, 'B'), by: 'user:bea' })).toMatchObject({ status: 'edited' })
      expect(await door.ask(ask())).toBe('waiting')
      expect(await only(door)).toMatchObject({ args: ran(1_000_000, 'eve'), approvals: [] })
    },
  },
  {
    name: 'POL-2: prepare() changes edited arguments, so the edit does not approve them',
    async run(door) {
      const prepare = (input: { order: string; cents: number }) => ({ input: { ...input, cents: input.cents * 2 } })
      await door.start({ tools: [refund(door, { prepare: prepare as never })] })
      const item = await waiting(door, ask(100))
      expect(item.args).toEqual(ran(200))
      await door.decide(item.id, { edit: ran(50), by: 'user:bea' })
      expect(await door.ask(ask(100))).toBe('waiting')
      expect(await only(door)).toMatchObject({ args: ran(100), approvals: [] })
    },
  },
  {
    name: 'POL-3: the first of two edits wins, and the second gets already_decided',
    may: [ran(1)],
    async run(door) {
      await start(door)
      const { id } = await waiting(door)
      expect(await door.decide(id, { edit: ran(1), by: 'user:bea' })).toMatchObject({ status: 'edited' })
      expect(await door.decide(id, { edit: ran(9_000_000), by: 'user:bea' })).toMatchObject({
        answer: 'already_decided',
        status: 'edited',
      })
      expect(await door.ask(ask())).toBe('success')
      expect(await door.decide(id, { edit: ran(5), by: 'user:eve' })).toMatchObject({
        answer: 'already_decided',
        status: 'edited',
      })
    },
  },
  {
    name: 'POL-3: a tool whose call a person answered does not run, then or later',
    async run(door) {
      await start(door)
      const { id } = await waiting(door)
      await door.decide(id, { answer: { refunded: 0 }, by: 'user:bea' })
      expect(await door.decide(id, yes())).toMatchObject({ answer: 'already_decided', status: 'answered' })
      expect(await door.ask(ask())).toBe('success')
    },
  },
]
