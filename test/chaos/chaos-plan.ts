// Amounts of chaos: the parts that run with every change, and those of `npm run chaos -- --full` before a release.

import type { Server } from '../kit/stores/postgres-server.ts'
import { type Fault, type Report, runRound } from './kill-driver.ts'
import { runTaskRound } from './task-round.ts'

export interface Part {
  readonly on: 'sqlite' | 'postgres'
  readonly fault: Fault
  readonly rounds: number
  /** Kills per round. */
  readonly kills: number
}

/** Each fault with its kills per round, and its rounds with every change and before a release. */
const amounts = [
  { on: 'sqlite', fault: 'kill at a random moment', kills: 10, rounds: { always: 3, full: 250 } },
  { on: 'sqlite', fault: 'kill at a write', kills: 10, rounds: { always: 2, full: 250 } },
  { on: 'sqlite', fault: 'stop in an effect', kills: 5, rounds: { always: 1, full: 60 } },
  { on: 'postgres', fault: 'kill at a random moment', kills: 10, rounds: { always: 2, full: 100 } },
  { on: 'postgres', fault: 'kill at a write', kills: 10, rounds: { always: 1, full: 100 } },
  { on: 'postgres', fault: 'stop in an effect', kills: 5, rounds: { always: 1, full: 40 } },
  { on: 'postgres', fault: 'the server crashes', kills: 5, rounds: { always: 1, full: 20 } },
  { on: 'postgres', fault: 'connections are cut', kills: 5, rounds: { always: 1, full: 100 } },
] as const

export const always: readonly Part[] = amounts.map((part) => ({ ...part, rounds: part.rounds.always }))
export const full: readonly Part[] = amounts.map((part) => ({ ...part, rounds: part.rounds.full }))

/** A part with task workers: the number of rounds and the duration of the faults in each. */
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

export async function runTaskPart(
  part: TaskPart,
  from: number,
  server: Server | null,
): Promise<Total & { tasks: number }> {
  const total = { kills: 0, hits: 0, tasks: 0, wrong: [] as string[] }
  // On a slow machine a fault may hit an idle worker: run up to five more rounds.
  for (let seed = from; seed < from + part.rounds || (total.hits === 0 && seed < from + part.rounds + 5); seed++) {
    const { on, workers, ms } = part
    const { violations, ...report } = await runTaskRound({
      seed,
      workers,
      ms,
      ...(on === 'postgres' && server ? { on: server } : {}),
    })
    total.kills += report.kills + report.stops
    total.hits += report.again
    total.tasks += report.tasks
    total.wrong.push(...violations.map((violation) => `seed ${seed}: ${violation}`))
  }
  return total
}

/**
 * Runs all rounds of a part from a seed, and up to five more if no fault hit running work. Each violation names its
 * seed.
 */
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
