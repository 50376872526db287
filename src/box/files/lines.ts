// The lines of a text, without making all of them: a file has up to millions, and a page a few.

export interface LineRange {
  /** The first line, counted from 0. */
  readonly from: number
  readonly count: number
}

/** A last line that is not ended counts; what follows the last ending does not. */
export function countLines(text: string): number {
  let lines = 0
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines++
  return text === '' || text.endsWith('\n') ? lines : lines + 1
}

/** Each without its ending. */
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
