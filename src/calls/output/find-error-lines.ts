// Selects the error lines of a long text with some context, so that they survive truncation (truncate-text.ts). Errors
// are selected before warnings, so many warnings cannot hide an error. Pure.

import { graphemeBoundary, costOf, type Encoding, type Room, type TextRange } from './text-size.ts'
import type { LongText } from './measure-long-text.ts'

/** Lines of context before and after an error line. */
const contextLines = 2
/** Longer context lines are omitted. */
const maxContextLength = 400

export interface SelectedLines {
  readonly ranges: readonly TextRange[]
  /** Size of the ranges including their gap markers. */
  readonly bytes: number
  readonly lines: number
}

export function selectErrorLines(long: LongText, room: Room, encoding: Encoding, marker: number): SelectedLines {
  const selector = new LineSelector(long, room, encoding, marker)
  if (selector.selectAll(long.errorPositions.errors)) selector.selectAll(long.errorPositions.warnings)
  return { ranges: selector.ranges, bytes: selector.bytes, lines: selector.lines }
}

/** Selects ranges in text order until the available bytes or lines are used up. */
class LineSelector {
  readonly ranges: TextRange[] = []
  bytes = 0
  lines = 0
  readonly #long: LongText
  readonly #room: Room
  readonly #encoding: Encoding
  readonly #marker: number

  constructor(long: LongText, room: Room, place: Encoding, marker: number) {
    this.#long = long
    this.#room = room
    this.#encoding = place
    this.#marker = marker
  }

  /** Returns false when the available bytes or lines are used up. */
  selectAll(found: readonly number[]): boolean {
    let done = 0
    for (const at of found) {
      if (at < done) continue
      const line = this.#line(at)
      const taken =
        this.#take(this.#withContext(line, done)) ?? this.#take({ from: Math.max(done, line.from), to: line.to })
      if (!taken) return false
      done = taken.to
    }
    return true
  }

  /** The line at this index, or the part around the index if the line is very long. The search distance is limited. */
  #line(at: number): TextRange {
    const reach = Math.max(100, Math.floor(this.#room.bytes / 16))
    const from = this.#lineStart(at, reach) ?? graphemeBoundary(this.#long.text, at - reach, 'after')
    const to = this.#lineEnd(at, reach * 3) ?? graphemeBoundary(this.#long.text, at + reach * 3, 'before')
    return { from, to }
  }

  #withContext(line: TextRange, done: number): TextRange {
    let { from, to } = line
    for (let count = 0; count < contextLines && from > done && this.#long.isLineStart(from); count++) {
      const start = this.#lineStart(from - 1, maxContextLength)
      if (start === undefined) break
      from = start
    }
    for (let step = 0; step < contextLines && to < this.#long.text.length && this.#long.isLineStart(to); step++) {
      const end = this.#lineEnd(to, maxContextLength)
      if (end === undefined) break
      to = end
    }
    return { from: Math.max(done, from), to }
  }

  /** Start of the line at this index, if it is within reach. */
  #lineStart(at: number, reach: number): number | undefined {
    const base = Math.max(0, at - reach)
    const found = this.#long.text.slice(base, at).lastIndexOf('\n')
    return found !== -1 ? base + found + 1 : base === 0 ? 0 : undefined
  }

  /** Start of the next line, if it is within reach. */
  #lineEnd(at: number, reach: number): number | undefined {
    const found = this.#long.text.slice(at, at + reach).indexOf('\n')
    return found !== -1 ? at + found + 1 : at + reach >= this.#long.text.length ? this.#long.text.length : undefined
  }

  #take(range: TextRange): TextRange | undefined {
    // Adjacent ranges have no gap marker between them.
    const apart = this.ranges.at(-1)?.to !== range.from
    const bytes = costOf(this.#long.text.slice(range.from, range.to), this.#encoding) + (apart ? this.#marker : 0)
    const lines = this.#long.breaksOf(range.from, range.to) + (apart ? 1 : 0)
    if (this.bytes + bytes > this.#room.bytes || this.lines + lines > this.#room.lines) return undefined
    this.bytes += bytes
    this.lines += lines
    this.ranges.push(range)
    return range
  }
}
