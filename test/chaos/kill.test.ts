// Workers die without warning and everything still ends once. The seed of a failing round is in its name: run it again with
// PAWL_SEED=<n>. The last tests plant defects and expect to see them: a driver that sees nothing proves nothing.

import { expect, test } from 'vitest'
import { type Fault, type Report, runRound } from './driver.ts'

const base = Number(process.env.PAWL_SEED ?? 1)
const minute = 60_000

async function rounds(fault: Fault, count: number, kills: number): Promise<{ kills: number; hits: number; wrong: string[] }> {
  const total = { kills: 0, hits: 0, wrong: [] as string[] }
  for (let seed = base; seed < base + count; seed++) {
    const report = await runRound({ seed, fault, kills })
    total.kills += report.kills
    total.hits += report.hits
    total.wrong.push(...report.violations.map((violation) => `seed ${seed}: ${violation}`))
  }
  return total
}

test('DUR-1 DUR-2 DUR-3 DUR-4 CALL-2: 60 SIGKILLs at random moments', { timeout: 3 * minute }, async () => {
  const { kills, hits, wrong } = await rounds('kill at a random moment', 10, 6)
  expect(wrong).toEqual([])
  expect(kills).toBe(60)
  expect(hits).toBeGreaterThan(30) // most of them found work on its way
})

test('DUR-1 DUR-2 DUR-3 DUR-6: 40 SIGKILLs at a write, before it and after it with the answer lost', { timeout: 3 * minute }, async () => {
  const { kills, hits, wrong } = await rounds('kill at a write', 8, 5)
  expect(wrong).toEqual([])
  expect(kills).toBe(40)
  expect(hits).toBeGreaterThan(5)
})

test('DUR-7: 10 workers freeze in mid-effect, lose their calls and wake again', { timeout: 3 * minute }, async () => {
  const { wrong } = await rounds('stop in an effect', 2, 5)
  expect(wrong).toEqual([])
})

test.for([
  ['no fence', 'stop in an effect'],
  ['step key without its call', 'kill at a random moment'],
  ['acknowledged before it is written', 'kill at a write'],
  ['step ends are not recorded', 'kill at a write'],
] as const)('the driver sees a planted defect: %s', { timeout: 3 * minute }, async ([plant, fault]) => {
  let seen: Report['violations'] = []
  for (let seed = 1; seed <= 8 && seen.length === 0; seed++) seen = (await runRound({ seed, fault, kills: 4, plant })).violations
  expect(seen).not.toEqual([])
})
