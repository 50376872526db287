// How much chaos: what runs with every change, and what `npm run chaos -- --full` runs before a release.

import type { Server } from '../postgres/server.ts'
import { type Fault, type Report, runRound } from './driver.ts'

export interface Part {
  readonly on: 'sqlite' | 'postgres'
  readonly fault: Fault
  readonly rounds: number
  /** Of each round. */
  readonly kills: number
}

export const always: readonly Part[] = [
  { on: 'sqlite', fault: 'kill at a random moment', rounds: 20, kills: 10 },
  { on: 'sqlite', fault: 'kill at a write', rounds: 10, kills: 10 },
  { on: 'sqlite', fault: 'stop in an effect', rounds: 6, kills: 5 },
  { on: 'postgres', fault: 'kill at a random moment', rounds: 10, kills: 10 },
  { on: 'postgres', fault: 'kill at a write', rounds: 5, kills: 10 },
  { on: 'postgres', fault: 'stop in an effect', rounds: 4, kills: 5 },
  { on: 'postgres', fault: 'the server crashes', rounds: 2, kills: 5 },
  { on: 'postgres', fault: 'connections are cut', rounds: 2, kills: 5 },
]

export const full: readonly Part[] = [
  { on: 'sqlite', fault: 'kill at a random moment', rounds: 250, kills: 10 },
  { on: 'sqlite', fault: 'kill at a write', rounds: 250, kills: 10 },
  { on: 'sqlite', fault: 'stop in an effect', rounds: 60, kills: 5 },
  { on: 'postgres', fault: 'kill at a random moment', rounds: 100, kills: 10 },
  { on: 'postgres', fault: 'kill at a write', rounds: 100, kills: 10 },
  { on: 'postgres', fault: 'stop in an effect', rounds: 40, kills: 5 },
  { on: 'postgres', fault: 'the server crashes', rounds: 20, kills: 5 },
  { on: 'postgres', fault: 'connections are cut', rounds: 100, kills: 5 },
]

export interface Total {
  kills: number
  hits: number
  readonly wrong: string[]
}

/** All rounds of a part, from a seed on. What is wrong names the seed of its round. */
export async function runPart(
  part: Part,
  from: number,
  server: Server | null,
  after: (seed: number, report: Report) => void = () => {},
): Promise<Total> {
  const total: Total = { kills: 0, hits: 0, wrong: [] }
  for (let seed = from; seed < from + part.rounds; seed++) {
    const report = await runRound({
      seed,
      fault: part.fault,
      kills: part.kills,
      ...(part.on === 'postgres' && server ? { on: server } : {}),
    })
    total.kills += report.kills
    total.hits += report.hits
    total.wrong.push(...report.violations.map((violation) => `seed ${seed}: ${violation}`))
    after(seed, report)
  }
  return total
}
