// Ratios, their spread, and the ratios that moved.

import { median, quantile } from '../kit/statistics.ts'

/** Medians of one round, in microseconds; `other` is the checkout of `--compare`. */
export interface Round {
  readonly floor: number
  readonly pawl: number
  readonly other?: number
}

export interface Known {
  readonly ratio: number
  readonly spread: number
}

export interface Row extends Known {
  readonly name: string
  readonly floor: number
  readonly pawl: number
  readonly before: number
  /** Relative change of the ratio; NaN without a ratio to compare with. */
  readonly change: number
  readonly moved: boolean
}

const limit = 0.1

/** Interquartile range of the rounds relative to their median: a change within it may be noise. */
const spreadOf = (values: readonly number[]): number =>
  (quantile(values, 0.75) - quantile(values, 0.25)) / median(values)

export function rowOf(name: string, rounds: readonly Round[], baseline: Known | undefined): Row {
  const of = (value: (round: Round) => number): number[] => rounds.map(value)
  const ratio = median(of(({ pawl, floor }) => pawl / floor))
  const compared = rounds.some(({ other }) => other !== undefined)
  const quotients = of(({ pawl, other = Number.NaN }) => pawl / other)
  const before = compared
    ? median(of(({ other = Number.NaN, floor }) => other / floor))
    : (baseline?.ratio ?? Number.NaN)
  // Both checkouts are measured in the same round, so their quotient cancels a slowdown of the whole round.
  const change = (compared ? median(quotients) : ratio / before) - 1
  const spread = spreadOf(compared ? quotients : of(({ pawl, floor }) => pawl / floor))
  const noise = Math.max(limit, spread, compared ? 0 : (baseline?.spread ?? 0))
  return {
    name,
    floor: median(of(({ floor }) => floor)),
    pawl: median(of(({ pawl }) => pawl)),
    ratio,
    spread,
    before,
    change,
    moved: Math.abs(change) > noise,
  }
}

const time = (us: number): string =>
  us >= 1_000 ? `${(us / 1_000).toFixed(us >= 10_000 ? 1 : 2)} ms` : `${us.toPrecision(3)} µs`
const times = (ratio: number): string => (Number.isNaN(ratio) ? '–' : `${ratio.toFixed(ratio >= 100 ? 0 : 2)} ×`)
const percent = (part: number, sign = ''): string => (Number.isNaN(part) ? '–' : `${sign}${(part * 100).toFixed(0)} %`)

export function printTable(rows: readonly Row[], before: string): void {
  const header = ['', 'floor', 'Pawl', 'ratio', 'spread', before, 'change', '']
  const lines = rows.map((row) => [
    row.name,
    time(row.floor),
    time(row.pawl),
    times(row.ratio),
    percent(row.spread),
    times(row.before),
    percent(row.change, row.change > 0 ? '+' : ''),
    row.moved ? 'moved' : '',
  ])
  const widths = header.map((_, at) => Math.max(...[header, ...lines].map((line) => line[at]?.length ?? 0)))
  const print = (line: readonly string[]): void => {
    const cells = line.map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
    console.log(`| ${cells.join(' | ')} |`)
  }
  print(header)
  print(widths.map((width, at) => (at === 0 ? '-'.repeat(width) : `${'-'.repeat(Math.max(0, width - 1))}:`)))
  for (const line of lines) print(line)
  const moved = rows
    .filter((row) => row.moved)
    .map((row) => `${row.name} (${percent(row.change, row.change > 0 ? '+' : '')})`)
  console.log(
    `\n${moved.length > 0 ? `moved by more than 10 %: ${moved.join(', ')}` : 'nothing moved by more than 10 %'}`,
  )
}
