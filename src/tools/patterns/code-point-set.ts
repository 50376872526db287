// Sets of code points as sorted, disjoint ranges: what one character of a pattern matches. Used by parse-pattern.ts.

export type Range = readonly [first: number, last: number]
export type CodePointSet = readonly Range[]

const maxCodePoint = 0x10ffff

export const union = (...sets: readonly CodePointSet[]): CodePointSet => {
  const merged: [number, number][] = []
  for (const [first, last] of sets.flat().toSorted((a, b) => a[0] - b[0])) {
    const previous = merged.at(-1)
    if (previous && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last)
    else merged.push([first, last])
  }
  return merged
}

export const complement = (set: CodePointSet): CodePointSet => {
  const rest: Range[] = []
  let next = 0
  for (const [first, last] of set) {
    if (first > next) rest.push([next, first - 1])
    next = last + 1
  }
  return next <= maxCodePoint ? [...rest, [next, maxCodePoint]] : rest
}

export const single = (code: number): CodePointSet => [[code, code]]
const list = (...codes: readonly number[]): CodePointSet => union(codes.map((code) => [code, code] as const))

export const any = complement([])
export const lineTerminators = list(0x0a, 0x0d, 0x2028, 0x2029)
export const digits: CodePointSet = [[0x30, 0x39]]
export const space = union([[0x09, 0x0d]], [[0x2000, 0x200a]], lineTerminators, [
  ...list(0x20, 0xa0, 0x1680, 0x202f, 0x205f, 0x3000, 0xfeff),
])
const word = union(digits, [
  [0x41, 0x5a],
  [0x5f, 0x5f],
  [0x61, 0x7a],
])
/** The long s and the Kelvin sign fold to ASCII letters, so they are word characters if case is ignored. */
const wordIgnoringCase = union(word, list(0x17f, 0x212a))

export const wordSet = (ignoreCase: boolean): CodePointSet => (ignoreCase ? wordIgnoringCase : word)

/** The syntax of the linear-time engine. */
export function emitSet(set: CodePointSet): string {
  if (set.length === 0) return String.raw`[^\x{0}-\x{10FFFF}]`
  const code = (value: number): string => String.raw`\x{${value.toString(16)}}`
  const [only] = set
  if (set.length === 1 && only && only[0] === only[1]) return code(only[0])
  return `[${set.map(([first, last]) => (first === last ? code(first) : `${code(first)}-${code(last)}`)).join('')}]`
}

/** Adds the characters that fold to the same character as a member. */
export function ignoringCase(set: CodePointSet): CodePointSet {
  const ascii: Range[] = []
  for (const [first, last] of set)
    for (const [from, to, shift] of [
      [0x41, 0x5a, 32],
      [0x61, 0x7a, -32],
    ] as const) {
      const [lower, upper] = [Math.max(first, from), Math.min(last, to)]
      if (lower <= upper) ascii.push([lower + shift, upper + shift])
    }
  const folded = union(set, ascii)
  const has = (code: number): boolean => folded.some(([first, last]) => first <= code && code <= last)
  if ((set.at(-1)?.[1] ?? 0) <= 0x7f)
    return union(folded, has(0x6b) ? single(0x212a) : [], has(0x73) ? single(0x17f) : [])
  const members = set.map(([first, last]) => `\\u{${first.toString(16)}}-\\u{${last.toString(16)}}`).join('')
  return union(folded, findCodePoints(`[${members}]`, true))
}

/** Characters of the scripts, categories and other properties of Unicode: one atom such as `\p{Lu}`. */
export const propertySet = (atom: string, ignoreCase: boolean): CodePointSet => findCodePoints(atom, ignoreCase)

/** An atom takes some milliseconds, so the answers are cached. There are a few hundred properties. */
const maxCached = 500
const cache = new Map<string, CodePointSet>()
export const isCached = (atom: string, ignoreCase: boolean): boolean => cache.has(key(atom, ignoreCase))
const key = (atom: string, ignoreCase: boolean): string => `${ignoreCase ? 'i' : ''}${atom}`

/**
 * The code points that an atom matches, determined by the built-in engine. So its Unicode version applies, and every
 * name that it knows works. The atom is one character long, so this cannot backtrack.
 */
function findCodePoints(atom: string, ignoreCase: boolean): CodePointSet {
  const cached = cache.get(key(atom, ignoreCase))
  if (cached) return cached
  const flags = ignoreCase ? 'iu' : 'u'
  const found: Range[] = []
  const runs = new RegExp(`${atom}+`, `g${flags}`)
  for (const text of assigned())
    for (let match = runs.exec(text); match; match = runs.exec(text)) {
      const [run] = match
      found.push([text.codePointAt(match.index) as number, lastCodePoint(run)])
    }
  const one = new RegExp(atom, flags)
  const test = (first: number, last = first): void => {
    if (one.test(String.fromCodePoint(last))) found.push([first, last])
  }
  for (let code = 0xd800; code <= 0xdfff; code++) test(code)
  for (const [first, last] of uniform) {
    test(first, last)
    test(last + 1)
    test(last + 2)
  }
  const set = union(found)
  if (cache.size >= maxCached) cache.clear()
  cache.set(key(atom, ignoreCase), set)
  return set
}

function lastCodePoint(text: string): number {
  const code = text.charCodeAt(text.length - 1)
  return code >= 0xdc00 && code <= 0xdfff ? (text.codePointAt(text.length - 2) as number) : code
}

/** Ranges without assigned characters: one answer holds for all of a range. Two noncharacters follow each. */
const uniform: readonly Range[] = [
  ...[4, 5, 6, 7, 8, 9, 0xa, 0xb, 0xc, 0xd, 0xf, 0x10].map((plane): Range => [plane << 16, (plane << 16) + 0xfffd]),
  [0xe1000, 0xefffd],
]

let texts: readonly string[] | undefined

/** All other code points except surrogates, as texts in ascending order. */
function assigned(): readonly string[] {
  if (texts) return texts
  const text = (first: number, last: number): string => {
    let built = ''
    for (let code = first; code <= last; code++) built += String.fromCodePoint(code)
    return built
  }
  return (texts = [text(0, 0xd7ff), text(0xe000, 0x3ffff), text(0xe0000, 0xe0fff)])
}
