// A text that may be far larger than what will be shown of it, counted once (VAL-7). fit asks it for counts of any part, and for
// the lines of trouble in it, as often as it needs to find a view that fits.

import { bytesOf, isPairAt } from './text-size.ts'

/** Counts are kept at marks this far apart, so a count costs at most the way between two of them. */
const apart = 64 * 1024

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
  #trouble: Trouble | undefined

  constructor(text: string) {
    this.text = text
    let mark: Mark = { at: 0, bytes: 0, breaks: 0 }
    while (mark.at < text.length) {
      this.#marks.push(mark)
      // Counted from the first: a mark that moved to keep a pair whole moves no other.
      const next = Math.min(text.length, this.#marks.length * apart)
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

  /** Newlines. */
  breaksOf(from: number, to: number): number {
    const before = (index: number): number => {
      const mark = this.#markBefore(index)
      return mark.breaks + countBreaks(this.text, mark.at, index)
    }
    return before(to) - before(from)
  }

  /** Lines as people count them: a newline at the very end begins no line. */
  linesOf(from: number, to: number): number {
    return this.breaksOf(from, to) + (to > from && !this.isLineStart(to) ? 1 : 0)
  }

  isLineStart(at: number): boolean {
    return at === 0 || this.text.charCodeAt(at - 1) === 0x0a
  }

  get trouble(): Trouble {
    return (this.#trouble ??= findTrouble(this.text))
  }

  /** A mark that moved stands inside no character, so none that is asked for lies before it. */
  #markBefore(index: number): Mark {
    return this.#marks[Math.floor(index / apart)] as Mark
  }
}

function countBreaks(text: string, from: number, to: number): number {
  let breaks = 0
  for (let at = from; at < to; at++) if (text.charCodeAt(at) === 0x0a) breaks++
  return breaks
}

const words =
  'error|exception|fail|panic|fatal|traceback|abort|denied|refused|segfault|segmentation fault|timed out|out of memory|unhandled|critical'
const errorsOrWarnings = new RegExp(`(${words})|warn`, 'gi')
const errorsOnly = new RegExp(`(${words})`, 'gi')

/** "0 errors", "no failures", "failed: 0" tell of none. */
const deniedBefore = /(?:^|[^\w.])(?:0|no|zero|without)[ _-]$/i
const deniedAfter = /^\w*["']?\s?[:=]\s?0\b/

/** More than any budget shows. */
const mostFound = 1000
/** A text that denies trouble more often than this is believed no further: checking each would cost more than showing some. */
const mostDenied = 10_000

/** Where errors and warnings stand, at most one error a line, in the order of the text. */
interface Trouble {
  readonly errors: readonly number[]
  readonly warnings: readonly number[]
}

/** One search, which ends as soon as more was found than can be shown. */
function findTrouble(text: string): Trouble {
  const [errors, warnings]: [number[], number[]] = [[], []]
  let [at, denied] = [0, 0]
  while (errors.length < mostFound) {
    const pattern = warnings.length < mostFound ? errorsOrWarnings : errorsOnly
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (!match) break
    at = pattern.lastIndex
    if (denied < mostDenied && isDenied(text, match.index, at)) denied++
    else if (match[1] === undefined) warnings.push(match.index)
    else {
      errors.push(match.index)
      const end = text.indexOf('\n', at)
      at = end === -1 ? text.length : end
    }
  }
  return { errors, warnings }
}

const isDenied = (text: string, from: number, to: number): boolean =>
  deniedBefore.test(text.slice(Math.max(0, from - 10), from)) || deniedAfter.test(text.slice(to, to + 20))
