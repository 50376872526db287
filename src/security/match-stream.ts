// Replaces secrets in a text that may arrive in pieces. The text is scanned as it is, and where an entity or a line break
// may be inside a secret, a second scan reads it as decoded-text.ts does. Both take one linear pass. redact.ts uses it.

import { CharacterDecoder, isEncoded, mayBeginSecret } from './decoded-text.ts'
import { MatchScan, type SecretMatcher } from './secret-matcher.ts'

export const redactedMark = '[redacted]'

interface Span {
  readonly from: number
  readonly to: number
}

/** The ranges of this many decoded characters are kept before those that are no longer needed are dropped. */
const maxStarts = 64 * 1024

/** A shorter beginning may be ordinary text. */
const minCutLength = 8
const ellipsis = 0x2026
const quote = 0x22

export class MatchStream {
  readonly #scan: MatchScan
  readonly #decodedScan: MatchScan
  readonly #decoder: CharacterDecoder
  /** Whether the second scan runs. */
  #decodes = false
  /** Where the last decoded characters begin in the text. */
  #starts: number[] = []
  /** Text that was read but not returned yet, and its offset in the whole stream. */
  #buffer = ''
  #start = 0
  /** The possible beginning of a secret before the last quotation mark. */
  #quoted: Span | null = null
  /** Ranges to replace, ordered and disjoint. */
  #spans: Span[] = []

  /** Overlapping matches of any matcher are replaced together. */
  constructor(...matchers: readonly SecretMatcher[]) {
    this.#scan = new MatchScan(matchers)
    this.#decodedScan = new MatchScan(matchers)
    this.#decoder = new CharacterDecoder((unit, from, to) => this.#readDecoded(unit, from, to))
  }

  /** Redacts a complete text. Returns the same string if nothing matches. */
  whole(text: string): string {
    this.#read(text)
    this.#decoder.end()
    return this.#spans.length === 0 ? text : this.end()
  }

  push(piece: string): string {
    this.#read(piece)
    const end = this.#start + this.#buffer.length
    const decodedPending = this.#decodedScan.pending
    this.#starts = decodedPending === 0 ? [] : this.#starts.slice(-decodedPending)
    return this.#flush(Math.min(end - this.#scan.pending, this.#starts[0] ?? end, this.#decoder.heldFrom ?? end))
  }

  end(): string {
    this.#decoder.end()
    this.#scan.reset()
    this.#decodedScan.reset()
    this.#starts = []
    return this.#flush(this.#start + this.#buffer.length)
  }

  #read(piece: string): void {
    const scan = this.#scan
    let at = this.#start + this.#buffer.length
    for (let index = 0; index < piece.length; index++) {
      const unit = piece.charCodeAt(index)
      if (unit === ellipsis || unit === quote) this.#readCut(unit, at)
      if (!this.#decodes && isEncoded(unit)) this.#startDecoding(unit, at)
      const length = scan.read(unit)
      if (this.#decodes) this.#decode(unit, at)
      at++
      if (length > 0) this.#addSpan(at - length, at)
    }
    this.#buffer += piece
  }

  /** If no secret has begun, a line break cannot be inside one, and the plain scan finds all that follow it. */
  #startDecoding(unit: number, at: number): void {
    const { pending } = this.#scan
    if (pending === 0 && !mayBeginSecret(unit)) return
    this.#decodes = true
    this.#decodedScan.copy(this.#scan)
    this.#starts = Array.from({ length: pending }, (_, index) => at - pending + index)
  }

  /** Ends the second scan where no secret has begun in it: from there the plain scan finds the same. */
  #decode(unit: number, at: number): void {
    this.#decoder.push(unit, at)
    if (this.#decodedScan.pending > 0 || this.#decoder.heldFrom !== null) return
    this.#decodes = false
    this.#decoder.reset()
    this.#starts = []
  }

  /** The beginning of a secret before `…` or `"…`: a text that was truncated before it was redacted. */
  #readCut(unit: number, at: number): void {
    const decoded = this.#decodedScan.pending
    const from = Math.min(at - this.#scan.pending, decoded === 0 ? at : (this.#starts.at(-decoded) as number))
    if (unit === quote) this.#quoted = { from, to: at }
    else
      for (const cut of this.#quoted?.to === at - 1 ? [this.#quoted, { from, to: at }] : [{ from, to: at }])
        if (cut.to - cut.from >= minCutLength) this.#addSpan(Math.max(cut.from, this.#start), cut.to)
  }

  #readDecoded(unit: number, from: number, to: number): void {
    if (this.#starts.length >= maxStarts) {
      const { pending } = this.#decodedScan
      this.#starts = pending === 0 ? [] : this.#starts.slice(-pending)
    }
    this.#starts.push(from)
    const length = this.#decodedScan.read(unit)
    if (length > 0) this.#addSpan(this.#starts[this.#starts.length - length] as number, to)
  }

  /** Adds a range and merges it with those it overlaps. A range of decoded text may end before the last one. */
  #addSpan(from: number, to: number): void {
    let first = from
    let end = to
    for (let last = this.#spans.at(-1); last && last.to >= first; last = this.#spans.at(-1)) {
      first = Math.min(first, last.from)
      end = Math.max(end, last.to)
      this.#spans.pop()
    }
    this.#spans.push({ from: first, to: end })
  }

  /** Returns the text before `until`. No range that ends before it can still grow. */
  #flush(until: number): string {
    let out = ''
    let at = this.#start
    let flushed = 0
    for (const { from, to } of this.#spans) {
      if (to > until) break
      out += this.#slice(at, from) + redactedMark
      at = to
      flushed++
    }
    this.#spans = this.#spans.slice(flushed)
    const end = Math.max(at, Math.min(until, this.#spans[0]?.from ?? until))
    out += this.#slice(at, end)
    this.#buffer = this.#buffer.slice(end - this.#start)
    this.#start = end
    return out
  }

  #slice(from: number, to: number): string {
    return this.#buffer.slice(from - this.#start, to - this.#start)
  }
}
