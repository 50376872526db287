// Finds any of a set of texts in a stream of characters in one linear pass (Aho-Corasick). match-stream.ts uses it.
//
// The trie is kept in typed arrays, because thousands of texts may be in it. Still it takes some 20 bytes per character,
// so only the first characters of long texts are in it. Where such a beginning is found, that text alone is matched
// further (Knuth-Morris-Pratt).

/** Only this many characters of a text are in the trie. The rest of a longer text is matched separately. */
const headLength = 32

/** A text of which only the head is in the trie. */
class LongText {
  readonly text: string
  #fallbacks: Int32Array | null = null

  constructor(text: string) {
    this.text = text
  }

  /** KMP failure table, built when the head is first found. */
  get fallbacks(): Int32Array {
    return (this.#fallbacks ??= fallbacksOf(this.text))
  }
}

/** A long text that is being matched, and the number of characters matched so far. */
interface LongMatch {
  readonly long: LongText
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

export class SecretMatcher {
  /** For each character, 1 if a secret text begins with it. Lets the scan skip most characters. */
  readonly #first = new Uint8Array(0x10000)
  /** By state: the state before it, and the character that leads here from there. State 0 is the start. */
  readonly #parent: Int32Array
  readonly #unit: Uint16Array
  readonly #fail: Int32Array
  readonly #depth: Uint8Array
  /** By state: length of the longest text that ends there; 0 if none does. */
  readonly #ends: Uint8Array
  /** Hash table that finds a state by its parent and character; 0 is an empty slot. */
  #states = new Int32Array(1024)
  #count = 1
  /** Long texts by the state of their complete head. No state is deeper, so only these texts reach it. */
  readonly #longTexts = new Map<number, LongText[]>()

  constructor(texts: Iterable<string>) {
    const all = [...texts]
    const most = all.reduce((sum, text) => sum + Math.min(text.length, headLength), 1)
    this.#parent = new Int32Array(most)
    this.#unit = new Uint16Array(most)
    this.#depth = new Uint8Array(most)
    this.#ends = new Uint8Array(most)
    for (const text of all) this.#add(text)
    // Most texts share beginnings, so there are fewer states.
    this.#parent = this.#parent.slice(0, this.#count)
    this.#unit = this.#unit.slice(0, this.#count)
    this.#depth = this.#depth.slice(0, this.#count)
    this.#ends = this.#ends.slice(0, this.#count)
    this.#fail = new Int32Array(this.#count)
    this.#setFallbacks()
  }

  step(from: number, unit: number): number {
    if (from === 0 && this.#first[unit] === 0) return 0
    for (let state = from; ; state = this.#fail[state] as number) {
      const next = this.#child(state, unit)
      if (next !== 0) return next
      if (state === 0) return 0
    }
  }

  /** How many of the last characters may be the beginning of a text. */
  depth(state: number): number {
    return this.#depth[state] as number
  }

  ends(state: number): number {
    return this.#ends[state] as number
  }

  /** Long texts whose head was just read. */
  longTextsAt(state: number): readonly LongText[] | undefined {
    return this.#depth[state] === headLength ? this.#longTexts.get(state) : undefined
  }

  #add(text: string): void {
    const isLong = text.length > headLength
    const end = isLong ? headLength : text.length
    let state = 0
    this.#first[text.charCodeAt(0)] = 1
    for (let at = 0; at < end; at++) {
      const unit = text.charCodeAt(at)
      state = this.#child(state, unit) || this.#addState(state, unit, at + 1)
    }
    if (!isLong) this.#ends[state] = text.length
    else this.#longTexts.set(state, [...(this.#longTexts.get(state) ?? []), new LongText(text)])
  }

  #addState(parent: number, unit: number, depth: number): number {
    const state = this.#count++
    this.#parent[state] = parent
    this.#unit[state] = unit
    this.#depth[state] = depth
    if (this.#count * 2 <= this.#states.length) this.#states[this.#slot(parent, unit)] = state
    else {
      this.#states = new Int32Array(this.#states.length * 2)
      for (let each = 1; each < this.#count; each++)
        this.#states[this.#slot(this.#parent[each] as number, this.#unit[each] as number)] = each
    }
    return state
  }

  #child(parent: number, unit: number): number {
    return this.#states[this.#slot(parent, unit)] as number
  }

  /** The slot of this state, or the empty slot where it belongs. */
  #slot(parent: number, unit: number): number {
    const mask = this.#states.length - 1
    const hash = Math.imul(Math.imul(parent, 0x9e3779b1) ^ unit, 0x85ebca6b)
    for (let slot = (hash ^ (hash >>> 15)) & mask; ; slot = (slot + 1) & mask) {
      const state = this.#states[slot] as number
      if (state === 0 || (this.#parent[state] === parent && this.#unit[state] === unit)) return slot
    }
  }

  /** Level by level, because the fallback of a state is less deep than the state. */
  #setFallbacks(): void {
    const levels: number[][] = Array.from({ length: headLength + 1 }, () => [])
    for (let state = 1; state < this.#count; state++) (levels[this.#depth[state] as number] as number[]).push(state)
    for (const state of levels.slice(2).flat()) {
      const fallback = this.step(this.#fail[this.#parent[state] as number] as number, this.#unit[state] as number)
      this.#fail[state] = fallback
      if (this.#ends[state] === 0) this.#ends[state] = this.#ends[fallback] as number
    }
  }
}

const noLongTexts: readonly LongText[] = []

/** One pass of some matchers over a sequence of characters. */
export class MatchScan {
  readonly #matchers: readonly SecretMatcher[]
  /** Current state of each matcher. */
  readonly #states: number[]
  /** Long texts being matched: as a set for lookup, and as a list for fast iteration. */
  readonly #activeLongTexts = new Set<LongText>()
  #longMatches: LongMatch[] = []

  constructor(matchers: readonly SecretMatcher[]) {
    this.#matchers = matchers
    this.#states = matchers.map(() => 0)
  }

  /** How many of the last characters may be the beginning of a match. */
  get pending(): number {
    let pending = 0
    for (let which = 0; which < this.#matchers.length; which++) {
      const depth = (this.#matchers[which] as SecretMatcher).depth(this.#states[which] as number)
      if (depth > pending) pending = depth
    }
    for (const { matched } of this.#longMatches) if (matched > pending) pending = matched
    return pending
  }

  /** Reads a character. Returns the length of the longest match that ends with it, or 0. */
  read(unit: number): number {
    let longest = this.#longMatches.length > 0 ? this.#advanceLongMatches(unit) : 0
    const matchers = this.#matchers
    const states = this.#states
    for (let which = 0; which < matchers.length; which++) {
      const matcher = matchers[which] as SecretMatcher
      const state = (states[which] = matcher.step(states[which] as number, unit))
      const length = matcher.ends(state)
      if (length > longest) longest = length
      for (const long of matcher.longTextsAt(state) ?? noLongTexts) this.#startLongMatch(long)
    }
    return longest
  }

  /** Continues from where another scan with the same matchers is. */
  copy(from: MatchScan): void {
    this.reset()
    for (const [which, state] of from.#states.entries()) this.#states[which] = state
    for (const each of from.#longMatches) {
      this.#longMatches.push({ ...each })
      this.#activeLongTexts.add(each.long)
    }
  }

  reset(): void {
    this.#states.fill(0)
    this.#activeLongTexts.clear()
    this.#longMatches = []
  }

  #startLongMatch(long: LongText): void {
    if (this.#activeLongTexts.has(long)) return
    this.#activeLongTexts.add(long)
    this.#longMatches.push({ long, text: long.text, fallbacks: long.fallbacks, matched: headLength })
  }

  /** Drops a long text when fewer characters than its head match: from there the trie finds it again. */
  #advanceLongMatches(unit: number): number {
    let longest = 0
    let dropped = false
    for (const each of this.#longMatches) {
      const { text, fallbacks } = each
      let { matched } = each
      // charCodeAt past the end is NaN, so a completed match falls back first.
      while (matched > 0 && text.charCodeAt(matched) !== unit) matched = fallbacks[matched] as number
      if (text.charCodeAt(matched) === unit) matched++
      each.matched = matched
      if (matched === text.length && matched > longest) longest = matched
      if (matched < headLength) dropped = this.#activeLongTexts.delete(each.long)
    }
    if (dropped) this.#longMatches = this.#longMatches.filter(({ matched }) => matched >= headLength)
    return longest
  }
}
