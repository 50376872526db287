// Workers are killed without warning and every call still ends once. A failing round reports its seed: repeat it with
// PAWL_SEED=<n>, or alone with `npm run chaos -- --seed <n>`. The last tests plant defects to prove that the driver
// detects them.

import { expect, test } from 'vitest'
import { type Report, runRound } from './kill-driver.ts'
import { always, runPart } from './chaos-plan.ts'

const base = Number(process.env.PAWL_SEED ?? 1)
const minute = 60_000

test.for(always.filter(({ on }) => on === 'sqlite'))(
  'DUR-1 DUR-2 DUR-3 DUR-4 DUR-6 DUR-7 CALL-2: SQLite survives: $fault ($rounds × $kills)',
  { timeout: 8 * minute },
  async (part) => {
    const { kills, hits, wrong } = await runPart(part, base, null)
    expect(wrong).toEqual([])
    expect(kills).toBeGreaterThanOrEqual(part.rounds * part.kills)
    expect(hits).toBeGreaterThan(kills / 10) // the faults hit running work
  },
)

test.for([
  ['no fence', 'stop in an effect'],
  ['step key without its call', 'kill at a random moment'],
  ['acknowledged before it is written', 'kill at a write'],
  ['step ends are not recorded', 'kill at a write'],
] as const)('the driver detects a planted defect: %s', { timeout: 3 * minute }, async ([plant, fault]) => {
  let seen: Report['violations'] = []
  for (let seed = 3; seed <= 10 && seen.length === 0; seed++)
    seen = (await runRound({ seed, fault, kills: 4, plant })).violations
  expect(seen).not.toEqual([])
})
