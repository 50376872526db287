// Matches a pattern against texts. Runs only in the search thread: a pattern from a model may run forever, and the
// thread can be killed (search-in-thread.ts).

export interface SearchQuestion {
  readonly pattern: string
  readonly files: readonly { readonly path: string; readonly text: string }[]
  /** Context lines around each match. */
  readonly before: number
  readonly after: number
  readonly offset: number
  readonly limit: number
  /** Approximate size limit of the returned matches. */
  readonly maxBytes: number
}

export interface Match {
  readonly path: string
  readonly line_number: number
  readonly line: string
  readonly before?: readonly string[]
  readonly after?: readonly string[]
}

export type SearchAnswer =
  | { readonly matches: readonly Match[]; readonly total: number; readonly bytes: number }
  /** The pattern is not a valid regular expression. */
  | { readonly invalid: string }
  /** The pattern overflowed the stack of the matcher. */
  | { readonly excessive: string }

/** Maximum number of characters shown of a line. */
const maxLineLength = 500
/** Characters shown before the match in a shortened line. */
const leadLength = 100

export function search(question: SearchQuestion): SearchAnswer {
  let expression: RegExp
  try {
    expression = compilePattern(question.pattern)
  } catch (error) {
    return { invalid: (error as Error).message }
  }
  try {
    return findMatches(expression, question)
  } catch (error) {
    // Stack overflow in the matcher: "Maximum call stack size exceeded".
    return { excessive: (error as Error).message }
  }
}

/** Accepts leading inline flags such as (?i), as other engines do. Property classes (\p{…}) need Unicode mode. */
function compilePattern(pattern: string): RegExp {
  const [flags = '', letters = ''] = /^\(\?([ims]+)\)/.exec(pattern) ?? []
  const unicode = /\\[pPu]\{/.test(pattern) ? 'u' : ''
  return new RegExp(pattern.slice(flags.length), [...new Set(`${letters}${unicode}`)].join(''))
}

function findMatches(
  expression: RegExp,
  { files, before, after, offset, limit, maxBytes }: SearchQuestion,
): SearchAnswer {
  const matches: Match[] = []
  let [total, bytes] = [0, 0]
  let full = false
  for (const { path, text } of files) {
    // A byte order mark is not part of the first line.
    const lines = (text.startsWith('\ufeff') ? text.slice(1) : text).split('\n')
    if (lines.at(-1) === '') lines.pop()
    for (const [at, line] of lines.entries()) {
      const hit = expression.exec(withoutCarriageReturn(line))
      if (!hit) continue
      total++
      if (full || total <= offset || matches.length >= limit) continue
      const around = (from: number, to: number): string[] =>
        lines.slice(Math.max(0, from), to).map((each) => excerpt(withoutCarriageReturn(each), 0))
      const match = {
        path,
        line_number: at + 1,
        line: excerpt(withoutCarriageReturn(line), hit.index),
        ...(before > 0 ? { before: around(at - before, at) } : {}),
        ...(after > 0 ? { after: around(at + 1, at + 1 + after) } : {}),
      }
      const more = Buffer.byteLength(JSON.stringify(match)) + 1
      full = matches.length > 0 && bytes + more > maxBytes
      if (full) continue
      matches.push(match)
      bytes += more
    }
  }
  return { matches, total, bytes }
}

const withoutCarriageReturn = (line: string): string => (line.endsWith('\r') ? line.slice(0, -1) : line)

/** Shortens a long line to the part around the match. */
function excerpt(line: string, at: number): string {
  if (line.length <= maxLineLength) return line
  const from = Math.min(Math.max(0, at - leadLength), line.length - maxLineLength)
  const part = line.slice(from, from + maxLineLength).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '')
  return `${from > 0 ? '…' : ''}${part}${from + maxLineLength < line.length ? '…' : ''}`
}
