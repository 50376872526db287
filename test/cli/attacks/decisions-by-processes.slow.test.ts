// Decisions that must not count, by `pawl` processes on a local store and on a server, and by fetch. The three doors have
// the same cases and the same exit codes. Wait keys are accepted by no command.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { InboxItem } from 'pawl'
import { commandTable } from '../../../src/cli/table/command-table.ts'
import { ignoreResult } from '../../kit/interrupted-calls.ts'
import { type Decision, type DoorName, doorNames, openShop, type Person, type Shop } from './decision-doors.ts'

type Step = readonly [Person, Decision, code: number]
interface Case {
  readonly name: string
  readonly tool?: string
  /** Before the decisions. */
  readonly first?: (shop: Shop, session: string) => Promise<void>
  readonly id?: (item: InboxItem) => string
  readonly steps: readonly Step[]
  /** How often the tool runs. */
  readonly effects: number
}

const yes: Decision = { approve: true }
const no: Decision = { deny: true }
/** Nothing was decided before: this ends the call. */
const end: Step = ['bea', no, 0]

const cases: readonly Case[] = [
  {
    name: 'approved twice',
    steps: [
      ['bea', yes, 0],
      ['bea', yes, 6],
      ['cem', no, 6],
    ],
    effects: 1,
  },
  { name: 'approved after a denial', steps: [['bea', no, 0], ['cem', yes, 6], ['cem', { edit: { order: 'A1' } }, 6]], effects: 0 }, // prettier-ignore
  { name: 'a stale fingerprint', steps: [['bea', { ...yes, fingerprint: 'old' }, 6], ['bea', { ...no, fingerprint: 'old' }, 6], ['bea', yes, 0]], effects: 1 }, // prettier-ignore
  { name: 'edits that the schema refuses', steps: [['bea', { edit: { order: 7 } }, 2], ['bea', { edit: null }, 2], end], effects: 0 }, // prettier-ignore
  { name: 'one person votes twice', tool: 'refund_two', steps: [['bea', yes, 0], ['bea', yes, 4], ['cem', yes, 0], ['dan', yes, 6]], effects: 1 }, // prettier-ignore
  { name: 'the requester decides', tool: 'refund_separate', steps: [['ada', yes, 4], ['ada', { edit: { order: 'A1' } }, 4], ['bea', yes, 0]], effects: 1 }, // prettier-ignore
  { name: 'another tenant', steps: [['eve', yes, 3], ['eve', no, 3], end], effects: 0 },
  {
    name: 'an unknown item',
    id: ({ id }) => `${id}0`,
    steps: [
      ['bea', yes, 3],
      ['bea', no, 3],
    ],
    effects: 0,
  },
  { name: 'cancelled', first: (shop, session) => shop.cancel(session), steps: [['bea', yes, 6]], effects: 0 },
  { name: 'expired', tool: 'refund_brief', first: expired, steps: [['bea', yes, 6]], effects: 0 },
]

async function expired(shop: Shop, session: string): Promise<void> {
  await expect.poll(() => shop.inbox(session), { interval: 20, timeout: 20_000 }).toEqual([])
}

describe('decisions by fetch and by pawl', { timeout: 90_000 }, () => {
  let shop: Shop
  beforeAll(async () => {
    shop = await openShop()
  })
  afterAll(() => shop.close())
  const sessionOf = (door: DoorName, name: string): string => `${door} ${name}`.replaceAll(' ', '-')

  describe.each(doorNames)('%s', (door) => {
    test.for(cases)('POL-2 DOOR-2: $name: the exit codes, and the effect', async (given) => {
      const { name, tool = 'refund', first, id = (item) => item.id, steps, effects } = given
      const session = sessionOf(door, name)
      const item = await shop.ask(session, tool)
      await first?.(shop, session)
      const codes: number[] = []
      for (const [person, decision] of steps) codes.push(await shop.decide(door, person, id(item), decision))
      expect(codes).toEqual(steps.map(([, , code]) => code))
      if (given.id) expect(await shop.inbox(session)).toHaveLength(1)
      else expect(await shop.effects(session)).toBe(effects)
    })

    test('POL-2 DOOR-2: exactly one of 20 concurrent approvals counts, and the tool runs once', async () => {
      const session = sessionOf(door, 'concurrent')
      const { id } = await shop.ask(session, 'refund')
      const codes = await Promise.all(Array.from({ length: 20 }, () => shop.decide(door, 'bea', id, yes)))
      expect(codes.toSorted((a, b) => a - b)).toEqual([0, ...Array.from({ length: 19 }, () => 6)])
      expect(await shop.effects(session)).toBe(1)
    })
  })

  test.for(doorNames.slice(0, 2))('DOOR-1: %s: a token without the right decides nothing', async (door) => {
    const session = sessionOf(door, 'viewer')
    const { id } = await shop.ask(session, 'refund')
    for (const decision of [yes, no, { edit: { order: 'A1' } }])
      expect(await shop.decide(door, 'viewer', id, decision)).toBe(4)
    expect(await shop.inbox(session)).toHaveLength(1)
  })

  test('WAIT-3 DOOR-2: no command takes a wait key or a client call', async () => {
    // An argument of a process is visible to every user of the machine.
    const forms = commandTable.flatMap(({ name, args = [], options = [] }) =>
      [...args, ...options].map(([form]) => `${name} ${form}`),
    )
    // An idempotency key.
    expect(forms.filter((form) => /key|<wait/i.test(form))).toEqual(['call --key <key>'])
    const pick = { id: 'pick-1', name: 'pick', input: { order: 'A1' }, until: 'waiting' }
    expect((await shop.send('POST', '/v1/sessions/picks/calls', 'ada', pick)).status).toBe(202)
    const later = { name: 'callback', input: { order: 'A1' } }
    ignoreResult(shop.send('POST', '/v1/sessions/waits/calls', 'ada', later))
    const key = await shop.waitKey()
    for (const door of doorNames.slice(1))
      for (const word of [key, 'pick-1'])
        for (const args of [
          ['inbox', word],
          ['approve', word],
          ['deny', word],
          ['answer', word, '1'],
        ])
          // prettier-ignore
          expect((await shop.pawl(door, ...args)).code, `${door}: ${args[0]}`).toBe(3)
    const answer = { order: 'still open' }
    const resolved = await shop.send('POST', '/v1/waits/resolve', 'bea', { key, value: answer })
    expect(resolved).toMatchObject({ status: 200, body: { answer: 'accepted' } })
  })
})
