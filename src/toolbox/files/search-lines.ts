// What the search thread does with texts and a pattern. Runs there only: a pattern of a model's making may take for ever, and the thread can
// be killed (search-worker.ts).

export interface SearchQuestion {
  readonly pattern: string
  readonly files: readonly { readonly path: string; readonly text: string }[]
  /** Lines around each match. */
  readonly before: number
  readonly after: number
  readonly offset: number
  readonly limit: number
  /** Of the matches that are given back, about. */
  readonly mostBytes: number
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
  /** It is no regular expression. */
  | { readonly invalid: string }
  /** It needs more of the machine than there is. */
  | { readonly excessive: string }

/** Of a line that is shown. */
const longestLine = 500
/** What is shown before the match in a line that is too long. */
const lead = 100

export function search(question: SearchQuestion): SearchAnswer {
  let expression: RegExp
  try {
    expression = compiled(question.pattern)
  } catch (error) {
    return { invalid: (error as Error).message }
  }
  try {
    return found(expression, question)
  } catch (error) {
    // The stack of the matcher: "Maximum call stack size exceeded".
    return { excessive: (error as Error).message }
  }
}

/** Flags may lead the pattern, as other engines have it: (?i). Classes by property need the Unicode mode. */
function compiled(pattern: string): RegExp {
  const [flags = '', letters = ''] = /^\(\?([ims]+)\)/.exec(pattern) ?? []
  const unicode = /\\[pPu]\{/.test(pattern) ? 'u' : ''
  return new RegExp(pattern.slice(flags.length), [...new Set(`${letters}${unicode}`)].join(''))
}

function found(expression: RegExp, { files, before, after, offset, limit, mostBytes }: SearchQuestion): SearchAnswer {
  const matches: Match[] = []
  let [total, bytes] = [0, 0]
  let full = false
  for (const { path, text } of files) {
    // Without a byte order mark: it is no part of the first line.
    const lines = (text.startsWith('\ufeff') ? text.slice(1) : text).split('\n')
    if (lines.at(-1) === '') lines.pop()
    for (const [at, line] of lines.entries()) {
      const place = expression.exec(bare(line))
      if (!place) continue
      total++
      if (full || total <= offset || matches.length >= limit) continue
      const around = (from: number, to: number): string[] =>
        lines.slice(Math.max(0, from), to).map((each) => shown(bare(each), 0))
      const match = {
        path,
        line_number: at + 1,
        line: shown(bare(line), place.index),
        ...(before > 0 ? { before: around(at - before, at) } : {}),
        ...(after > 0 ? { after: around(at + 1, at + 1 + after) } : {}),
      }
      const more = Buffer.byteLength(JSON.stringify(match)) + 1
      full = matches.length > 0 && bytes + more > mostBytes
      if (full) continue
      matches.push(match)
      bytes += more
    }
  }
  return { matches, total, bytes }
}

const bare = (line: string): string => (line.endsWith('\r') ? line.slice(0, -1) : line)

/** A long line as the part of it that was met. */
function shown(line: string, at: number): string {
  if (line.length <= longestLine) return line
  const from = Math.min(Math.max(0, at - lead), line.length - longestLine)
  const part = line.slice(from, from + longestLine).replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '')
  return `${from > 0 ? '…' : ''}${part}${from + longestLine < line.length ? '…' : ''}`
}
