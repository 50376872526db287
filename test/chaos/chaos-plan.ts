// How much chaos: what runs with every change, and what `npm run chaos -- --full` runs before a release.

import type { Server } from '../kit/stores/postgres-server.ts'
import { type Fault, type Report, runRound } from './kill-driver.ts'
import { runTaskRound } from './task-round.ts'

export interface Part {
  readonly on: 'sqlite' | 'postgres'
  readonly fault: Fault
  readonly rounds: number
  /** Of each round. */
  readonly kills: number
}

export const always: readonly Part[] = [
  { on: 'sqlite', fault: 'kill at a random moment', rounds: 3, kills: 10 },
  { on: 'sqlite', fault: 'kill at a write', rounds: 2, kills: 10 },
  { on: 'sqlite', fault: 'stop in an effect', rounds: 1, kills: 5 },
  { on: 'postgres', fault: 'kill at a random moment', rounds: 2, kills: 10 },
  { on: 'postgres', fault: 'kill at a write', rounds: 1, kills: 10 },
  { on: 'postgres', fault: 'stop in an effect', rounds: 1, kills: 5 },
  { on: 'postgres', fault: 'the server crashes', rounds: 1, kills: 5 },
  { on: 'postgres', fault: 'connections are cut', rounds: 1, kills: 5 },
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

/** Of tasks: how many rounds, and for how long there is chaos in each. */
export interface TaskPart {
  readonly on: 'sqlite' | 'postgres'
  readonly workers: 2 | 3
  readonly rounds: number
  readonly ms: number
}

export const alwaysTasks: readonly TaskPart[] = [
  { on: 'sqlite', workers: 2, rounds: 1, ms: 1_500 },
  { on: 'sqlite', workers: 3, rounds: 1, ms: 1_500 },
  { on: 'postgres', workers: 2, rounds: 1, ms: 1_500 },
  { on: 'postgres', workers: 3, rounds: 1, ms: 1_500 },
]

export const fullTasks: readonly TaskPart[] = alwaysTasks.map((part) => ({ ...part, rounds: 20, ms: 10_000 }))

export interface Total {
  kills: number
  hits: number
  readonly wrong: string[]
}

export async function runTaskPart(part: TaskPart, from: number, server: Server | null): Promise<Total & { tasks: number }> {
  const total = { kills: 0, hits: 0, tasks: 0, wrong: [] as string[] }
  // On a slow machine a round may find no work on its way: then there are a few more.
  for (let seed = from; seed < from + part.rounds || (total.hits === 0 && seed < from + part.rounds + 5); seed++) {
    const { on, workers, ms } = part
    const { violations, ...report } = await runTaskRound({ seed, workers, ms, ...(on === 'postgres' && server ? { on: server } : {}) })
    total.kills += report.kills + report.stops
    total.hits += report.again
    total.tasks += report.tasks
    total.wrong.push(...violations.map((violation) => `seed ${seed}: ${violation}`))
  }
  return total
}

/** All rounds of a part, from a seed on, and more if none found work on its way. What is wrong names the seed of its round. */
export async function runPart(
  part: Part,
  from: number,
  server: Server | null,
  after: (seed: number, report: Report) => void = () => {},
): Promise<Total> {
  const total: Total = { kills: 0, hits: 0, wrong: [] }
  for (let seed = from; seed < from + part.rounds || (total.hits === 0 && seed < from + part.rounds + 5); seed++) {
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
