// Whose turn it is: the places of calls in the lines of their batches (batch-order.ts), and who has a word in when one leaves.

import { abortsTurn, type Outcome } from '../../core/outcome.ts'
import type { CallPosition } from '../../store/records/call-record.ts'
import { PositionMap } from '../../store/records/position-map.ts'
import type { Concurrency } from '../../tools/tool-options.ts'
import type { NestedCallGroups } from './nested-calls.ts'
import { BatchOrder, type Place } from './batch-order.ts'
import type { Slot } from './slot.ts'

export class BatchPositions {
  /** By name. Lines without one are known by their places alone. */
  readonly #lines = new Map<string, BatchOrder>()
  readonly #places = new PositionMap<Place>()
  #placed = 0
  readonly #families: NestedCallGroups

  constructor(families: NestedCallGroups) {
    this.#families = families
  }

  /** How many lines and turns there are. */
  get kept(): number {
    return this.#lines.size + this.#placed
  }

  /** The line of a batch or a run. Those of one name are one. */
  line(name: string): BatchOrder {
    return this.#lines.get(name) ?? new BatchOrder(name)
  }

  /** Says that a call is coming, before any of its batch starts. One that stands in some line already keeps its turn there. */
  expect(line: BatchOrder, position: CallPosition, kind: Concurrency['kind'], strict = false): Place {
    const first = this.#places.get(position)
    if (first) {
      first.holders++
      if (strict) first.strict = true
      if (first.line === line) return first
    }
    const place = line.expect(position, kind)
    if (line.name !== '') this.#lines.set(line.name, line)
    place.strict = strict
    if (first) {
      place.of = first
      first.others ??= []
      first.others.push(place)
      if (first.left) this.#leave(place)
    } else {
      this.#places.set(position, place)
      this.#placed++
    }
    return place
  }

  /**
   * A call that comes back after a crash. It has a turn of its own, unless it has one already. One that all of its line have left is none: the line was
   * another worker's for a while, and comes back whole.
   */
  returns(line: BatchOrder, position: CallPosition, kind: Concurrency['kind'], stops = false): void {
    const before = this.#places.get(position)
    if (before && !before.line.done) return
    if (before) this.#remove(before)
    const place = this.expect(line, position, kind)
    place.returned = true
    place.stops = stops
  }

  /**
   * Its pipeline is through. An outcome that stops the batch keeps what the call has until whoever gathers the outcomes has heard it:
   * the next one must not start before. Others let go at once, and the next one's start shares a sync with their end.
   */
  through(position: CallPosition, slot: Slot | null, outcome: Outcome | null): void {
    if (slot) this.#families.gone(slot.uid)
    const place = this.place(position)
    if (place?.stops && outcome?.status === 'failure') place.line.failed = true
    if (place) byItself(place, false)
    if (place && place.holders > 0 && outcome?.status === 'failure' && (place.strict || abortsTurn(outcome) !== null)) {
      place.slot = slot
      return
    }
    slot?.done()
    if (!place) return
    this.left(place)
    if (place.holders === 0) this.#remove(place)
  }

  /** The store was away: its execution came to nothing and the call is taken up again. Until then nobody behind it goes first (SCHED-1). */
  lost(position: CallPosition, slot: Slot | null): void {
    if (slot) this.#families.gone(slot.uid)
    slot?.done()
    const place = this.place(position)
    if (place) byItself(place, true)
  }

  /**
   * A run does not hear how it ended: it stands in line by itself then. Nobody gathers the others of the run any more: if they stop at a
   * failure, they do it by themselves.
   */
  unheard(place: Place, run: readonly Place[]): void {
    for (const each of run) each.stops ||= each.strict
    const first = place.of ?? place
    first.stops ||= first.strict
    byItself(first, true)
    first.slot?.done()
    first.slot = null
    this.judged(place)
  }

  /** It was lost and does not come back here. */
  gone(position: CallPosition): void {
    const place = this.place(position)
    if (!place?.returned) return
    byItself(place, false)
    this.left(place)
    if (place.holders === 0) this.#remove(place)
  }

  /** A run has its outcome, or knows that it has none. Who else needs the place keeps it. */
  judged(place: Place): void {
    const first = place.of ?? place
    if (first !== place) this.#leave(place)
    if (--first.holders > 0) return
    this.left(first)
    first.slot?.done()
    this.#remove(first)
  }

  /** The call has left the order of its batch: it is over, or waits for the outside, or was never to come. */
  left(place: Place): void {
    if (place.left) return
    this.#leave(place)
    for (const other of place.others ?? []) this.#leave(other)
  }

  #leave(place: Place): void {
    if (place.left) return
    const { line } = place
    line.left(place)
    if (line.done && this.#lines.get(line.name) === line) this.#lines.delete(line.name)
  }

  #remove(place: Place): void {
    if (this.#places.get(place.position) !== place) return
    this.#places.delete(place.position)
    this.#placed--
  }

  place(position: CallPosition): Place | undefined {
    return this.#placed === 0 ? undefined : this.#places.get(position)
  }
}

/** Whether the call itself has a word in when its place leaves, whoever gathers it. */
function byItself(place: Place, stands: boolean): void {
  if (place.returned === stands) return
  place.returned = stands
  place.holders += stands ? 1 : -1
}
