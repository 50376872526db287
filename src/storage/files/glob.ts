// FILES: patterns for paths, matched in time that grows with pattern times path: no regular expressions, nothing is tried twice.
// All alternatives of a pattern walk a path together, name by name, as a set of places in them; so a directory that none of
// them can go into is not looked into.

import { PawlError } from '../../core/errors.ts'

const mostLength = 512
const mostAlternatives = 64
/** Characters compared in one search. Only a pattern that is made to be slow gets there. */
const mostWork = 20_000_000

/** One character of a name: any run, any one, one of a set, or itself. */
type Token =
  | { readonly kind: 'run' | 'one' }
  | { readonly kind: 'set'; readonly not: boolean; readonly ranges: readonly (readonly [string, string])[] }
  | string
/** One name of a path, or any number of them. */
type Segment = 'any' | readonly Token[]

/** Places in the alternatives, each as `alternative * width + segment`. */
export type Places = ReadonlySet<number>

export class Glob {
  /** The directory that everything it can meet is in. */
  readonly root: readonly string[]
  readonly #alternatives: readonly (readonly Segment[])[]
  readonly #width: number
  #work = 0

  constructor(pattern: unknown) {
    const texts = alternativesOf(checked(pattern))
    this.#alternatives = texts.map(segmentsOf)
    this.#width = Math.max(...this.#alternatives.map((each) => each.length)) + 1
    this.root = commonRoot(this.#alternatives)
  }

  start(): Places {
    const places = new Set<number>()
    for (const at of this.#alternatives.keys()) this.#enter(places, at, 0)
    return places
  }

  /** Where they are after one more name. */
  step(places: Places, name: string): Places {
    const next = new Set<number>()
    const characters = Array.from(name)
    for (const place of places) {
      const [alternative, at] = [Math.floor(place / this.#width), place % this.#width]
      const segment = this.#alternatives[alternative]?.[at]
      if (segment === undefined) continue
      if (segment !== 'any') {
        if (this.#fits(segment, characters)) this.#enter(next, alternative, at + 1)
      } else if (characters[0] !== '.') this.#enter(next, alternative, at)
    }
    return next
  }

  /** Whether what led here is met. */
  met(places: Places): boolean {
    for (const place of places)
      if (place % this.#width === this.#alternatives[Math.floor(place / this.#width)]?.length) return true
    return false
  }

  meets(parts: readonly string[]): boolean {
    let places = this.start()
    for (const name of parts) {
      places = this.step(places, name)
      if (places.size === 0) return false
    }
    return this.met(places)
  }

  /** "Any number of names" may be none. */
  #enter(places: Set<number>, alternative: number, at: number): void {
    for (let next = at; ; next++) {
      places.add(alternative * this.#width + next)
      if (this.#alternatives[alternative]?.[next] !== 'any') return
    }
  }

  /** Only the last run is ever made longer: what an earlier one took is no worse than any other way. */
  #fits(tokens: readonly Token[], name: readonly string[]): boolean {
    if (name[0] === '.' && tokens[0] !== '.') return false
    let [at, token] = [0, 0]
    let run: { token: number; at: number } | undefined
    while (at < name.length) {
      if (++this.#work > mostWork)
        throw new PawlError('file_pattern_invalid', 'It takes too long to compare with all the files.')
      const wanted = tokens[token]
      if (typeof wanted === 'object' && wanted.kind === 'run') run = { token: token++, at }
      else if (wanted !== undefined && isMet(wanted, name[at] as string)) {
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

function isMet(token: Token, character: string): boolean {
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

function checked(pattern: unknown): string {
  if (typeof pattern !== 'string' || pattern === '') return refuse('is not a text')
  if (pattern.length > mostLength) return refuse(`has more than ${mostLength} characters`)
  if (!pattern.isWellFormed() || /\p{Cc}/u.test(pattern)) return refuse('has a character in it that no name has')
  if (pattern.includes('\\')) return refuse('has a backslash in it; [*] stands for the star itself')
  return pattern.normalize('NFC')
}

/** {a,b} as the texts it stands for, from the inside out. */
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
      if (next.length > mostAlternatives) refuse(`stands for more than ${mostAlternatives} others`)
    }
    if (!changed) break
    texts = next
  }
  if (texts.some((text) => /[{}]/.test(text))) refuse('has a brace that is not closed')
  return texts
}

function segmentsOf(text: string): Segment[] {
  const names = text.split('/').filter((name) => name !== '' && name !== '.')
  if (text.startsWith('/') && names[0] === 'workspace') names.shift()
  if (names.includes('..')) refuse("has '..' in it")
  const segments = names
    .filter((name, at) => name !== '**' || names[at - 1] !== '**')
    .map((name): Segment => (name === '**' ? 'any' : tokensOf(name)))
  // What is in a directory, not the directory.
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
  // A bracket that comes first is one of the set.
  const end = characters.indexOf(']', first + 1)
  if (end < 0) return refuse('has a bracket that is not closed')
  const ranges: [string, string][] = []
  for (let at = first; at < end; at++) {
    const low = characters[at] as string
    const isRange = characters[at + 1] === '-' && at + 2 < end
    ranges.push([low, isRange ? (characters[at + 2] as string) : low])
    if (isRange) at += 2
  }
  return { set: { kind: 'set', not, ranges }, end }
}

/** The names that all alternatives begin with, as far as they are plain and not the last. */
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
