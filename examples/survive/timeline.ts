// Draws what happened as bars over time: one row for the workers, one for each step.

import { styleText } from 'node:util'

export interface Span {
  readonly row: string
  readonly from: number
  readonly to: number
  /** How it ended. */
  readonly end: 'done' | 'killed'
}

const width = 56
type Style = Parameters<typeof styleText>[0]

export const paint = (style: Style, text: string): string => styleText(style, text)

export function timeline(rows: readonly string[], spans: readonly Span[]): string {
  const end = Math.max(...spans.map(({ to }) => to))
  const column = (at: number): number => Math.min(width - 1, Math.floor((at / end) * width))
  const label = Math.max(...rows.map((row) => row.length)) + 2
  const lines = rows.map((row) => {
    const cells: string[] = Array.from({ length: width + 1 }, () => ' ')
    for (const span of spans.filter((each) => each.row === row)) {
      const [from, to] = [column(span.from), column(span.to)]
      for (let at = from; at <= to; at++) cells[at] = paint(span.end === 'killed' ? 'yellow' : 'green', row === 'worker' ? '─' : '█')
    }
    // Marks last: the next bar may begin where this one was cut off.
    for (const span of spans) if (span.row === row && span.end === 'killed') cells[column(span.to)] = paint('red', '✗')
    return `  ${row.padEnd(label)}${cells.join('').trimEnd()}`
  })
  const scale = `${''.padEnd(label + 2)}0${`${Math.round(end)} ms`.padStart(width)}`
  return [paint('dim', scale), ...lines].join('\n')
}
