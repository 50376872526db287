// Translates a pattern from ECMAScript (with the `u` flag) to the syntax of the linear-time engine. Its own reading of
// `\s`, `.`, `\w`, `\p{…}` and flags differs, so every character class is written out as code points. Only whether a
// text matches is of interest: groups do not capture, and lazy quantifiers become greedy ones.

import {
  any,
  type CodePointSet,
  complement,
  digits,
  emitSet,
  ignoringCase,
  isCached,
  lineTerminators,
  propertySet,
  single,
  space,
  union,
  wordSet,
} from './code-point-set.ts'

/** A valid pattern that the linear-time engine cannot run; the message says what to write instead. */
export class UnsupportedPattern extends Error {}

interface Flags {
  readonly ignoreCase: boolean
  readonly dotAll: boolean
}

const maxDepth = 200
/** Finding the characters of a property takes milliseconds, and patterns may come from untrusted sources. */
const maxLookups = 8

const controls: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0 }

/** @param source Valid with the `u` flag. */
export function translatePattern(source: string): string {
  return new PatternTranslator(source).translate()
}

class PatternTranslator {
  readonly #source: string
  #at = 0
  #lookups = 0

  constructor(source: string) {
    this.#source = source
  }

  translate(): string {
    return this.#disjunction({ ignoreCase: false, dotAll: false }, 0)
  }

  /** Alternatives up to the end of the group or of the pattern. */
  #disjunction(flags: Flags, depth: number): string {
    if (depth > maxDepth) throw new UnsupportedPattern(`it has groups nested more than ${maxDepth} levels deep`)
    let out = ''
    while (this.#at < this.#source.length && this.#source[this.#at] !== ')') {
      if (this.#source[this.#at] === '|') {
        this.#at++
        out += '|'
      } else out += this.#term(flags, depth) + this.#quantifier()
    }
    return out
  }

  #term(flags: Flags, depth: number): string {
    const unit = this.#source[this.#at]
    if (unit === '(') return this.#group(flags, depth)
    if (unit === '[') return emitSet(this.#characterClass(flags))
    if (unit === '\\') {
      const boundary = this.#source[this.#at + 1]
      if (boundary !== 'b' && boundary !== 'B') return emitSet(this.#escape(flags, false).set)
      // The engine's own \b knows ASCII only, and the long s and the Kelvin sign would count here.
      if (flags.ignoreCase)
        throw new UnsupportedPattern(`it uses \\${boundary} inside (?i:…); write it outside, such as \\b(?i:drop)\\b`)
      this.#at += 2
      return `\\${boundary}`
    }
    this.#at++
    if (unit === '^') return String.raw`\A`
    if (unit === '$') return String.raw`\z`
    if (unit === '.') return emitSet(flags.dotAll ? any : complement(lineTerminators))
    this.#at--
    return emitSet(this.#fold(single(this.#codePoint()), flags))
  }

  #group(flags: Flags, depth: number): string {
    const rest = this.#source.slice(this.#at, this.#at + 600)
    const lookaround = /^\(\?<?[=!]/.exec(rest)
    if (lookaround)
      throw new UnsupportedPattern(
        `it uses look-around (${lookaround[0]}…)), which has no linear-time form; ` +
          'describe the allowed texts, or use several patterns',
      )
    const [opening, added = '', removed = ''] =
      /^\((?:\?:|\?<[^>]*>|\?([ims]*)-?([ims]*):)?/.exec(rest) ?? this.#fail('an unknown kind of group')
    if (added.includes('m') || removed.includes('m'))
      throw new UnsupportedPattern('it uses the flag `m`; write (?:^|[\\n\\r\\u2028\\u2029]) instead of ^, and so on')
    this.#at += opening.length
    const flag = (name: string, outer: boolean): boolean => (outer || added.includes(name)) && !removed.includes(name)
    const inner = this.#disjunction(
      { ignoreCase: flag('i', flags.ignoreCase), dotAll: flag('s', flags.dotAll) },
      depth + 1,
    )
    this.#at++ // the closing parenthesis
    return `(?:${inner})`
  }

  #quantifier(): string {
    const quantifier = /^(?:[*+?]|\{\d+(?:,\d*)?\})/.exec(this.#source.slice(this.#at, this.#at + 50))?.[0]
    if (quantifier === undefined) return ''
    this.#at += quantifier.length
    if (this.#source[this.#at] === '?') this.#at++
    return quantifier
  }

  #characterClass(flags: Flags): CodePointSet {
    this.#at++
    const isNegated = this.#source[this.#at] === '^'
    if (isNegated) this.#at++
    const sets: CodePointSet[] = []
    while (this.#source[this.#at] !== ']') {
      const first = this.#classAtom(flags)
      if (first.code === null || this.#source[this.#at] !== '-' || this.#source[this.#at + 1] === ']') {
        sets.push(first.set)
        continue
      }
      this.#at++
      const last = this.#classAtom(flags)
      sets.push(this.#fold([[first.code, last.code ?? first.code]], flags))
    }
    this.#at++
    const set = union(...sets)
    return isNegated ? complement(set) : set
  }

  /** `code`: the character if it is one, which may begin or end a range. */
  #classAtom(flags: Flags): { set: CodePointSet; code: number | null } {
    if (this.#source[this.#at] === '\\') return this.#escape(flags, true)
    const code = this.#codePoint()
    return { set: this.#fold(single(code), flags), code }
  }

  #escape(flags: Flags, inClass: boolean): { set: CodePointSet; code: number | null } {
    this.#at++
    const unit = this.#source[this.#at++] as string
    const set = this.#classEscape(unit, flags)
    if (set) return { set, code: null }
    if ((/[1-9]/.test(unit) || unit === 'k') && !inClass)
      throw new UnsupportedPattern(
        `it uses a back-reference (\\${unit}), which has no linear-time form; write out what the group may match`,
      )
    const code = this.#escapedCode(unit, inClass)
    return { set: this.#fold(single(code), flags), code }
  }

  #classEscape(unit: string, { ignoreCase }: Flags): CodePointSet | null {
    switch (unit) {
      case 'd':
        return digits
      case 'D':
        return complement(digits)
      case 's':
        return space
      case 'S':
        return complement(space)
      case 'w':
        return wordSet(ignoreCase)
      case 'W':
        return complement(wordSet(ignoreCase))
      case 'p':
      case 'P': {
        const end = this.#source.indexOf('}', this.#at) + 1
        const atom = `\\${unit}${this.#source.slice(this.#at, end)}`
        this.#at = end
        this.#countLookup(isCached(atom, ignoreCase))
        return propertySet(atom, ignoreCase)
      }
      default:
        return null
    }
  }

  #escapedCode(unit: string, inClass: boolean): number {
    if (unit === 'b' && inClass) return 8
    const control = controls[unit]
    if (control !== undefined) return control
    if (unit === 'c') return this.#source.charCodeAt(this.#at++) % 32
    if (unit === 'x') return this.#hex(2)
    if (unit !== 'u') return unit.charCodeAt(0)
    if (this.#source[this.#at] === '{') {
      const end = this.#source.indexOf('}', this.#at)
      const code = Number.parseInt(this.#source.slice(this.#at + 1, end), 16)
      this.#at = end + 1
      return code
    }
    const high = this.#hex(4)
    const low = /^\\u(d[c-f][\da-f]{2})/i.exec(this.#source.slice(this.#at, this.#at + 6))?.[1]
    if (high < 0xd800 || high > 0xdbff || low === undefined) return high
    this.#at += 6
    return ((high - 0xd800) << 10) + (Number.parseInt(low, 16) - 0xdc00) + 0x10000
  }

  #hex(length: number): number {
    const code = Number.parseInt(this.#source.slice(this.#at, this.#at + length), 16)
    this.#at += length
    return code
  }

  #codePoint(): number {
    const code = this.#source.codePointAt(this.#at) as number
    this.#at += code > 0xffff ? 2 : 1
    return code
  }

  #fold(set: CodePointSet, { ignoreCase }: Flags): CodePointSet {
    if (!ignoreCase) return set
    if ((set.at(-1)?.[1] ?? 0) > 0x7f) this.#countLookup(false)
    return ignoringCase(set)
  }

  #countLookup(isFree: boolean): void {
    if (!isFree && ++this.#lookups > maxLookups)
      throw new UnsupportedPattern(
        String.raw`it uses more than ${maxLookups} properties (\p{…}) or letters outside ASCII where case is ignored; ` +
          'write them as ranges, or both cases of a letter',
      )
  }

  #fail(what: string): never {
    throw new UnsupportedPattern(`it has ${what} at ${this.#at}`)
  }
}
