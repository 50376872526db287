// Redaction by value: the host names its secrets, and they are removed wherever text is shown to a model or a person or
// logged, in every encoding: plain, base64 (at any byte offset), base64url, hex, URL-encoded, JSON-escaped; each also
// broken into lines or written with HTML entities; single lines of a key; digits as a number. Values that tool bodies
// receive are not changed.

import { option } from '../core/check-options.ts'
import { decodeText } from './decoded-text.ts'
import { MatchStream, redactedMark } from './match-stream.ts'
import { SecretMatcher } from './secret-matcher.ts'
import { redactDeep } from './redact-deep.ts'

/** Redacting shorter secrets would remove words from ordinary text. */
const minSecretLength = 8
/**
 * With more learned secrets than this, or more characters in them, the matchers would take too much memory. Then every
 * text is redacted completely.
 */
const maxLearned = 20_000
const maxLearnedCharacters = 8 * 1024 * 1024
/** Up to this many recent secrets are matched separately, because rebuilding the matcher of all is slow. */
const maxRecent = 32
/** Up to this many secrets that are less recent are matched separately. */
const maxNewer = 1_024

export type Secrets = readonly string[] | (() => readonly string[])

export const secretsOption = option.hidden({
  ...option.either(option.listOf(option.string), option.func),
  part: () => undefined,
})

/** Redacts text that arrives in pieces. A possible beginning of a secret is held back until it is ruled out. */
export interface RedactedStream {
  push(piece: string): string
  /** Returns the text that was held back. */
  end(): string
}

export class Redactor {
  /** Whether there is any secret to look for. If not, texts need no scan. */
  active: boolean
  readonly #minLength: number
  /** Increases with each learned or forgotten secret, so that open streams use the current matchers. */
  #generation = 0
  /** Secrets learned by this process (of sessions, tokens, secret answers), with how often each was learned. */
  readonly #learned = new Map<string, { readonly encodings: readonly string[]; uses: number }>()
  #characters = 0
  /** Learned since the matcher of all secrets was built, and of them those learned last. */
  #newer: string[] = []
  #recent: string[] = []
  #learnedChanged = false
  /** How many forgotten secrets the matchers still contain. */
  #forgotten = 0
  readonly #secrets: () => readonly string[]
  /** Redacts by pattern, independent of the host's secrets. */
  readonly #redactByShape: (text: string) => string
  #lastSecrets: readonly string[] = []
  #all: readonly SecretMatcher[] = []
  #newerMatchers: readonly SecretMatcher[] = []
  /** Null if there are too many secrets. */
  #matchers: readonly SecretMatcher[] | null = []

  /** @param minLength Shorter texts are not redacted, because that would remove words from ordinary text. */
  constructor(secrets: Secrets, redactByShape: (text: string) => string = (text) => text, minLength = minSecretLength) {
    this.#minLength = minLength
    this.active = typeof secrets === 'function' || secrets.length > 0
    this.#redactByShape = redactByShape
    this.#secrets =
      typeof secrets === 'function' ? () => secrets().filter((each) => typeof each === 'string') : () => secrets
  }

  /** How many secrets are learned. */
  get learned(): number {
    return this.#learned.size
  }

  get learnedCharacters(): number {
    return this.#characters
  }

  /** Adds a secret that is redacted from now on, until it was forgotten as often as it was learned. */
  learn(secret: string): void {
    if (secret.length < minSecretLength) return
    const known = this.#learned.get(secret)
    if (known) return void known.uses++
    this.active = true
    this.#learned.set(secret, { encodings: encodingsOf(secret, this.#minLength), uses: 1 })
    this.#characters += secret.length
    this.#recent.push(secret)
    this.#learnedChanged = true
    this.#generation++
  }

  forget(secret: string): void {
    const known = this.#learned.get(secret)
    if (!known || --known.uses > 0) return
    this.#learned.delete(secret)
    this.#characters -= secret.length
    this.#forgotten++
    this.#learnedChanged = true
    this.#generation++
  }

  text(text: string): string {
    const matchers = this.#currentMatchers()
    if (matchers === null) return text === '' ? text : redactedMark
    const shown = this.#redactByShape(text)
    return matchers.length === 0 ? shown : new MatchStream(...matchers).whole(shown)
  }

  stream(): RedactedStream {
    const openStream = (): MatchStream | null => {
      const matchers = this.#currentMatchers()
      return matchers === null || matchers.length === 0 ? null : new MatchStream(...matchers)
    }
    let stream = openStream()
    let generation = this.#generation
    return {
      push: (piece) => {
        let text = piece
        // Secrets were learned since the last piece: scan the held-back text for them too.
        if (generation !== this.#generation) {
          text = (stream?.end() ?? '') + piece
          generation = this.#generation
          stream = openStream()
        }
        if (this.#matchers === null) return this.text(text)
        return this.#redactByShape(stream ? stream.push(text) : text)
      },
      end: () => this.text(stream?.end() ?? ''),
    }
  }

  /** Redacts all texts in a value. Returns the value itself if it contains no secret. */
  deep<T>(value: T): T {
    const redactNumber = (digits: string): string => {
      const clean = this.text(digits)
      // A short secret occurs in ordinary numbers by chance, so only the whole number counts.
      return this.#minLength < minSecretLength && clean !== redactedMark ? digits : clean
    }
    return redactDeep(value, (text) => this.text(text), redactNumber)
  }

  /** If the host's function throws, its last answer is used. */
  #hostSecrets(): readonly string[] {
    try {
      return this.#secrets()
    } catch {
      return this.#lastSecrets
    }
  }

  /** Rebuilds the matchers only if the secrets changed. Null if there are too many secrets. */
  #currentMatchers(): readonly SecretMatcher[] | null {
    const now = this.#hostSecrets()
    const isUnchanged =
      now === this.#lastSecrets ||
      (now.length === this.#lastSecrets.length && now.every((each, index) => each === this.#lastSecrets[index]))
    if (isUnchanged && !this.#learnedChanged) return this.#matchers
    this.#learnedChanged = false
    const isFull = this.#learned.size > maxLearned || this.#characters > maxLearnedCharacters
    this.#matchers = isFull ? null : this.#build(isUnchanged ? null : now)
    return this.#matchers
  }

  /** `changed`: the host's secrets if they changed. A few new secrets do not cause all matchers to be rebuilt. */
  #build(changed: readonly string[] | null): readonly SecretMatcher[] {
    if (this.#recent.length > maxRecent) {
      this.#newer.push(...this.#recent)
      this.#recent = []
      if (this.#newer.length <= maxNewer) this.#newerMatchers = this.#matchersOf(this.#newer)
    }
    const isStale = this.#newer.length > maxNewer || this.#forgotten > maxNewer + this.#learned.size
    if (changed || isStale || this.#all.length === 0) {
      if (changed) this.#lastSecrets = [...changed]
      const hostEncodings = this.#lastSecrets.flatMap((secret) => encodingsOf(secret, this.#minLength))
      this.#all = buildMatchers([...hostEncodings, ...[...this.#learned.values()].flatMap((each) => each.encodings)])
      this.#newer = []
      this.#newerMatchers = []
      this.#recent = []
      this.#forgotten = 0
    }
    return [...this.#all, ...this.#newerMatchers, ...this.#matchersOf(this.#recent)]
  }

  #matchersOf(secrets: readonly string[]): readonly SecretMatcher[] {
    return buildMatchers(secrets.flatMap((secret) => this.#learned.get(secret)?.encodings ?? []))
  }
}

const buildMatchers = (encodings: readonly string[]): SecretMatcher[] =>
  encodings.length === 0 ? [] : [new SecretMatcher(new Set(encodings))]

/** All encodings of a secret; none if it is too short. */
function encodingsOf(secret: string, minLength: number): string[] {
  if (secret.length < minLength) return []
  const bytes = Buffer.from(secret)
  const hex = bytes.toString('hex')
  const all = [
    secret,
    hex,
    hex.toUpperCase(),
    ...base64Encodings(bytes),
    ...urlEncodings(secret),
    ...jsonEncodings(secret),
    ...secretLines(secret),
  ]
  // The decoded text of a match-stream has no line breaks and entities, so a secret that has some is matched without.
  const decoded = all.map(decodeText).filter((each, index) => each !== all[index])
  return [...all, ...decoded].filter((each) => each.length >= minLength)
}

/** A shorter line may be an ordinary word; only the last line of a key is often short. */
const minLineLength = 16
const maxLines = 256

/**
 * The lines of a key, each a secret of its own: tools number, quote and filter lines. Lines with spaces are left out,
 * because they may be ordinary text, and so are the lines that frame a key.
 */
function secretLines(secret: string): string[] {
  const lines = secret.split(/[\r\n]+|(?:\\[rn])+/, maxLines).map((line) => line.trim())
  if (lines.length < 2) return []
  const least = secret.includes('-----BEGIN ') ? minSecretLength : minLineLength
  return lines.filter((line) => line.length >= least && !/[\s"]|^-----/.test(line))
}

/**
 * Inside longer base64 the secret starts at one of three offsets of a 3-byte group. Only the characters that depend on
 * the secret alone are matched.
 */
function base64Encodings(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    const own = text.slice(Math.ceil((before * 4) / 3), Math.floor(((before + bytes.length) * 4) / 3))
    const alone = before === 0 ? [text] : []
    return [own, ...alone].flatMap((each) => [each, each.replaceAll('+', '-').replaceAll('/', '_')])
  })
}

function urlEncodings(secret: string): string[] {
  if (!secret.isWellFormed()) return []
  const texts = [encodeURIComponent(secret), encodeURI(secret), new URLSearchParams([['', secret]]).toString().slice(1)]
  return texts.flatMap((text) => [text, text.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase())])
}

/** The text JSON-escaped up to three times, including the ASCII-only escapes and escaped slashes of other writers. */
function jsonEncodings(secret: string): string[] {
  const escaped = (text: string): string => JSON.stringify(text).slice(1, -1)
  const ascii = (text: string): string =>
    text.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const once = escaped(secret)
  const twice = escaped(once)
  return [once, twice, escaped(twice), ascii(once), escaped(ascii(once)), once.replaceAll('/', String.raw`\/`)]
}
