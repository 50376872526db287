// The order of one batch (SCHED-1). The model's order means something: parallel-safe and keyed calls run together; any other call is a
// barrier, after all before it and before all after it. The batch is cut into segments, a run of free calls or one barrier; a segment
// may start when everything in the one before has left. A call that waits for the outside has left. Equal keys of a segment are in
// turn as well: the next one may start when the one before has left, however often that one is tried.

import type { CallPosition } from '../../store/records/call-record.ts'
import type { Concurrency } from '../../tools/tool-options.ts'

interface Segment {
  readonly at: number
  readonly barrier: boolean
  /** How many of its calls have not left yet. */
  staying: number
  /** Who waits for the segments before it. */
  waiting: Place[]
  readonly keyed: Place[]
  /** The first of the keyed that has neither asked for its turn nor left: keys are told in the model's order. */
  asking: number
  readonly byKey: Map<string, Place[]>
}

/** A call's place in the order of its batch. */
export class Place {
  readonly line: BatchOrder
  readonly segment: Segment
  readonly position: CallPosition
  left = false
  /** Known when it has asked for its turn. */
  key: string | undefined
  wake: (() => void) | null = null
  /** How many have a word in when it leaves: the runs that gather its outcome, and after a crash the call itself. */
  holders = 1
  /** It came back after a crash, and nobody may be there to gather its outcome. */
  returned = false
  /** Its batch stops at a failure, and nobody gathers it here. */
  stops = false
  /** A run that gathers it stops at a failure. */
  strict = false
  /** What it gives back only when it leaves. */
  slot: { done(): void } | null = null
  /** The same call in other batches, which leave with it; and the one they leave with. */
  others: Place[] | null = null
  of: Place | null = null

  constructor(line: BatchOrder, segment: Segment, position: CallPosition) {
    this.line = line
    this.segment = segment
    this.position = position
  }
}

export class BatchOrder {
  readonly name: string
  /** A call of it has failed, and those that stop at that do not start. */
  failed = false
  readonly #segments: Segment[] = []
  #current = 0
  #staying = 0

  constructor(name: string) {
    this.name = name
  }

  /** Says that a call of the batch is coming, after all that came before. */
  expect(position: CallPosition, kind: Concurrency['kind']): Place {
    const barrier = kind === 'barrier' || kind === 'exclusive'
    let segment = this.#segments.at(-1)
    if (!segment || barrier || segment.barrier) {
      segment = { at: this.#segments.length, barrier, staying: 0, waiting: [], keyed: [], asking: 0, byKey: new Map() }
      this.#segments.push(segment)
    }
    const place = new Place(this, segment, position)
    segment.staying++
    this.#staying++
    if (kind === 'keyed') segment.keyed.push(place)
    this.#advance()
    return place
  }

  /** Whether everything before it that it must wait for has left. */
  mayRun(place: Place, key: string | null): boolean {
    const { segment } = place
    if (place.left) return true
    if (segment.at > this.#current) return false
    if (key === null || segment.keyed.length === 0) return true
    if (place.key === undefined) {
      if (segment.keyed[segment.asking] !== place) return false
      place.key = key
      const same = segment.byKey.get(key)
      if (same) same.push(place)
      else segment.byKey.set(key, [place])
      this.#nextAsks(segment)
    }
    return segment.byKey.get(place.key)?.[0] === place
  }

  wait(place: Place, wake: () => void): void {
    place.wake = wake
    if (place.segment.at > this.#current) place.segment.waiting.push(place)
  }

  /** It has settled, parked, or will never come. */
  left(place: Place): void {
    const { segment } = place
    place.left = true
    segment.staying--
    this.#staying--
    if (segment.keyed.length > 0) this.#keyedLeft(place, segment)
    this.#advance()
  }

  get done(): boolean {
    return this.#staying === 0
  }

  #keyedLeft({ key }: Place, segment: Segment): void {
    this.#nextAsks(segment)
    const same = key === undefined ? undefined : segment.byKey.get(key)
    if (!same) return
    while (same[0]?.left) same.shift()
    wake(same[0])
  }

  #nextAsks(segment: Segment): void {
    const { keyed, asking } = segment
    let next = keyed[asking]
    while (next && (next.left || next.key !== undefined)) next = keyed[++segment.asking]
    if (segment.asking > asking) wake(next)
  }

  #advance(): void {
    while (this.#current < this.#segments.length - 1 && this.#segments[this.#current]?.staying === 0) {
      const { waiting } = this.#segments[++this.#current] as Segment
      for (const place of waiting.splice(0)) wake(place)
    }
  }
}

function wake(place: Place | undefined): void {
  const woken = place?.wake
  if (!place || !woken) return
  place.wake = null
  woken()
}
