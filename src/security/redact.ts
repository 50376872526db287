// Redaction by value (DUR-12): the host names its secrets, and wherever text is projected, shown or logged they are taken out, however they
// are written there: plain, base64 (wherever in the encoded bytes they begin), base64url, hex, URL-encoded, JSON-escaped. What code is handed
// stays as it is.

import { PawlError } from '../core/errors.ts'
import { Matcher, Stream } from './secret-matcher.ts'
import { redactDeep } from './redact-deep.ts'

/** Shorter ones would take words out of ordinary text. */
const shortestSecret = 8
const mostLearned = 1_000
/** Of all that were learned, in characters: what they may be spelled like takes many times that. */
const mostCharacters = 512 * 1024
/** What was learned last is looked for by itself until there is so much of it: to look for all anew takes long where there is much. */
const mostFresh = 32

export type Secrets = readonly string[] | (() => readonly string[])

/** Secrets as a host gives them. Throws config_invalid. */
export function checkedSecrets(secrets: unknown): Secrets {
  if (typeof secrets === 'function')
    return () => (secrets as () => readonly string[])().filter((each) => typeof each === 'string')
  if (Array.isArray(secrets) && secrets.every((each) => typeof each === 'string')) return secrets
  throw new PawlError('config_invalid', 'secrets must be a list of strings, or a function that gives one.')
}

/** Text that comes in pieces: what may be the beginning of a secret is held back until it is known to be none. */
export interface RedactedStream {
  push(piece: string): string
  /** What was held back. */
  end(): string
}

export class Redactor {
  /** Whether the host named any, or may. Where it did not, what is shown need not be looked at. */
  readonly #named: boolean
  readonly #shortest: number
  /** Grows with what it knows: a stream that was begun before looks for less. */
  #generation = 0
  /** Values that this process came to know as secret, as they may be spelled: tokens, secret answers. What was used longest ago is forgotten first. */
  readonly #learned = new Map<string, readonly string[]>()
  #characters = 0
  /** Learned since the first matcher was made; what was forgotten since is still in that. */
  #fresh: string[] = []
  #learnedAnew = false
  readonly #secrets: () => readonly string[]
  /** What is taken out by its shape, whatever the host named. */
  readonly #byShape: (text: string) => string
  #known: readonly string[] = []
  #matchers: readonly Matcher[] = []

  /** `shortest`: what is shorter is left alone, as it would take words out of ordinary text. */
  constructor(secrets: Secrets, byShape: (text: string) => string = (text) => text, shortest = shortestSecret) {
    this.#shortest = shortest
    this.#named = typeof secrets === 'function' || secrets.length > 0
    this.#byShape = byShape
    this.#secrets = typeof secrets === 'function' ? secrets : () => secrets
  }

  /** Whether there is anything to look for. */
  get active(): boolean {
    return this.#named || this.#learned.size > 0
  }

  /** From now on it is shown to nobody. */
  learn(secret: string): void {
    if (secret.length < shortestSecret) return
    const before = this.#learned.get(secret)
    if (before) {
      this.#learned.delete(secret)
      this.#learned.set(secret, before)
      return
    }
    this.#learned.set(secret, spellingsOf(secret, this.#shortest))
    this.#characters += secret.length
    for (const oldest of this.#learned.keys()) {
      if (this.#learned.size <= mostLearned && this.#characters <= mostCharacters) break
      this.#learned.delete(oldest)
      this.#characters -= oldest.length
    }
    if (this.#fresh.length <= mostFresh) this.#fresh.push(secret)
    this.#learnedAnew = true
    this.#generation++
  }

  text(text: string): string {
    const matchers = this.#current()
    const shown = this.#byShape(text)
    return matchers.length === 0 ? shown : new Stream(...matchers).whole(shown)
  }

  stream(): RedactedStream {
    const opened = (): Stream | null => {
      const matchers = this.#current()
      return matchers.length === 0 ? null : new Stream(...matchers)
    }
    let stream = opened()
    let generation = this.#generation
    return {
      push: (piece) => {
        let given = piece
        // What was learned since is looked for too, in what was held back as well.
        if (generation !== this.#generation) {
          given = (stream?.end() ?? '') + piece
          generation = this.#generation
          stream = opened()
        }
        return this.#byShape(stream ? stream.push(given) : given)
      },
      end: () => this.text(stream?.end() ?? ''),
    }
  }

  /** The same value without them, in all its texts; itself where there are none. */
  deep<T>(value: T): T {
    return redactDeep(value, (text) => this.text(text))
  }

  /** Should the host's function fail, what it said before still holds. */
  #asked(): readonly string[] {
    try {
      return this.#secrets()
    } catch {
      return this.#known
    }
  }

  /** Made again only when the secrets are others. */
  #current(): readonly Matcher[] {
    const now = this.#asked()
    const isOld =
      now === this.#known ||
      (now.length === this.#known.length && now.every((each, index) => each === this.#known[index]))
    if (isOld && !this.#learnedAnew) return this.#matchers
    this.#learnedAnew = false
    const [first] = this.#matchers
    if (isOld && first && this.#fresh.length <= mostFresh) {
      this.#matchers = [first, ...matcherOf(this.#fresh.flatMap((secret) => this.#learned.get(secret) ?? []))]
      return this.#matchers
    }
    this.#known = [...now]
    this.#fresh = []
    const named = this.#known.flatMap((secret) => spellingsOf(secret, this.#shortest))
    this.#matchers = matcherOf([...named, ...[...this.#learned.values()].flat()])
    return this.#matchers
  }
}

const matcherOf = (spellings: readonly string[]): Matcher[] =>
  spellings.length === 0 ? [] : [new Matcher(new Set(spellings))]

/** How a secret may be written; none if it is too short. */
function spellingsOf(secret: string, shortest: number): string[] {
  if (secret.length < shortest) return []
  const bytes = Buffer.from(secret)
  const hex = bytes.toString('hex')
  const all = [secret, hex, hex.toUpperCase(), ...base64sOf(bytes), ...urlsOf(secret), ...escapesOf(secret)]
  return all.filter((each) => each.length >= shortest)
}

/** Encoded with others, it begins at one of three places in a group: the characters that are its own alone are looked for. */
function base64sOf(bytes: Buffer): string[] {
  return [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    const own = text.slice(Math.ceil((before * 4) / 3), Math.floor(((before + bytes.length) * 4) / 3))
    const alone = before === 0 ? [text] : []
    return [own, ...alone].flatMap((each) => [each, each.replaceAll('+', '-').replaceAll('/', '_')])
  })
}

function urlsOf(secret: string): string[] {
  if (!secret.isWellFormed()) return []
  const texts = [encodeURIComponent(secret), encodeURI(secret), new URLSearchParams([['', secret]]).toString().slice(1)]
  return texts.flatMap((text) => [text, text.replace(/%[0-9A-F]{2}/g, (escape) => escape.toLowerCase())])
}

/** As JSON writes it, and as JSON inside JSON does; other writers escape more. */
function escapesOf(secret: string): string[] {
  const escaped = (text: string): string => JSON.stringify(text).slice(1, -1)
  const ascii = (text: string): string =>
    text.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const once = escaped(secret)
  const twice = escaped(once)
  return [once, twice, escaped(twice), ascii(once), escaped(ascii(once)), once.replaceAll('/', String.raw`\/`)]
}
