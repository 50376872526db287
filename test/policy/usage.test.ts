import { fc } from '../kit/seeded-fast-check.ts'
import { describe, expect, test } from 'vitest'
import { type Budget, type Budgets, defineBudgets, overBudget } from '../../src/policy/budgets.ts'
import { charge, newUsage, parseUsage, type Usage, serializeUsage } from '../../src/policy/budget-usage.ts'

const budget = (given: Budgets): Budget =>
  Object.values(defineBudgets(given)).find((each) => each !== undefined) as Budget
const counted = (text: string | null, of: Budget, now: number): Usage => {
  const usage = parseUsage(of, text, now)
  charge(usage, { kind: 'started', round: null, tool: 'a', hash: 'h' })
  return usage
}

describe('stored usage', () => {
  test('POL-8: parsed usage leads to the same decisions as live usage', () => {
    const of = budget({ session: { calls: 20, time: 60, cost: 9, repeats: { limit: 2, exempt: 'poll*' }, invalid: 2 } })
    const fact = fc.record({
      kind: fc.constantFrom('started' as const, 'refused' as const, 'invalid' as const, 'settled' as const),
      round: fc.constantFrom('1', '2', '3', null),
      tool: fc.constantFrom('a', 'b', 'poll_job'),
      hash: fc.constantFrom('x', 'y\n'),
      ms: fc.nat(20),
      cost: fc.nat(3),
      outcome: fc.constantFrom('same', 'other'),
    })
    fc.assert(
      fc.property(fc.array(fact, { maxLength: 25 }), (facts) => {
        const live = newUsage()
        let text: string | null = null
        for (const { kind, round, tool, hash, ...took } of facts) {
          const back = parseUsage(of, text, 0)
          for (const valid of [true, false])
            for (const each of ['a', 'b', 'poll_job'])
              for (const at of ['1', '2', '3', '4']) {
                const upcoming = { round: at, tool: each, hash, valid }
                expect(overBudget([{ budget: of, usage: back }], upcoming)).toEqual(
                  overBudget([{ budget: of, usage: live }], upcoming),
                )
              }
          for (const usage of [live, back]) charge(usage, { kind, round, tool, hash, ...took })
          text = serializeUsage(of, back)
        }
      }),
      { numRuns: 100 },
    )
  })

  test('POL-8: usage without a limit is not stored', () => {
    const of = budget({ session: { calls: 9 } })
    const usage = newUsage()
    for (let n = 0; n < 512; n++) charge(usage, { kind: 'started', round: 'one', tool: 'a', hash: `${n}` })
    charge(usage, { kind: 'invalid', round: 'one', tool: 'a' })
    expect(serializeUsage(of, usage)).toBe('{"calls":512,"time":0,"cost":0}')
    const loops = budget({ session: { repeats: { limit: 2, exempt: 'a' } } })
    expect(serializeUsage(loops, usage)).toBe('{"calls":512,"time":0,"cost":0,"rounds":[{"id":"one","streaks":[]}]}')
  })
})

describe('windows', () => {
  const of = budget({ tenant: { calls: 2, per: 100 } })

  test('POL-8: a window counts until it ends, no matter when its first call came', () => {
    const text = serializeUsage(of, counted(null, of, 199))
    expect(parseUsage(of, text, 199)).toMatchObject({ since: 100, calls: 1 })
    expect(parseUsage(of, text, 200)).toMatchObject({ since: 200, calls: 0 })
  })

  test('POL-8: a window started by a faster clock is used, unless it starts far in the future', () => {
    const text = serializeUsage(of, counted(null, of, 200))
    expect(parseUsage(of, text, 190)).toMatchObject({ since: 200, calls: 1 })
    expect(parseUsage(of, text, 99)).toMatchObject({ since: 0, calls: 0 })
  })

  test('POL-8: stored usage follows a new window length; without a window it is never reset', () => {
    const text = serializeUsage(of, counted(null, of, 200))
    expect(parseUsage(budget({ tenant: { calls: 2, per: 1_000 } }), text, 250)).toMatchObject({ since: 200, calls: 1 })
    expect(parseUsage(budget({ tenant: { calls: 2, per: 1_000 } }), text, 1_000)).toMatchObject({
      since: 1_000,
      calls: 0,
    })
    const forEver = budget({ tenant: { calls: 2 } })
    expect(parseUsage(forEver, serializeUsage(forEver, counted(null, forEver, 5)), 1e12)).toMatchObject({ calls: 1 })
  })
})

describe('scopes', () => {
  const upcoming = { round: 'm', tool: 'a', hash: 'h', valid: true }
  const held = (given: Budgets, usage: Usage) =>
    [defineBudgets(given).tenant, defineBudgets(given).session, defineBudgets(given).turn]
      .filter((each) => each !== undefined)
      .map((each) => ({ budget: each, usage }))

  test('POL-8: the widest exhausted scope is reported; a loop only if no budget is exhausted', () => {
    const usage = counted(null, budget({ session: { calls: 1 } }), 0)
    charge(usage, { kind: 'started', round: 'l', tool: 'a', hash: 'h' })
    const over = (given: Budgets): string => overBudget(held(given, usage), upcoming)?.message ?? ''
    expect(over({ turn: { calls: 1 }, session: { calls: 1 }, tenant: { calls: 1 } })).toMatch(
      /^The budget of this tenant/,
    )
    expect(over({ turn: { calls: 1 }, session: { calls: 1 }, tenant: { calls: 9 } })).toMatch(
      /^The budget of this session/,
    )
    expect(over({ turn: { calls: 1 }, session: { repeats: 1 } })).toMatch(/^The budget of this turn/)
    expect(over({ turn: { calls: 9 }, session: { repeats: 1 } })).toMatch(/^You called 'a'/)
  })

  test.for([
    ['loops', { tenant: { repeats: 1 } }, '`budgets.tenant` has no option `repeats`'],
    ['bad arguments', { tenant: { invalid: 1 } }, '`budgets.tenant` has no option `invalid`'],
    ['a window of a session', { session: { calls: 1, per: '1d' } }, '`budgets.session` has no option `per`'],
    ['no window', { tenant: { calls: 1, per: 0 } }, '`budgets.tenant.per` is'],
    ['a window of nonsense', { tenant: { calls: 1, per: 'daily' } }, "`budgets.tenant.per` is 'daily'"],
  ] as const)('POL-8: defineBudgets() rejects: %s', ([, given, message]) => {
    expect(() => defineBudgets(given as never)).toThrow(message)
  })
})
