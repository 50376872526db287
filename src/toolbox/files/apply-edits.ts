// Locates and applies the edits of edit_file. Each old text must occur exactly once, and edits must not overlap. Models
// write \n whatever the file uses, so matching ignores the line ending style and a byte order mark. Text that is not
// replaced stays byte for byte.

import { fail } from '../../core/outcome.ts'
import { applyEdits, unifiedDiff, type Diff, type Edit } from './diff.ts'
import { countEndings } from './split-lines.ts'

export interface Replacement {
  readonly old_text: string
  readonly new_text: string
}

export interface EditResult {
  readonly text: string
  readonly diff: Diff
}

const byteOrderMark = '\ufeff'
const refuse = (message: string, code: string): never => {
  throw fail(message, { code, class: 'invalid_request' })
}

export function applyReplacements(path: string, content: string, replacements: readonly Replacement[]): EditResult {
  const prefix = content.startsWith(byteOrderMark) ? byteOrderMark : ''
  const original = content.slice(prefix.length)
  const plain = normalizeEndings(original)
  const edits = replacements.map((each) => findEdit(plain, each)).toSorted((a, b) => a.start - b.start)
  for (const [at, edit] of edits.entries())
    if (edit.start < (edits[at - 1]?.end ?? 0)) refuse('Edits overlap in the target file', 'edits_overlap')
  const endings = crlfPositions(original)
  const ending = endings.length > countEndings(plain) - endings.length ? '\r\n' : '\n'
  // An edit that changes nothing is dropped, so the line endings in it stay.
  const effective = edits.filter(({ start, end, text }) => plain.slice(start, end) !== text)
  // Map positions to the original text: each \r\n before a position is one character longer there.
  const positioned = effective.map(({ start, end, text }) => ({
    start: start + countBefore(endings, start),
    end: end + countBefore(endings, end),
    text: text.replaceAll('\n', ending),
  }))
  const text = `${prefix}${applyEdits(original, positioned)}`
  if (text === content)
    refuse(`The edits change nothing in '${path}': every new_text is what stands there already.`, 'nothing_to_change')
  return { text, diff: unifiedDiff(path, plain, effective) }
}

function findEdit(plain: string, { old_text, new_text }: Replacement): Edit {
  const old = normalizeText(old_text)
  if (old === '') refuse('old_text must not be empty', 'invalid_arguments')
  const start = plain.indexOf(old)
  if (start === -1) refuse(`Could not find an exact match for old_text: '${excerpt(old)}'`, 'old_text_not_found')
  if (plain.indexOf(old, start + 1) !== -1)
    refuse(
      `old_text is ambiguous and matched multiple locations: '${excerpt(old)}'. Give more of the text around it.`,
      'old_text_ambiguous',
    )
  return { start, end: start + old.length, text: normalizeText(new_text, false) }
}

const normalizeText = (text: string, strip = true): string =>
  normalizeEndings(strip && text.startsWith(byteOrderMark) ? text.slice(1) : text)
const excerpt = (text: string): string => (text.length <= 120 ? text : `${text.slice(0, 119).toWellFormed()}…`)

/** Converts \r\n to \n. Works on a buffer: joining millions of string parts takes seconds. */
function normalizeEndings(text: string): string {
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

/** Positions of \r\n, counted in the normalized text. */
function crlfPositions(text: string): Uint32Array {
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

/** Counts the sorted positions before this one, by binary search. */
function countBefore(positions: Uint32Array, position: number): number {
  let [low, high] = [0, positions.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((positions[middle] as number) < position) low = middle + 1
    else high = middle
  }
  return low
}
