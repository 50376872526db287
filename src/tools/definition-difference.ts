// The difference between two tool definitions, for the person who accepts or rejects a change;
// approvals/definition-pins.ts uses it. Every line begins with the path of the field, so text of a provider cannot
// imitate a line of ours; every truncation is marked, so nothing can hide behind a long text.

import { type Json, parseJson } from '../core/tool-value.ts'

const maxLineLength = 2_000
const maxTotalLength = 32_768
/** Characters of equal text shown before a difference in a long line. */
const contextLength = 60

/** Fields that models and policies rely on are listed first. */
const leadingFields = ['id', 'name', 'title', 'description', 'hints', 'version', 'onCrash', 'sensitive']

/** Lines with - and + for two definitions in canonical JSON. */
export function differenceOf(was: string, now: string): string {
  const [oldLeaves, newLeaves] = [leavesOf(was), leavesOf(now)]
  const paths = [...new Set([...oldLeaves.keys(), ...newLeaves.keys()])]
  const order = (path: string): number => {
    const index = leadingFields.findIndex((each) => path === each || path.startsWith(`${each}.`))
    return index === -1 ? leadingFields.length : index
  }
  const lines = paths
    .toSorted((a, b) => order(a) - order(b) || (a < b ? -1 : 1))
    .flatMap((path) => changesAt(path, oldLeaves.get(path) ?? [], newLeaves.get(path) ?? []))
  let length = 0
  let shown = 0
  for (const line of lines) {
    if ((length += line.length + 1) > maxTotalLength) break
    shown++
  }
  const rest = lines.length - shown
  if (rest === 0) return lines.join('\n')
  const more = `… ${rest} more ${rest === 1 ? 'line' : 'lines'} of changes not shown: read the definition at its source before you accept it.`
  return [...lines.slice(0, shown), more].join('\n')
}

/** The lines of each leaf, by path. A list of primitive values is one leaf, so that adding a value changes one line. */
function leavesOf(text: string): Map<string, string[]> {
  const leaves = new Map<string, string[]>()
  const walk = (value: Json, path: string): void => {
    if (typeof value === 'string') leaves.set(path, value.split('\n').map(quoted))
    else if (typeof value !== 'object' || value === null) leaves.set(path, [String(value)])
    else if (Array.isArray(value)) {
      if (value.length === 0) leaves.set(path, ['[]'])
      else if (value.every((each) => typeof each !== 'object' || each === null))
        leaves.set(
          `${path}[]`,
          value.map((each) => (typeof each === 'string' ? quoted(each) : String(each))),
        )
      else for (const [index, each] of value.entries()) walk(each, `${path}[${index}]`)
    } else {
      const keys = Object.keys(value)
      if (keys.length === 0 && path !== '') leaves.set(path, ['{}'])
      for (const key of keys) walk(value[key] as Json, path === '' ? key : `${path}.${keyText(key)}`)
    }
  }
  walk(parseJson(text), '')
  return leaves
}

const quoted = (text: string): string => `"${text}"`

/** Keys are text of the provider too, so unusual ones are quoted. */
const keyText = (key: string): string => (/^[\w$-]{1,64}$/.test(key) ? key : JSON.stringify(key))

/** The changed lines, without common lines at the beginning and the end. */
function changesAt(path: string, was: readonly string[], now: readonly string[]): string[] {
  let head = 0
  while (head < was.length && head < now.length && was[head] === now[head]) head++
  let tail = 0
  while (tail < was.length - head && tail < now.length - head && was.at(-1 - tail) === now.at(-1 - tail)) tail++
  const removed = was.slice(head, was.length - tail)
  const added = now.slice(head, now.length - tail)
  const [removedLines, addedLines] =
    removed.length === 1 && added.length === 1
      ? cutToDifference(removed[0] as string, added[0] as string)
      : [removed, added]
  const line = (sign: string, text: string): string =>
    `${sign} ${truncated(path)}: ${truncated(text)}${lookalikeNote(text)}`
  return [...removedLines.map((text) => line('-', text)), ...addedLines.map((text) => line('+', text))]
}

/** Cuts two long lines to start shortly before their first difference. */
function cutToDifference(was: string, now: string): [string[], string[]] {
  if (Math.max(was.length, now.length) <= maxLineLength) return [[was], [now]]
  let same = 0
  while (same < was.length && was[same] === now[same]) same++
  const from = same - contextLength
  return from <= 0 ? [[was], [now]] : [[`…${was.slice(from)}`], [`…${now.slice(from)}`]]
}

function truncated(text: string): string {
  const cut = text.length - maxLineLength
  return cut <= 0
    ? showInvisible(text)
    : `${showInvisible(text.slice(0, maxLineLength))}… (${cut} more characters not shown)`
}

/**
 * Untrusted text is made safe to display: characters that are invisible, or that change how the rest is displayed, are
 * shown as code points. These are control, bidi, zero-width, tag, filler, private and unassigned characters, lone surrogates, and spaces other than
 * U+0020.
 */
const invisible = /[\p{C}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800]|(?! )\p{Zs}/gu
/** Letters and marks of other scripts, which may be mistaken for Latin ones. */
const nonLatin = /(?!\p{Script=Latin})\p{L}|\p{M}/gu
const latin = /\p{Script=Latin}/u
const maxNamed = 8

const showInvisible = (text: string): string => text.replaceAll(invisible, (each) => `<${codePointText(each)}>`)

/** A note that lists non-Latin letters in a Latin text; '' if there are none. */
function lookalikeNote(text: string): string {
  if (!latin.test(text)) return ''
  const found = [...new Set(text.match(nonLatin))].map((each) => codePointText(each))
  if (found.length === 0) return ''
  return ` (not Latin: ${found.slice(0, maxNamed).join(' ')}${found.length > maxNamed ? ` and ${found.length - maxNamed} more` : ''})`
}

const codePointText = (each: string): string =>
  `U+${(each.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}`
