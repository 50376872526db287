// Glob patterns for paths, matched in time proportional to pattern length times path length, without regular
// expressions. All alternatives of a pattern advance along a path together, name by name, as a set of positions (like
// an NFA), so a directory that no alternative can match is never read.

import { PawlError } from '../../core/errors.ts'

const maxLength = 512
const maxAlternatives = 64
/** Character comparisons per search. Only a pattern crafted to be slow reaches this. */
const maxComparisons = 20_000_000

/** Matches part of a name: any run of characters, any one character, one of a set, or a literal character. */
type Token =
  | { readonly kind: 'run' | 'one' }
  | { readonly kind: 'set'; readonly not: boolean; readonly ranges: readonly (readonly [string, string])[] }
  | string
/** Matches one name of a path, or any number of names ('any'). */
type Segment = 'any' | readonly Token[]

/** Positions in the alternatives, each encoded as `alternative * width + segment`. */
export type Positions = ReadonlySet<number>

export class Glob {
  /** The directory that contains every possible match. */
  readonly root: readonly string[]
  readonly #alternatives: readonly (readonly Segment[])[]
  readonly #width: number
  #work = 0

  constructor(pattern: unknown) {
    const texts = alternativesOf(checkPattern(pattern))
    this.#alternatives = texts.map(segmentsOf)
    this.#width = Math.max(...this.#alternatives.map((each) => each.length)) + 1
    this.root = commonRoot(this.#alternatives)
  }

  start(): Positions {
    const positions = new Set<number>()
    for (const at of this.#alternatives.keys()) this.#addPosition(positions, at, 0)
    return positions
  }

  /** The positions after the next name of the path, `name`, has been matched. */
  step(positions: Positions, name: string): Positions {
    const next = new Set<number>()
    const characters = Array.from(name)
    for (const position of positions) {
      const [alternative, at] = [Math.floor(position / this.#width), position % this.#width]
      const segment = this.#alternatives[alternative]?.[at]
      if (segment === undefined) continue
      if (segment !== 'any') {
        if (this.#matchesName(segment, characters)) this.#addPosition(next, alternative, at + 1)
      } else if (characters[0] !== '.') this.#addPosition(next, alternative, at)
    }
    return next
  }

  /** Whether the path that led to these positions matches. */
  isMatch(positions: Positions): boolean {
    for (const position of positions)
      if (position % this.#width === this.#alternatives[Math.floor(position / this.#width)]?.length) return true
    return false
  }

  matches(parts: readonly string[]): boolean {
    let positions = this.start()
    for (const name of parts) {
      positions = this.step(positions, name)
      if (positions.size === 0) return false
    }
    return this.isMatch(positions)
  }

  /** Also adds the positions after 'any' segments, which may match no name at all. */
  #addPosition(positions: Set<number>, alternative: number, at: number): void {
    for (let next = at; ; next++) {
      positions.add(alternative * this.#width + next)
      if (this.#alternatives[alternative]?.[next] !== 'any') return
    }
  }

  /** Greedy matching that backtracks only to the last run: extending an earlier run cannot find more matches. */
  #matchesName(tokens: readonly Token[], name: readonly string[]): boolean {
    if (name[0] === '.' && tokens[0] !== '.') return false
    let [at, token] = [0, 0]
    let run: { token: number; at: number } | undefined
    while (at < name.length) {
      if (++this.#work > maxComparisons)
        throw new PawlError(
          'file_pattern_invalid',
          'Matching the pattern against all files takes too long. Use a simpler pattern.',
        )
      const wanted = tokens[token]
      if (typeof wanted === 'object' && wanted.kind === 'run') run = { token: token++, at }
      else if (wanted !== undefined && matchesCharacter(wanted, name[at] as string)) {
        at++
        token++
      } else if (run) {
        token = run.token + 1
        at = ++run.at
      } else return false
    }
    return tokens.slice(token).every((rest) => typeof rest === 'object' && rest.kind === 'run')
  }
}

function matchesCharacter(token: Token, character: string): boolean {
  if (typeof token === 'string') return token === character
  if (token.kind !== 'set') return true
  return (
    token.ranges.some(([from, to]) => from <= character && character <= to && character.length === from.length) !==
    token.not
  )
}

const refuse = (why: string): never => {
  throw new PawlError('file_pattern_invalid', `The pattern ${why}.`, { details: { why } })
}

function checkPattern(pattern: unknown): string {
  if (typeof pattern !== 'string' || pattern === '') return refuse('is not a non-empty string')
  if (pattern.length > maxLength) return refuse(`has more than ${maxLength} characters`)
  if (!pattern.isWellFormed() || /\p{Cc}/u.test(pattern)) return refuse('contains a character that no file name has')
  if (pattern.includes('\\')) return refuse('contains a backslash; write [*] to match a literal *')
  return pattern.normalize('NFC')
}

/** Expands {a,b}, innermost braces first. */
function alternativesOf(pattern: string): string[] {
  let texts = [pattern]
  for (;;) {
    const next: string[] = []
    let changed = false
    for (const text of texts) {
      const braces = /\{([^{}]*)\}/.exec(text)
      if (!braces) {
        next.push(text)
        continue
      }
      changed = true
      for (const choice of (braces[1] as string).split(','))
        next.push(`${text.slice(0, braces.index)}${choice}${text.slice(braces.index + braces[0].length)}`)
      if (next.length > maxAlternatives) refuse(`expands to more than ${maxAlternatives} alternatives`)
    }
    if (!changed) break
    texts = next
  }
  if (texts.some((text) => /[{}]/.test(text))) refuse('has an unmatched brace')
  return texts
}

function segmentsOf(text: string): Segment[] {
  const names = text.split('/').filter((name) => name !== '' && name !== '.')
  if (text.startsWith('/') && names[0] === 'workspace') names.shift()
  if (names.includes('..')) refuse("contains '..'")
  const segments = names
    .filter((name, at) => name !== '**' || names[at - 1] !== '**')
    .map((name): Segment => (name === '**' ? 'any' : tokensOf(name)))
  // A trailing ** matches the entries of a directory, not the directory itself.
  if (segments.at(-1) === 'any') segments.push([{ kind: 'run' }])
  return segments
}

function tokensOf(name: string): Token[] {
  const characters = Array.from(name)
  const tokens: Token[] = []
  for (let at = 0; at < characters.length; at++) {
    const character = characters[at] as string
    if (character === '*') {
      if (characters[at - 1] !== '*') tokens.push({ kind: 'run' })
    } else if (character === '?') tokens.push({ kind: 'one' })
    else if (character === '[') {
      const { set, end } = setAt(characters, at)
      tokens.push(set)
      at = end
    } else tokens.push(character)
  }
  return tokens
}

function setAt(characters: readonly string[], from: number): { set: Token; end: number } {
  const not = characters[from + 1] === '!' || characters[from + 1] === '^'
  const first = from + (not ? 2 : 1)
  // A ']' in first position is a member of the set.
  const end = characters.indexOf(']', first + 1)
  if (end < 0) return refuse('has an unclosed bracket')
  const ranges: [string, string][] = []
  for (let at = first; at < end; at++) {
    const low = characters[at] as string
    const isRange = characters[at + 1] === '-' && at + 2 < end
    ranges.push([low, isRange ? (characters[at + 2] as string) : low])
    if (isRange) at += 2
  }
  return { set: { kind: 'set', not, ranges }, end }
}

/** The common leading literal names of all alternatives, without the last segment of each. */
function commonRoot(alternatives: readonly (readonly Segment[])[]): string[] {
  const plain = alternatives.map((segments) => {
    const names: string[] = []
    for (const segment of segments.slice(0, -1)) {
      if (segment === 'any' || segment.some((token) => typeof token !== 'string')) break
      names.push(segment.map(String).join(''))
    }
    return names
  })
  const [first = []] = plain
  const end = first.findIndex((name, at) => plain.some((names) => names[at] !== name))
  return end < 0 ? first : first.slice(0, end)
}
