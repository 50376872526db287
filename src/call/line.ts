// The order of one batch (SCHED-1). The model's order means something: parallel-safe and keyed calls run together; any other call is a
// barrier, after all before it and before all after it. The batch is cut into segments, a run of free calls or one barrier; a segment
// may start when everything in the one before has left. A call that waits for the outside has left.

import type { Concurrency } from '../tool/terms.ts'

interface Segment {
  readonly barrier: boolean
  /** How many of its calls have not left yet. */
  staying: number
  /** Keyed calls take their locks in the model's order: each waits until the ones before it have asked for theirs. */
  readonly keyed: { order: number; asked: boolean }[]
  waiting: (() => void)[]
}

export class Line {
  readonly #segments: Segment[] = []
  readonly #of = new Map<number, Segment>()
  #current = 0
  /** A call leaves only when its outcome has been judged: for batches that stop at a failure. */
  strict = false

  /** Says that a call of the batch is coming. Asked again for the same place (a batch that is joined), it says nothing new. */
  expect(order: number, kind: Concurrency['kind']): void {
    if (this.#of.has(order)) return
    const barrier = kind === 'barrier' || kind === 'exclusive'
    let segment = this.#segments.at(-1)
    if (!segment || barrier || segment.barrier) {
      segment = { barrier, staying: 0, keyed: [], waiting: [] }
      this.#segments.push(segment)
    }
    segment.staying++
    if (kind === 'keyed') segment.keyed.push({ order, asked: false })
    this.#of.set(order, segment)
    this.#advance()
  }

  /** Whether everything before it that it must wait for has left. */
  mayRun(order: number): boolean {
    const segment = this.#of.get(order)
    if (!segment) return true
    if (this.#segments.indexOf(segment, this.#current) > this.#current) return false
    return segment.keyed.every((each) => each.order >= order || each.asked)
  }

  wait(order: number, wake: () => void): void {
    this.#of.get(order)?.waiting.push(wake)
  }

  /** A keyed call has asked for its lock: the next one may ask. */
  asked(order: number): void {
    const segment = this.#of.get(order)
    const own = segment?.keyed.find((each) => each.order === order)
    if (!segment || !own || own.asked) return
    own.asked = true
    this.#wake(segment)
  }

  /** It has settled, parked, or will never come. */
  left(order: number): void {
    const segment = this.#of.get(order)
    if (!segment) return
    this.asked(order)
    this.#of.delete(order)
    segment.staying--
    this.#advance()
  }

  get done(): boolean {
    return this.#of.size === 0
  }

  #advance(): void {
    while (this.#current < this.#segments.length - 1 && this.#segments[this.#current]?.staying === 0) {
      this.#current++
      this.#wake(this.#segments[this.#current] as Segment)
    }
  }

  #wake(segment: Segment): void {
    const waiting = segment.waiting
    segment.waiting = []
    for (const wake of waiting) wake()
  }
}
