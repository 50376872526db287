// Attacks that stretch a remembered rule beyond its scope, condition, tool or lifetime.

import { expect } from 'vitest'
import { z } from 'zod'
import type { Attack, Door, Over, Setting, Who } from './attack-interface.ts'
import { ask, no, only, pending, ran, refund, waiting, yes } from './attack-interface.ts'

const ada: Who = { principal: 'user:ada' }
const asking = (terms: object) => ({ policy: { rules: [{ tool: 'refund', then: 'ask' as const, ...terms }] } })
const start = (door: Door, more: Partial<Setting> = {}, over?: Over): Promise<void> =>
  door.start({ tools: [refund(door, over)], ...more })

/** Approves Ada's call for 1 cent with this `remember` option; returns the rule id. */
async function remembered(door: Door, remember: unknown, who: Who = ada): Promise<string> {
  const { id } = await waiting(door, ask(1, 'first'), who)
  const decided = await door.decide(id, { ...yes(), remember })
  expect(decided).toMatchObject({ answer: 'accepted', status: 'approved', rule: expect.any(String) })
  expect(await door.ask(ask(1, 'first'), who)).toBe('success')
  return (decided as { rule: string }).rule
}

export const rules: readonly Attack[] = [
  {
    name: 'POL-3: a session rule used in another session or tenant',
    may: [ran(1), ran(2)],
    async run(door) {
      await start(door)
      await remembered(door, true)
      expect(await door.ask(ask(2, 'c2'), ada)).toBe('success')
      for (const who of [
        { session: 'other' },
        { session: 'Chat' },
        { session: 'chat ' },
        { tenant: 'evil' },
        { tenant: 'ACME' },
      ])
        expect(await door.ask(ask(3, 'c3'), { ...ada, ...who })).toBe('waiting')
    },
  },
  {
    name: 'POL-3: a principal rule used by another principal or without one',
    may: [ran(1), ran(2)],
    async run(door) {
      await start(door)
      await remembered(door, { scope: 'principal' })
      expect(await door.ask(ask(2, 'c2'), { ...ada, session: 'other' })).toBe('success')
      for (const [n, who] of [
        { principal: 'user:eve' },
        { principal: 'User:Ada' },
        { principal: '' },
        {},
        { ...ada, tenant: 'evil' },
      ].entries())
        expect(await door.ask(ask(3, `d${n}`), who)).toBe('waiting')
    },
  },
  {
    name: 'POL-3: a tenant rule used by another tenant',
    may: [ran(1), ran(2)],
    async run(door) {
      await start(door)
      await remembered(door, { scope: 'tenant' })
      expect(await door.ask(ask(2, 'c2'), { session: 'other', principal: 'user:eve' })).toBe('success')
      expect(await door.ask(ask(3, 'c3'), { ...ada, tenant: 'evil' })).toBe('waiting')
    },
  },
  {
    name: 'POL-3: a rule for a tool that has changed since',
    may: [ran(1)],
    async run(door) {
      await start(door)
      await remembered(door, { scope: 'tenant' })
      const changes: Over[] = [
        { description: 'Other.' },
        { version: '2' },
        { hints: { destructive: true, idempotent: true } },
        { id: 'refund2' },
      ]
      for (const [n, over] of changes.entries()) {
        await start(door, {}, over)
        expect(await door.ask(ask(3, `c${n}`), ada)).toBe('waiting')
      }
    },
  },
  {
    name: 'POL-3: a rule that was revoked or expires at this instant',
    may: [ran(1), ran(1), ran(2)],
    async run(door) {
      await start(door)
      const rule = await remembered(door, true)
      expect(await door.revoke(rule, 'user:bea', 'evil')).toBe(false)
      expect(await door.revoke(rule, 'user:bea')).toBe(true)
      expect(await door.ask(ask(3, 'c3'), ada)).toBe('waiting')
      const { id } = await waiting(door, ask(1, 'second'), ada)
      await door.decide(id, { ...yes(), remember: { for: '10m' } })
      await door.ask(ask(1, 'second'), ada)
      await door.advance(10 * 60_000 - 1)
      expect(await door.ask(ask(2, 'c4'), ada)).toBe('success')
      await door.advance(1)
      expect(await door.ask(ask(2, 'c5'), ada)).toBe('waiting')
    },
  },
  {
    name: 'POL-3: a rule with a condition, against missing, mistyped or inherited arguments',
    may: [ran(1)],
    async run(door) {
      await start(door, {}, { input: z.record(z.string(), z.any()) as never })
      await remembered(door, { when: { cents: { lte: 500 }, order: { startsWith: 'A' } } })
      const inputs = [
        {},
        { order: 'A1' },
        { cents: 1 },
        { order: 'A1', cents: '1' },
        { order: 'A1', cents: null },
        { order: 'A1', cents: [1] },
        { order: 'A1', cents: { valueOf: 1 } },
        { order: ['A1'], cents: 1 },
        { order: 'A1', cents: true },
        { order: 'a1', cents: 1 },
        JSON.parse('{"order":"A1","__proto__":{"cents":1}}') as object,
        { order: 'A1', 'cents ': 1 },
        { order: 'A1', CENTS: 1 },
        { order: 'A1', cents: 500.000_1 },
      ]
      for (const [n, input] of inputs.entries())
        expect(await door.ask({ id: `c${n}`, name: 'refund', input }, ada), JSON.stringify(input)).toBe('waiting')
    },
  },
  {
    name: 'POL-3: a remembered denial holds for missing or mistyped arguments and a changed tool',
    async run(door) {
      const loose = { input: z.record(z.string(), z.any()) as never }
      await start(door, {}, loose)
      const { id } = await waiting(door, ask(9_000, 'first'), ada)
      await door.decide(id, { ...no(), remember: { when: { cents: { gt: 500 } } } })
      for (const [n, input] of [{ cents: 501 }, {}, { cents: '501' }, { cents: [501] }].entries())
        expect(await door.ask({ id: `c${n}`, name: 'refund', input }, ada)).toBe('denied_by_person')
      await start(door, {}, { ...loose, description: 'Other.', version: '3' })
      expect(await door.ask({ id: 'd', name: 'refund', input: { cents: 501 } }, ada)).toBe('denied_by_person')
      expect(await door.inbox()).toEqual([])
    },
  },
  {
    name: 'POL-3: a remembered approval does not override deny, quorum, approvers or separation',
    may: [ran(1)],
    async run(door) {
      await start(door)
      await remembered(door, { scope: 'tenant' })
      const under = async (policy: object, id: string, who: Who = ada): Promise<string> =>
        door.ask(ask(2, id), { ...who, policy })
      expect(await under({ rules: [{ then: 'deny' }] }, 'c1')).toBe('denied_by_policy')
      expect(await under(asking({ quorum: 2 }).policy, 'c2')).toBe('waiting')
      expect(await under(asking({ approvers: 'boss' }).policy, 'c3')).toBe('waiting')
      expect(await under(asking({ separate: true }).policy, 'c4', { principal: 'user:bea' })).toBe('waiting')
      expect(await under(asking({ separate: true }).policy, 'c5', { principal: 'User:Bea' })).toBe('waiting')
    },
  },
  {
    name: 'POL-3: an edit, an answer or an invalid `remember` creates no rule',
    async run(door) {
      const { id } = await pending(door)
      for (const decision of [{ edit: ran(1) }, { approve: true, edit: ran(1) }, { answer: 1 }])
        expect(await door.decide(id, { ...decision, by: 'user:bea', remember: true })).toMatchObject({
          answer: 'invalid',
        })
      for (const remember of [
        { scope: 'world' },
        { for: '10y' },
        { for: 0 },
        { for: 'ever' },
        { when: {} },
        { when: { cents: { near: 1 } } },
        'yes',
        1,
      ])
        expect(await door.decide(id, { ...yes(), remember }), JSON.stringify(remember)).toMatchObject({
          answer: 'invalid',
        })
      expect(await door.rules()).toEqual([])
      await only(door)
    },
  },
  {
    name: 'POL-3: a rule revoked on another worker does not apply to the next call',
    may: [ran(1)],
    async run(door) {
      await start(door)
      const rule = await remembered(door, { scope: 'tenant' })
      await door.rest({ tools: [refund(door)] })
      door.submit(ask(2, 'c2'), ada)
      await door.advance('1s')
      expect(await door.revoke(rule, 'user:bea')).toBe(true)
      await start(door)
      expect(await door.ask(ask(2, 'c2'), ada)).toBe('waiting')
    },
  },
  {
    name: 'POL-3: a principal rule without a recorded principal is rejected',
    async run(door) {
      const { id } = await pending(door)
      expect(await door.decide(id, { ...yes(), remember: { scope: 'principal' } })).toMatchObject({ answer: 'invalid' })
      expect(await door.decide(id, { ...no(), remember: { scope: 'principal' } })).toMatchObject({ answer: 'invalid' })
      expect(await door.rules()).toEqual([])
      expect(await door.ask(ask(2, 'c2'), { principal: 'user:eve' })).toBe('waiting')
    },
  },
  {
    name: 'POL-3: a rule from the last voter of a quorum does not stand for the whole quorum',
    may: [ran(1)],
    async run(door) {
      await start(door, asking({ quorum: 2 }))
      const { id } = await waiting(door, ask(1, 'first'), ada)
      await door.decide(id, yes('user:bea'))
      await door.decide(id, { ...yes('user:eve'), remember: { scope: 'tenant' } })
      expect(await door.ask(ask(1, 'first'), ada)).toBe('success')
      expect(await door.ask(ask(9_000_000, 'c2'), ada)).toBe('waiting')
    },
  },
]
