// Redaction by value (DUR-12): the host names its secrets, and wherever text is projected, shown or logged they are taken out, however they
// are written there: plain, base64 (wherever in the encoded bytes they begin), base64url, hex, URL-encoded, JSON-escaped. What code is handed
// stays as it is.
//
// All spellings of all secrets are looked for in one pass (Aho and Corasick): the time is that of reading the text, whatever the text is.

import { PawlError } from '../kernel/errors.ts'
import { redactDeep } from './redact-deep.ts'

const redactedWord = '[redacted]'

/** Shorter ones would take words out of ordinary text. */
const shortestSecret = 8
const mostLearned = 1_000

export type Secrets = readonly string[] | (() => readonly string[])

/** Secrets as a host gives them. Throws config_invalid. */
export function checkedSecrets(secrets: unknown): Secrets {
  if (typeof secrets === 'function') return () => (secrets as () => readonly string[])().filter((each) => typeof each === 'string')
  if (Array.isArray(secrets) && secrets.every((each) => typeof each === 'string')) return secrets
  throw new PawlError('config_invalid', 'secrets must be a list of strings, or a function that gives one.')
}

/** Finds any of some texts in a stream of characters. */
class Matcher {
  readonly #next: Map<number, number>[] = [new Map()]
  /** By character: whether one begins with it. Most characters of most texts are passed over with this. */
  readonly #first = new Uint8Array(0x10000)
  readonly #fail: number[] = [0]
  readonly #depth: number[] = [0]
  /** The longest text that ends where a state is reached; 0 if none does. */
  readonly #ends: number[] = [0]

  constructor(texts: Iterable<string>) {
    for (const text of texts) this.#add(text)
    const queue = [...(this.#next[0] as Map<number, number>).values()]
    for (let at = 0; at < queue.length; at++) {
      const state = queue[at] as number
      for (const [unit, child] of this.#next[state] as Map<number, number>) {
        queue.push(child)
        const fallback = this.step(this.#fail[state] as number, unit)
        this.#fail[child] = fallback
        if (this.#ends[child] === 0) this.#ends[child] = this.#ends[fallback] as number
      }
    }
  }

  step(from: number, unit: number): number {
    if (from === 0 && this.#first[unit] === 0) return 0
    for (let state = from; ; state = this.#fail[state] as number) {
      const next = (this.#next[state] as Map<number, number>).get(unit)
      if (next !== undefined) return next
      if (state === 0) return 0
    }
  }

  /** How many of the last characters may be the beginning of one. */
  depth(state: number): number {
    return this.#depth[state] as number
  }

  ends(state: number): number {
    return this.#ends[state] as number
  }

  #add(text: string): void {
    let state = 0
    this.#first[text.charCodeAt(0)] = 1
    for (let at = 0; at < text.length; at++) {
      const children = this.#next[state] as Map<number, number>
      let child = children.get(text.charCodeAt(at))
      if (child === undefined) {
        child = this.#next.length
        children.set(text.charCodeAt(at), child)
        this.#next.push(new Map())
        this.#fail.push(0)
        this.#depth.push(at + 1)
        this.#ends.push(0)
      }
      state = child
    }
    this.#ends[state] = text.length
  }
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
  generation = 0
  /** Values that this process came to know as secret: tokens, secret answers. The oldest is forgotten first. */
  readonly #learned = new Set<string>()
  #learnedAnew = false
  readonly #secrets: () => readonly string[]
  /** What is taken out by its shape, whatever the host named. */
  readonly #byShape: (text: string) => string
  #known: readonly string[] = []
  #matcher: Matcher | null = null

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
    if (secret.length < shortestSecret || this.#learned.has(secret)) return
    this.#learned.add(secret)
    if (this.#learned.size > mostLearned) this.#learned.delete(this.#learned.values().next().value as string)
    this.#learnedAnew = true
    this.generation++
  }

  text(text: string): string {
    const matcher = this.#current()
    const shown = this.#byShape(text)
    return matcher === null ? shown : new Stream(matcher).whole(shown)
  }

  stream(): RedactedStream {
    const matcher = this.#current()
    if (matcher === null) return { push: this.#byShape, end: () => '' }
    const stream = new Stream(matcher)
    return { push: (piece) => this.#byShape(stream.push(piece)), end: () => this.#byShape(stream.end()) }
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
  #current(): Matcher | null {
    const now = this.#asked()
    const isOld = now === this.#known || (now.length === this.#known.length && now.every((each, index) => each === this.#known[index]))
    if (!isOld || this.#learnedAnew) {
      this.#known = [...now]
      this.#learnedAnew = false
      const spellings = new Set([...this.#known, ...this.#learned].flatMap((secret) => spellingsOf(secret, this.#shortest)))
      this.#matcher = spellings.size === 0 ? null : new Matcher(spellings)
    }
    return this.#matcher
  }
}

interface Span {
  readonly from: number
  readonly to: number
}

class Stream implements RedactedStream {
  readonly #matcher: Matcher
  #state = 0
  /** What was read and not given out yet, and where in all that was read it begins. */
  #held = ''
  #start = 0
  /** What is to be taken out of it, in order, apart from each other. */
  #spans: Span[] = []

  constructor(matcher: Matcher) {
    this.#matcher = matcher
  }

  /** The same text, not a copy, where there is nothing to take out. */
  whole(text: string): string {
    this.#read(text)
    return this.#spans.length === 0 ? text : this.end()
  }

  push(piece: string): string {
    this.#read(piece)
    return this.#take(this.#start + this.#held.length - this.#matcher.depth(this.#state))
  }

  end(): string {
    this.#state = 0
    return this.#take(this.#start + this.#held.length)
  }

  #read(piece: string): void {
    const matcher = this.#matcher
    let state = this.#state
    let at = this.#start + this.#held.length
    for (let index = 0; index < piece.length; index++) {
      state = matcher.step(state, piece.charCodeAt(index))
      at++
      const length = matcher.ends(state)
      if (length > 0) this.#found(at - length, at)
    }
    this.#state = state
    this.#held += piece
  }

  /** What overlaps is taken out together. */
  #found(from: number, to: number): void {
    let first = from
    for (let last = this.#spans.at(-1); last && last.to >= first; last = this.#spans.at(-1)) {
      first = Math.min(first, last.from)
      this.#spans.pop()
    }
    this.#spans.push({ from: first, to })
  }

  /** Gives out what stands before `until`; nothing that ends before it can still grow. */
  #take(until: number): string {
    let out = ''
    let at = this.#start
    let through = 0
    for (const { from, to } of this.#spans) {
      if (to > until) break
      out += this.#between(at, from) + redactedWord
      at = to
      through++
    }
    this.#spans = this.#spans.slice(through)
    const end = Math.max(at, Math.min(until, this.#spans[0]?.from ?? until))
    out += this.#between(at, end)
    this.#held = this.#held.slice(end - this.#start)
    this.#start = end
    return out
  }

  #between(from: number, to: number): string {
    return this.#held.slice(from - this.#start, to - this.#start)
  }
}

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
