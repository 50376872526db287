// Where the edits of edit_file belong: each old text must stand exactly once in the file as it is, and no two may overlap. Models write \n
// whatever the file has: matching is blind to that and to a byte order mark, and what is not replaced stays byte for byte.

import { fail } from '../../kernel/outcome.ts'
import { applied, diffOf, type Diff, type Edit } from './diff.ts'

export interface Replacement {
  readonly old_text: string
  readonly new_text: string
}

export interface Edited {
  readonly text: string
  readonly diff: Diff
}

const mark = '\ufeff'
const refuse = (message: string, code: string): never => {
  throw fail(message, { code, class: 'invalid_request' })
}

export function edited(path: string, given: string, replacements: readonly Replacement[]): Edited {
  const prefix = given.startsWith(mark) ? mark : ''
  const original = given.slice(prefix.length)
  const plain = original.replaceAll('\r\n', '\n')
  const edits = replacements.map((each) => editOf(plain, each)).toSorted((a, b) => a.start - b.start)
  for (const [at, edit] of edits.entries())
    if (edit.start < (edits[at - 1]?.end ?? 0)) refuse('Edits overlap in the target file', 'edits_overlap')
  const endings = windowsEndings(original)
  const ending = endings.length > countOf(plain, '\n') - endings.length ? '\r\n' : '\n'
  // A place in the file: every ending before it that is two characters there was one here.
  const placed = edits.map(({ start, end, text }) => ({
    start: start + before(endings, start),
    end: end + before(endings, end),
    text: text.replaceAll('\n', ending),
  }))
  const text = `${prefix}${applied(original, placed)}`
  if (text === given) refuse(`The edits change nothing in '${path}': every new_text is what stands there already.`, 'nothing_to_change')
  return { text, diff: diffOf(path, plain, edits) }
}

function editOf(plain: string, { old_text, new_text }: Replacement): Edit {
  const old = plainOf(old_text)
  if (old === '') refuse('old_text must not be empty', 'invalid_arguments')
  const start = plain.indexOf(old)
  if (start === -1) refuse(`Could not find an exact match for old_text: '${quoted(old)}'`, 'old_text_not_found')
  if (plain.indexOf(old, start + 1) !== -1)
    refuse(`old_text is ambiguous and matched multiple locations: '${quoted(old)}'. Give more of the text around it.`, 'old_text_ambiguous')
  return { start, end: start + old.length, text: plainOf(new_text, false) }
}

const plainOf = (text: string, strip = true): string => (strip && text.startsWith(mark) ? text.slice(1) : text).replaceAll('\r\n', '\n')
const quoted = (text: string): string => (text.length <= 120 ? text : `${text.slice(0, 119).toWellFormed()}…`)

/** Where \r\n stands, as places in the text where they are \n. */
function windowsEndings(text: string): number[] {
  const found: number[] = []
  for (let at = text.indexOf('\r\n'); at !== -1; at = text.indexOf('\r\n', at + 2)) found.push(at - found.length)
  return found
}

function countOf(text: string, part: string): number {
  let count = 0
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + 1)) count++
  return count
}

/** How many of the places, which are in order, come before this one. */
function before(places: readonly number[], position: number): number {
  let [low, high] = [0, places.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((places[middle] as number) < position) low = middle + 1
    else high = middle
  }
  return low
}
