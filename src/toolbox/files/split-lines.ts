// Access to the lines of a text without splitting it: a file may have millions of lines, a page has few.

export interface LineRange {
  /** The first line, counted from 0. */
  readonly from: number
  readonly count: number
}

/** A last line without a line ending counts; the empty text after a final line ending does not. */
export function countLines(text: string): number {
  const lines = countEndings(text)
  return text === '' || text.endsWith('\n') ? lines : lines + 1
}

const ending = 10

/** Counts character by character: millions of indexOf calls take many times as long. */
export function countEndings(text: string): number {
  let endings = 0
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) === ending) endings++
  return endings
}

/** The lines of a text by number, counted from 0, each with its ending. Costs four bytes per line. */
export class Lines {
  readonly text: string
  readonly count: number
  readonly #starts: Uint32Array

  constructor(text: string) {
    this.text = text
    this.count = countLines(text)
    this.#starts = new Uint32Array(this.count)
    for (let at = 0, line = 1; line < this.count; at++)
      if (text.charCodeAt(at) === ending) this.#starts[line++] = at + 1
  }

  at(line: number): string {
    return this.text.slice(this.startOf(line), this.startOf(line + 1))
  }

  /** Start of a line; after the last line, the end of the text. */
  startOf(line: number): number {
    return this.#starts[line] ?? this.text.length
  }

  /** The line that contains a position. */
  lineAt(position: number): number {
    let [low, high] = [0, this.count]
    while (low + 1 < high) {
      const middle = (low + high) >>> 1
      if (this.startOf(middle) <= position) low = middle
      else high = middle
    }
    return low
  }
}

/** The lines of a range, without their endings. */
export function linesIn(text: string, { from, count }: LineRange): string[] {
  let start = 0
  for (let skipped = 0; skipped < from; skipped++) {
    const end = text.indexOf('\n', start)
    if (end === -1) return []
    start = end + 1
  }
  const lines: string[] = []
  while (lines.length < count && start < text.length) {
    const end = text.indexOf('\n', start)
    const line = text.slice(start, end === -1 ? text.length : end)
    lines.push(line.endsWith('\r') ? line.slice(0, -1) : line)
    if (end === -1) break
    start = end + 1
  }
  return lines
}
