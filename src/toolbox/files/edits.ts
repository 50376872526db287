// Where the edits of edit_file belong: each old text must stand exactly once in the file as it is, and no two may overlap. Models write \n
// whatever the file has: matching is blind to that and to a byte order mark, and what is not replaced stays byte for byte.

import { fail } from '../../core/outcome.ts'
import { applied, diffOf, type Diff, type Edit } from './diff.ts'
import { countEndings } from './lines.ts'

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
  const plain = plainEndings(original)
  const edits = replacements.map((each) => editOf(plain, each)).toSorted((a, b) => a.start - b.start)
  for (const [at, edit] of edits.entries())
    if (edit.start < (edits[at - 1]?.end ?? 0)) refuse('Edits overlap in the target file', 'edits_overlap')
  const endings = windowsEndings(original)
  const ending = endings.length > countEndings(plain) - endings.length ? '\r\n' : '\n'
  // What is replaced by itself stays, endings and all.
  const changing = edits.filter(({ start, end, text }) => plain.slice(start, end) !== text)
  // A place in the file: every ending before it that is two characters there was one here.
  const placed = changing.map(({ start, end, text }) => ({
    start: start + before(endings, start),
    end: end + before(endings, end),
    text: text.replaceAll('\n', ending),
  }))
  const text = `${prefix}${applied(original, placed)}`
  if (text === given)
    refuse(`The edits change nothing in '${path}': every new_text is what stands there already.`, 'nothing_to_change')
  return { text, diff: diffOf(path, plain, changing) }
}

function editOf(plain: string, { old_text, new_text }: Replacement): Edit {
  const old = plainOf(old_text)
  if (old === '') refuse('old_text must not be empty', 'invalid_arguments')
  const start = plain.indexOf(old)
  if (start === -1) refuse(`Could not find an exact match for old_text: '${quoted(old)}'`, 'old_text_not_found')
  if (plain.indexOf(old, start + 1) !== -1)
    refuse(
      `old_text is ambiguous and matched multiple locations: '${quoted(old)}'. Give more of the text around it.`,
      'old_text_ambiguous',
    )
  return { start, end: start + old.length, text: plainOf(new_text, false) }
}

const plainOf = (text: string, strip = true): string =>
  plainEndings(strip && text.startsWith(mark) ? text.slice(1) : text)
const quoted = (text: string): string => (text.length <= 120 ? text : `${text.slice(0, 119).toWellFormed()}…`)

/** \r\n as \n. In place: to put a text together from millions of parts takes seconds. */
function plainEndings(text: string): string {
  if (!text.includes('\r\n')) return text
  const units = Buffer.from(text, 'utf16le')
  let length = 0
  for (let at = 0; at < units.length; at += 2) {
    if (units[at] === 13 && units[at + 1] === 0 && units[at + 2] === 10 && units[at + 3] === 0) continue
    units[length++] = units[at] as number
    units[length++] = units[at + 1] as number
  }
  return units.toString('utf16le', 0, length)
}

/** Where \r\n stands, as places in the text where they are \n. */
function windowsEndings(text: string): Uint32Array {
  if (!text.includes('\r\n')) return new Uint32Array()
  const found = new Uint32Array(countEndings(text))
  let count = 0
  for (let at = 0; at < text.length; at++)
    if (text.charCodeAt(at) === 13 && text.charCodeAt(at + 1) === 10) {
      found[count] = at - count
      count++
    }
  return found.subarray(0, count)
}

/** How many of the places, which are in order, come before this one. */
function before(places: Uint32Array, position: number): number {
  let [low, high] = [0, places.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((places[middle] as number) < position) low = middle + 1
    else high = middle
  }
  return low
}
