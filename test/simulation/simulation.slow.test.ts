// Deterministic simulation of the real runtime: time, randomness and store answers come from a seed. Random programs
// run on several workers with faults for a while, then a quiet phase in which everything must end. A violation names
// its seed; PAWL_SEED=<n> runs that one and prints its history. The last tests plant defects and expect each to be
// detected.

import { describe, expect, test } from 'vitest'
import { plants, turnPlants } from '../kit/stores/planted-defects.ts'
import { long } from '../kit/long-run.ts'
import { type History, simulate, withTasks, withTurns } from './run-history.ts'
import { kept } from './regression-seeds.ts'

const only = process.env.PAWL_SEED === undefined ? null : Number(process.env.PAWL_SEED)
const minute = 60_000

type Total = Pick<History, 'faults' | 'calls' | 'asks' | 'agents'> & { readonly wrong: string[] }

async function wrongIn(seeds: Iterable<number>): Promise<Total> {
  const total = { wrong: [] as string[], faults: 0, calls: 0, asks: 0, agents: 0 }
  for (const seed of seeds) {
    const { broken, faults, calls, asks, agents } = await simulate(seed)
    total.faults += faults
    total.calls += calls
    total.asks += asks
    total.agents += agents
    total.wrong.push(...broken.map((each) => `seed ${seed}: ${each}`))
  }
  return total
}

const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, index) => from + index)

const all = (): void => {
  test.for(range(0, 8))(
    'DUR-1, DUR-2, DUR-3, DUR-4, DUR-5, DUR-7, DUR-13, WAIT-2, CALL-2: 250 histories from %i × 250',
    { timeout: 3 * minute },
    async (part) => {
      const { wrong, faults, calls } = await wrongIn(range(1 + part * 250, 250))
      expect(wrong).toEqual([])
      expect(faults).toBeGreaterThan(500)
      expect(calls).toBeGreaterThan(500)
    },
  )

  test.for(range(0, long ? 8 : 2))(
    'TASK-2, TASK-3, TASK-4, TASK-6, TASK-8: 250 histories with tasks from %i × 250',
    { timeout: 3 * minute },
    async (part) => {
      const { wrong, faults, calls } = await wrongIn(range(withTasks + part * 250, 250))
      expect(wrong).toEqual([])
      expect(faults).toBeGreaterThan(500)
      expect(calls).toBeGreaterThan(500)
    },
  )

  test.for(range(0, long ? 16 : 2))(
    'SESS-1, SESS-3, SESS-4, SESS-6: 200 histories with turns and agents from %i × 200',
    { timeout: 3 * minute },
    async (part) => {
      const { wrong, faults, asks, agents } = await wrongIn(range(withTurns + part * 200, 200))
      expect(wrong).toEqual([])
      expect(faults).toBeGreaterThan(500)
      expect(asks).toBeGreaterThan(1_000)
      expect(agents).toBeGreaterThan(50)
    },
  )

  test('seeds that once violated an invariant pass', async () => {
    expect((await wrongIn(kept)).wrong).toEqual([])
  })

  test('the same seed gives the same history', { timeout: minute }, async () => {
    for (const seed of [...range(1, 40), ...range(withTurns, 5)])
      expect((await simulate(seed)).trace.join('\n')).toBe((await simulate(seed)).trace.join('\n'))
  })

  // These two are rare; the search starts near a seed that detects them.
  const from: Record<string, number> = { 'keys of one worker only': 960, 'outcomes are overwritten': 110 }
  test.for(Object.keys(plants))(
    'the simulation detects a planted defect: %s',
    { timeout: 3 * minute },
    async (plant) => {
      let seen: History['broken'] = []
      for (let seed = from[plant] ?? 1; seed <= 6_000 && seen.length === 0; seed++)
        seen = (await simulate(seed, plant)).broken
      expect(seen).not.toEqual([])
    },
  )

  test.for(Object.keys(turnPlants))(
    'the simulation detects a planted defect of turns: %s',
    { timeout: 3 * minute },
    async (plant) => {
      let seen: History['broken'] = []
      for (let seed = withTurns; seed <= withTurns + 200 && seen.length === 0; seed++)
        seen = (await simulate(seed, plant)).broken
      expect(seen).not.toEqual([])
    },
  )
}

if (only === null) describe('simulation', all)
else
  test('the history of PAWL_SEED violates no invariant', { timeout: minute }, async () => {
    const { trace, broken } = await simulate(only)
    console.log(trace.join('\n'))
    expect(broken).toEqual([])
  })
