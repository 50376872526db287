// The lines of a log that tell of trouble, with a little of what stands around them, for fit (VAL-7: error lines survive). Pure.
// Errors come before warnings: a flood of warnings hides no error.

import { characterEdge, costOf, type Place, type Room, type Stretch } from './text-size.ts'
import type { LongText } from './long-text.ts'

/** Lines kept before and after a line of trouble. */
const around = 2
/** A line of context longer than this is not worth its room. */
const longContext = 400

export interface TroubleShown {
  readonly stretches: readonly Stretch[]
  /** What they and their markers cost. */
  readonly bytes: number
  readonly lines: number
}

export function troubleShown(long: LongText, room: Room, place: Place, marker: number): TroubleShown {
  const spent = new Spending(long, room, place, marker)
  if (spent.all(long.trouble.errors)) spent.all(long.trouble.warnings)
  return { stretches: spent.stretches, bytes: spent.bytes, lines: spent.lines }
}

/** Chooses stretches in their order until the room is used up. */
class Spending {
  readonly stretches: Stretch[] = []
  bytes = 0
  lines = 0
  readonly #long: LongText
  readonly #room: Room
  readonly #place: Place
  readonly #marker: number

  constructor(long: LongText, room: Room, place: Place, marker: number) {
    this.#long = long
    this.#room = room
    this.#place = place
    this.#marker = marker
  }

  /** False when the room is used up. */
  all(found: readonly number[]): boolean {
    let done = 0
    for (const at of found) {
      if (at < done) continue
      const line = this.#line(at)
      const taken =
        this.#take(this.#withContext(line, done)) ?? this.#take({ from: Math.max(done, line.from), to: line.to })
      if (!taken) return false
      done = taken.to
    }
    return true
  }

  /** The line around the trouble; of a very long one, the part around it. Looked for nearby: a line costs its reach, not its length. */
  #line(at: number): Stretch {
    const reach = Math.max(100, Math.floor(this.#room.bytes / 16))
    const from = this.#lineStart(at, reach) ?? characterEdge(this.#long.text, at - reach, 'after')
    const to = this.#lineEnd(at, reach * 3) ?? characterEdge(this.#long.text, at + reach * 3, 'before')
    return { from, to }
  }

  #withContext(line: Stretch, done: number): Stretch {
    let { from, to } = line
    for (let step = 0; step < around && from > done && this.#long.isLineStart(from); step++) {
      const start = this.#lineStart(from - 1, longContext)
      if (start === undefined) break
      from = start
    }
    for (let step = 0; step < around && to < this.#long.text.length && this.#long.isLineStart(to); step++) {
      const end = this.#lineEnd(to, longContext)
      if (end === undefined) break
      to = end
    }
    return { from: Math.max(done, from), to }
  }

  /** Where the line of this index begins, if that is within reach. */
  #lineStart(at: number, reach: number): number | undefined {
    const base = Math.max(0, at - reach)
    const found = this.#long.text.slice(base, at).lastIndexOf('\n')
    return found !== -1 ? base + found + 1 : base === 0 ? 0 : undefined
  }

  /** Where the next line begins, if that is within reach. */
  #lineEnd(at: number, reach: number): number | undefined {
    const found = this.#long.text.slice(at, at + reach).indexOf('\n')
    return found !== -1 ? at + found + 1 : at + reach >= this.#long.text.length ? this.#long.text.length : undefined
  }

  #take(stretch: Stretch): Stretch | undefined {
    // Between stretches that touch there is no gap to mark.
    const apart = this.stretches.at(-1)?.to !== stretch.from
    const bytes = costOf(this.#long.text.slice(stretch.from, stretch.to), this.#place) + (apart ? this.#marker : 0)
    const lines = this.#long.breaksOf(stretch.from, stretch.to) + (apart ? 1 : 0)
    if (this.bytes + bytes > this.#room.bytes || this.lines + lines > this.#room.lines) return undefined
    this.bytes += bytes
    this.lines += lines
    this.stretches.push(stretch)
    return stretch
  }
}
