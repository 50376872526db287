// Prints the measurements as tables, and the goals with their ratios.

import { median } from '../kit/statistics.ts'
import type { Entry } from './contender.ts'
import type { Measure, Shape } from './workload.ts'

export interface Summary {
  readonly rounds: number
  readonly stepsPerSecond: number
  readonly callsPerSecond: number
  readonly p50: number
  readonly p99: number
  readonly loopDelay: number
  readonly commitsPerCall: number | undefined
}

type Opener = Entry['opener']

export class Results {
  readonly #measures = new Map<string, Measure[]>()

  add(of: Opener, shape: Shape, measure: Measure): void {
    const key = keyOf(of, shape)
    this.#measures.set(key, [...(this.#measures.get(key) ?? []), measure])
  }

  of(opener: Opener, shape: Shape): Summary | undefined {
    const all = this.#measures.get(keyOf(opener, shape))
    if (!all) return undefined
    const over = (value: (measure: Measure) => number): number => median(all.map(value))
    const callsPerSecond = over(({ calls, seconds }) => calls / seconds)
    return {
      rounds: all.length,
      stepsPerSecond: callsPerSecond * shape.steps,
      callsPerSecond,
      p50: over(({ p50 }) => p50),
      p99: over(({ p99 }) => p99),
      loopDelay: over(({ loopDelay }) => loopDelay),
      commitsPerCall: all[0]?.commits === undefined ? undefined : over(({ commits, calls }) => (commits ?? 0) / calls),
    }
  }
}

const keyOf = (of: Opener, { steps, callers }: Shape): string => `${of} ${steps} ${callers}`

export const shown = (value: number | undefined): string =>
  value === undefined || Number.isNaN(value)
    ? '–'
    : value >= 100
      ? Math.round(value).toLocaleString('en')
      : value >= 10
        ? value.toFixed(1)
        : value.toFixed(value < 0.1 ? 4 : 2)

export function printTables(
  entries: readonly Entry[],
  shapes: readonly Shape[],
  results: Results,
  rounds: number,
): void {
  for (const shape of shapes) {
    console.log(
      `\n${shape.steps} step${shape.steps === 1 ? '' : 's'}, ${shape.callers} caller${shape.callers === 1 ? '' : 's'}\n`,
    )
    console.log('| | steps/s | calls/s | of its floor | p50 ms | p99 ms | event loop p99 ms | commits per call |')
    console.log(`|---|${'---:|'.repeat(7)}`)
    for (const { opener, name, floor } of entries) {
      const own = results.of(opener, shape)
      if (!own) continue
      const ratio = own.stepsPerSecond / (results.of(floor, shape)?.stepsPerSecond ?? Number.NaN)
      const cells = [own.stepsPerSecond, own.callsPerSecond, ratio, own.p50, own.p99, own.loopDelay, own.commitsPerCall]
      console.log(`| ${name}${own.rounds < rounds ? ' (once: too slow)' : ''} | ${cells.map(shown).join(' | ')} |`)
    }
  }
}

export function printGoals(entries: readonly Entry[], results: Results): void {
  const many = { steps: 5, callers: 50 }
  const alone = { steps: 1, callers: 1 }
  const rate = (opener: Opener): number => results.of(opener, many)?.stepsPerSecond ?? Number.NaN
  const times = (value: number | undefined, of: number | undefined): number =>
    (value ?? Number.NaN) / (of ?? Number.NaN)
  const slower = (opener: Opener, floor: Opener, shape: Shape): number =>
    times(results.of(opener, shape)?.p50, results.of(floor, shape)?.p50)
  const peers = entries.filter(({ name }) => !name.startsWith('floor') && !name.startsWith('Pawl'))
  const best = peers.toSorted((a, b) => (rate(b.opener) || 0) - (rate(a.opener) || 0))[0]
  const kill = results.of('pawl-sqlite-process', { steps: 5, callers: 1 })
  const delay = (opener: Opener): number =>
    Math.max(...[1, 5, 20].map((steps) => results.of(opener, { steps, callers: 50 })?.loopDelay ?? Number.NaN))
  const goals: readonly (readonly [
    what: string,
    measured: number | undefined,
    bound: 'at least' | 'at most',
    goal: number,
    unit: string,
  ])[] = [
    [
      `SQLite, 5 steps, 50 callers: of the best peer (${best?.name ?? 'none'})`,
      times(rate('pawl-sqlite-power'), best && rate(best.opener)),
      'at least',
      25,
      '×',
    ],
    [
      'SQLite, 5 steps, 50 callers: of the bare loop',
      times(rate('pawl-sqlite-power'), rate('sqlite-full')),
      'at least',
      0.5,
      '×',
    ],
    ['PostgreSQL, 5 steps, 50 callers: of DBOS', times(rate('pawl-postgres'), rate('dbos')), 'at least', 20, '×'],
    [
      'PostgreSQL, 5 steps, 50 callers: of the bare loop',
      times(rate('pawl-postgres'), rate('postgres-bare')),
      'at least',
      0.5,
      '×',
    ],
    [
      'SQLite, 1 step, 1 caller: p50, of the bare loop',
      slower('pawl-sqlite-power', 'sqlite-full', alone),
      'at most',
      2,
      '×',
    ],
    [
      'PostgreSQL, 1 step, 1 caller: p50, of the bare loop',
      slower('pawl-postgres', 'postgres-bare', alone),
      'at most',
      2,
      '×',
    ],
    [
      'SQLite, 5 steps, 50 callers: syncs per call',
      results.of('pawl-sqlite-power', many)?.commitsPerCall,
      'at most',
      0.3,
      '',
    ],
    [
      'PostgreSQL, 5 steps, 50 callers: syncs per call',
      results.of('pawl-postgres', many)?.commitsPerCall,
      'at most',
      0.3,
      '',
    ],
    ['SQLite `process`, 5 steps, 1 caller: p50', kill?.p50, 'at most', 0.5, 'ms'],
    [
      'the same, of the bare loop (0.5 ms where it takes 0.19)',
      slower('pawl-sqlite-process', 'sqlite-normal', { steps: 5, callers: 1 }),
      'at most',
      0.5 / 0.19,
      '×',
    ],
    [
      'SQLite, 50 callers: event-loop delay p99, worst of 1, 5, 20 steps',
      delay('pawl-sqlite-power'),
      'at most',
      20,
      'ms',
    ],
    ['PostgreSQL, 50 callers: the same', delay('pawl-postgres'), 'at most', 20, 'ms'],
  ]
  console.log('\n| goal | measured | goal | |\n|---|---:|---:|---|')
  for (const [what, measured, bound, goal, unit] of goals) {
    const known = measured !== undefined && !Number.isNaN(measured)
    const met = known && (bound === 'at least' ? measured >= goal : measured <= goal)
    console.log(
      `| ${what} | ${shown(measured)} ${unit} | ${bound} ${shown(goal)} ${unit} | ${known ? (met ? 'met' : 'MISSED') : 'not measured'} |`,
    )
  }
}
