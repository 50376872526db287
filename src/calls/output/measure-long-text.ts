// A large text with precomputed byte and line counts. The truncation code asks it for the counts of any range and for
// the positions of error lines while it searches for a view that fits the budget.

import { bytesOf, isPairAt } from './text-size.ts'

/** Interval between positions with stored counts. It limits how much text must be counted for any range. */
const markDistance = 64 * 1024

interface Mark {
  readonly at: number
  readonly bytes: number
  readonly breaks: number
}

export class LongText {
  readonly text: string
  readonly bytes: number
  readonly lines: number
  readonly #marks: Mark[] = []
  #errorPositions: ErrorPositions | undefined

  constructor(text: string) {
    this.text = text
    let mark: Mark = { at: 0, bytes: 0, breaks: 0 }
    while (mark.at < text.length) {
      this.#marks.push(mark)
      // Computed from the start, so a mark that was shifted to keep a surrogate pair whole does not shift later marks.
      const next = Math.min(text.length, this.#marks.length * markDistance)
      const at = isPairAt(text, next - 1) ? next + 1 : next
      mark = {
        at,
        bytes: mark.bytes + bytesOf(text.slice(mark.at, at)),
        breaks: mark.breaks + countBreaks(text, mark.at, at),
      }
    }
    this.#marks.push(mark)
    this.bytes = mark.bytes
    this.lines = this.linesOf(0, text.length)
  }

  bytesOf(from: number, to: number): number {
    const before = (index: number): number => {
      const mark = this.#markBefore(index)
      return mark.bytes + bytesOf(this.text.slice(mark.at, index))
    }
    return before(to) - before(from)
  }

  /** The number of newlines in the range. */
  breaksOf(from: number, to: number): number {
    const before = (index: number): number => {
      const mark = this.#markBefore(index)
      return mark.breaks + countBreaks(this.text, mark.at, index)
    }
    return before(to) - before(from)
  }

  /** The number of lines in the range. A newline at the very end does not start another line. */
  linesOf(from: number, to: number): number {
    return this.breaksOf(from, to) + (to > from && !this.isLineStart(to) ? 1 : 0)
  }

  isLineStart(at: number): boolean {
    return at === 0 || this.text.charCodeAt(at - 1) === 0x0a
  }

  get errorPositions(): ErrorPositions {
    return (this.#errorPositions ??= findErrorPositions(this.text))
  }

  /** A mark moved past a surrogate pair is never after `index`, because callers never pass an index inside a pair. */
  #markBefore(index: number): Mark {
    return this.#marks[Math.floor(index / markDistance)] as Mark
  }
}

function countBreaks(text: string, from: number, to: number): number {
  let breaks = 0
  for (let at = from; at < to; at++) if (text.charCodeAt(at) === 0x0a) breaks++
  return breaks
}

const errorWords =
  'error|exception|fail|panic|fatal|traceback|abort|denied|refused|segfault|segmentation fault|timed out|out of memory|unhandled|critical'
const errorsOrWarnings = new RegExp(`(${errorWords})|warn`, 'gi')
const errorsOnly = new RegExp(`(${errorWords})`, 'gi')

/** "0 errors", "no failures" and "failed: 0" are not errors. */
const negatedBefore = /(?:^|[^\w.])(?:0|no|zero|without)[ _-]$/i
const negatedAfter = /^\w*["']?\s?[:=]\s?0\b/

/** More positions than any budget can show. */
const maxPositions = 1000
/** After this many negations further matches count as errors without a check, to bound the work. */
const maxNegations = 10_000

/** Indexes of errors and warnings in text order, at most one error per line. */
interface ErrorPositions {
  readonly errors: readonly number[]
  readonly warnings: readonly number[]
}

/** One pass over the text. Stops once more errors were found than can be shown. */
function findErrorPositions(text: string): ErrorPositions {
  const [errors, warnings]: [number[], number[]] = [[], []]
  let [at, denied] = [0, 0]
  while (errors.length < maxPositions) {
    const pattern = warnings.length < maxPositions ? errorsOrWarnings : errorsOnly
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (!match) break
    at = pattern.lastIndex
    if (denied < maxNegations && isNegated(text, match.index, at)) denied++
    else if (match[1] === undefined) warnings.push(match.index)
    else {
      errors.push(match.index)
      const end = text.indexOf('\n', at)
      at = end === -1 ? text.length : end
    }
  }
  return { errors, warnings }
}

const isNegated = (text: string, from: number, to: number): boolean =>
  negatedBefore.test(text.slice(Math.max(0, from - 10), from)) || negatedAfter.test(text.slice(to, to + 20))
