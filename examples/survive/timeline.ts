// Draws what happened as bars over time: one row for each worker, step or call.

import { styleText } from 'node:util'

export interface Span {
  readonly row: string
  readonly from: number
  readonly to: number
  /** How it ended: by itself, cut off or failed, or on and on with nobody listening. */
  readonly end: 'done' | 'killed' | 'unheard'
}

type Style = Parameters<typeof styleText>[0]

export const paint = (style: Style, text: string): string => styleText(style, text)

const looks = { done: ['green', '█'], killed: ['yellow', '█'], unheard: ['dim', '·'] } as const

/** `words` stand after the bars of their row; give a smaller width then, so that 80 columns hold both. */
export function timeline(rows: readonly string[], spans: readonly Span[], words: Record<string, string> = {}, width = 56): string {
  const end = Math.max(...spans.map(({ to }) => to))
  const column = (at: number): number => Math.min(width - 1, Math.floor((at / end) * width))
  const label = Math.max(...rows.map((row) => row.length)) + 2
  const lines = rows.map((row) => {
    const cells: string[] = Array.from({ length: width + 1 }, () => ' ')
    for (const span of spans.filter((each) => each.row === row)) {
      const [style, block] = looks[span.end]
      for (let at = column(span.from); at <= column(span.to); at++) cells[at] = paint(style, row === 'worker' ? '─' : block)
    }
    // Marks last: the next bar may begin where this one was cut off.
    for (const span of spans) if (span.row === row && span.end === 'killed') cells[column(span.to)] = paint('red', '✗')
    return `  ${row.padEnd(label)}${cells.join('')} ${words[row] ?? ''}`.trimEnd()
  })
  const scale = `${''.padEnd(label + 2)}0${`${Math.round(end)} ms`.padStart(width)}`
  return [paint('dim', scale), ...lines].join('\n')
}
