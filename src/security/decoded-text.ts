// Reads a text without its line breaks and HTML entities, so that a secret is found in wrapped base64, in an indented or
// CRLF key, and in HTML. Used by match-stream.ts, character by character, because a text may arrive in pieces.

/** Names of the ASCII characters that HTML writers escape. */
const names: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  Tab: '\t',
  NewLine: '\n',
  excl: '!',
  num: '#',
  dollar: '$',
  percnt: '%',
  lpar: '(',
  rpar: ')',
  ast: '*',
  plus: '+',
  comma: ',',
  hyphen: '-',
  period: '.',
  sol: '/',
  colon: ':',
  semi: ';',
  equals: '=',
  quest: '?',
  commat: '@',
  lsqb: '[',
  lbrack: '[',
  bsol: '\\',
  rsqb: ']',
  rbrack: ']',
  Hat: '^',
  lowbar: '_',
  grave: '`',
  lcub: '{',
  lbrace: '{',
  verbar: '|',
  vert: '|',
  rcub: '}',
  rbrace: '}',
}

/** Longer entities are not decoded: `&#x0010FFFF;` without leading zeros is shorter. */
const maxEntityLength = 16

const ampersand = 0x26
const semicolon = 0x3b
const backslash = 0x5c
const isBreak = (unit: number): boolean => unit === 0x0a || unit === 0x0d
const isBlank = (unit: number): boolean => unit === 0x20 || unit === 0x09

/** Whether an entity or a line break may begin with this character. */
export const isEncoded = (unit: number): boolean => unit === ampersand || unit === backslash || isBreak(unit)

/** An entity may stand for the first character of a secret; a line break never does. */
export const mayBeginSecret = (unit: number): boolean => unit === ampersand

/** Receives the decoded characters, each with the range of the text that it stands for. */
export type OnDecoded = (unit: number, from: number, to: number) => void

export class CharacterDecoder {
  readonly #emit: OnDecoded
  /** Characters that may begin an entity, or an escaped line break. */
  #held = ''
  #heldFrom = 0
  /** After a line break: the indentation of the next line is skipped. */
  #skipsBlanks = false

  constructor(emit: OnDecoded) {
    this.#emit = emit
  }

  /** Where the undecided characters begin; null if there are none. */
  get heldFrom(): number | null {
    return this.#held === '' ? null : this.#heldFrom
  }

  push(unit: number, at: number): void {
    if (this.#held !== '') {
      if (this.#held.charCodeAt(0) === ampersand ? this.#continueEntity(unit, at) : this.#continueEscape(unit)) return
      this.end()
    }
    if (unit === ampersand || unit === backslash) {
      this.#held = String.fromCharCode(unit)
      this.#heldFrom = at
    } else this.#pass(unit, at, at + 1)
  }

  reset(): void {
    this.#held = ''
    this.#skipsBlanks = false
  }

  /** Passes on the characters that were held: they begin nothing. */
  end(): void {
    const held = this.#held
    this.#held = ''
    for (let at = 0; at < held.length; at++)
      this.#pass(held.charCodeAt(at), this.#heldFrom + at, this.#heldFrom + at + 1)
  }

  /** Returns false if the unit does not belong to an entity. */
  #continueEntity(unit: number, at: number): boolean {
    if (unit !== semicolon) {
      const isPart = this.#held.length < maxEntityLength && /[#0-9A-Za-z]/.test(String.fromCharCode(unit))
      if (isPart) this.#held += String.fromCharCode(unit)
      return isPart
    }
    const decoded = decodeEntity(this.#held.slice(1))
    if (decoded === undefined) return false
    this.#held = ''
    for (let index = 0; index < decoded.length; index++) this.#pass(decoded.charCodeAt(index), this.#heldFrom, at + 1)
    return true
  }

  /** `\n` or `\r` as two characters, also with doubled backslashes: a line break in a JSON text. */
  #continueEscape(unit: number): boolean {
    if (unit === backslash && this.#held.length < maxEntityLength) {
      this.#held += '\\'
      return true
    }
    if (unit !== 0x6e && unit !== 0x72) return false
    this.#held = ''
    this.#skipsBlanks = true
    return true
  }

  #pass(unit: number, from: number, to: number): void {
    if (isBreak(unit)) this.#skipsBlanks = true
    else if (!this.#skipsBlanks || !isBlank(unit)) {
      this.#skipsBlanks = false
      this.#emit(unit, from, to)
    }
  }
}

function decodeEntity(entity: string): string | undefined {
  const number = /^#(?:(\d+)|[xX]([\dA-Fa-f]+))$/.exec(entity)
  if (!number) return Object.hasOwn(names, entity) ? names[entity] : undefined
  const code = number[1] === undefined ? Number.parseInt(number[2] as string, 16) : Number(number[1])
  return code <= 0x10ffff ? String.fromCodePoint(code) : undefined
}

export function decodeText(text: string): string {
  if (!/[&\n\r]|\\[nr]/.test(text)) return text
  let decoded = ''
  const decoder = new CharacterDecoder((unit) => (decoded += String.fromCharCode(unit)))
  for (let at = 0; at < text.length; at++) decoder.push(text.charCodeAt(at), at)
  decoder.end()
  return decoded
}
