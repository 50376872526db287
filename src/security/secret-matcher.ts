// Finds any of some texts in a stream of characters, in one pass (Aho and Corasick): the time is that of reading the text, whatever the text is.
//
// Only the beginnings of long texts are in the tree, which takes hundreds of bytes for a character: where one is found, that text alone is followed from
// there on (Knuth, Morris and Pratt).

export const redactedWord = '[redacted]'

/** What is longer than this is followed by itself. */
const headLength = 32

/** A text that is not in the tree but for its beginning. */
class Long {
  readonly text: string
  #fallbacks: Int32Array | null = null

  constructor(text: string) {
    this.text = text
  }

  /** By how many characters have matched: how many still do if the next one does not. Made when its beginning is found. */
  get fallbacks(): Int32Array {
    return (this.#fallbacks ??= fallbacksOf(this.text))
  }
}

/** One that is followed, and how much of it was read. */
interface Following {
  readonly long: Long
  readonly text: string
  readonly fallbacks: Int32Array
  matched: number
}

function fallbacksOf(text: string): Int32Array {
  const fallbacks = new Int32Array(text.length + 1)
  let matched = 0
  for (let at = 1; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    while (matched > 0 && text.charCodeAt(matched) !== unit) matched = fallbacks[matched] as number
    if (text.charCodeAt(matched) === unit) matched++
    fallbacks[at + 1] = matched
  }
  return fallbacks
}

export class Matcher {
  readonly #next: Map<number, number>[] = [new Map()]
  /** By character: whether one begins with it. Most characters of most texts are passed over with this. */
  readonly #first = new Uint8Array(0x10000)
  readonly #fail: number[] = [0]
  readonly #depth: number[] = [0]
  /** The longest text that ends where a state is reached; 0 if none does. */
  readonly #ends: number[] = [0]
  /** Long texts, by the state in which their beginning has been read. No state is deeper, so it is reached by nothing else. */
  readonly #longs = new Map<number, Long[]>()

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

  /** Those that begin with what was read last. */
  longs(state: number): readonly Long[] | undefined {
    return this.#depth[state] === headLength ? this.#longs.get(state) : undefined
  }

  #add(text: string): void {
    const isLong = text.length > headLength
    const end = isLong ? headLength : text.length
    let state = 0
    this.#first[text.charCodeAt(0)] = 1
    for (let at = 0; at < end; at++) {
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
    if (!isLong) this.#ends[state] = text.length
    else this.#longs.set(state, [...(this.#longs.get(state) ?? []), new Long(text)])
  }
}

const none: readonly Long[] = []

interface Span {
  readonly from: number
  readonly to: number
}

/** Takes what a matcher finds out of a text that may come in pieces. */
export class Stream {
  readonly #matchers: readonly Matcher[]
  /** Of each matcher. */
  readonly #states: number[]
  /** Long texts whose beginning was read, and how much of each: for a set, and in a row, which is quick. */
  readonly #followed = new Set<Long>()
  #following: Following[] = []
  /** What was read and not given out yet, and where in all that was read it begins. */
  #held = ''
  #start = 0
  /** What is to be taken out of it, in order, apart from each other. */
  #spans: Span[] = []

  /** What any of them finds: what overlaps is taken out together, whoever found it. */
  constructor(...matchers: readonly Matcher[]) {
    this.#matchers = matchers
    this.#states = matchers.map(() => 0)
  }

  /** The same text, not a copy, where there is nothing to take out. */
  whole(text: string): string {
    this.#read(text)
    return this.#spans.length === 0 ? text : this.end()
  }

  push(piece: string): string {
    this.#read(piece)
    const depths = this.#matchers.map((matcher, which) => matcher.depth(this.#states[which] as number))
    const begun = Math.max(...depths, ...this.#following.map(({ matched }) => matched))
    return this.#take(this.#start + this.#held.length - begun)
  }

  end(): string {
    this.#states.fill(0)
    this.#followed.clear()
    this.#following = []
    return this.#take(this.#start + this.#held.length)
  }

  #read(piece: string): void {
    const matchers = this.#matchers
    const states = this.#states
    let at = this.#start + this.#held.length
    for (let index = 0; index < piece.length; index++) {
      const unit = piece.charCodeAt(index)
      at++
      if (this.#following.length > 0) this.#follow(unit, at)
      for (let which = 0; which < matchers.length; which++) {
        const matcher = matchers[which] as Matcher
        const state = (states[which] = matcher.step(states[which] as number, unit))
        const length = matcher.ends(state)
        if (length > 0) this.#found(at - length, at)
        for (const long of matcher.longs(state) ?? none) this.#begin(long)
      }
    }
    this.#held += piece
  }

  #begin(long: Long): void {
    if (this.#followed.has(long)) return
    this.#followed.add(long)
    this.#following.push({ long, text: long.text, fallbacks: long.fallbacks, matched: headLength })
  }

  /** What matches less than its beginning is in the tree again. */
  #follow(unit: number, at: number): void {
    let gone = false
    for (const each of this.#following) {
      const { text, fallbacks } = each
      let { matched } = each
      // Past the end of the text there is no character: so what was found whole falls back first.
      while (matched > 0 && text.charCodeAt(matched) !== unit) matched = fallbacks[matched] as number
      if (text.charCodeAt(matched) === unit) matched++
      each.matched = matched
      if (matched === text.length) this.#found(at - matched, at)
      if (matched < headLength) gone = this.#followed.delete(each.long)
    }
    if (gone) this.#following = this.#following.filter(({ matched }) => matched >= headLength)
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
