// The order of the calls in one batch. Parallel-safe and keyed calls run concurrently; any other call is a barrier that
// runs after all calls before it and before all calls after it. A batch consists of segments: a run of concurrent
// calls, or one barrier. A segment starts when all calls of the previous one have left the order (settled or parked).
// Calls with the same key in a segment run one after the other, in the order of the model, including their retries.

import type { CallPosition } from '../../store/records/call-record.ts'
import type { Concurrency } from '../../tools/tool-options.ts'
import { abortsTurn, type Outcome } from '../../core/outcome.ts'
import { PositionMap } from '../../store/records/map-by-call-position.ts'
import type { NestedCallGroups } from './nested-calls.ts'

interface Segment {
  readonly at: number
  readonly barrier: boolean
  /** Calls that have not left yet. */
  remaining: number
  /** Calls that wait for earlier segments. */
  waiting: BatchEntry[]
  readonly keyed: BatchEntry[]
  /**
   * Index of the first keyed call whose key is not known yet and that has not left. Keys register in the model's order.
   */
  nextKeyed: number
  readonly byKey: Map<string, BatchEntry[]>
}

/** One call in the order of its batch. */
export class BatchEntry {
  readonly order: BatchOrder
  readonly segment: Segment
  readonly position: CallPosition
  left = false
  /** Set when the call first asks whether it may run. */
  key: string | undefined
  wake: (() => void) | null = null
  /** Reference count: the runs that collect its outcome, plus the call itself if `heldByCall`. */
  holders = 1
  /** The call was recovered after a crash, so there may be no run that collects its outcome. */
  heldByCall = false
  /** The batch stops at a failure, and no run in this process collects the outcome. */
  stopsBatch = false
  /** A run that collects the outcome stops at a failure. */
  stopsOnFailure = false
  /** Released only when the entry leaves. */
  slot: HeldSlot | null = null
  /** Entries of the same call in other batches, which leave together with this one. */
  duplicates: BatchEntry[] | null = null
  /** The entry with which this duplicate leaves. */
  primary: BatchEntry | null = null

  constructor(order: BatchOrder, segment: Segment, position: CallPosition) {
    this.order = order
    this.segment = segment
    this.position = position
  }
}

export class BatchOrder {
  readonly name: string
  /** A call of the batch has failed. Entries with `stopsBatch` do not start any more. */
  failed = false
  readonly #segments: Segment[] = []
  #current = 0
  #remaining = 0

  constructor(name: string) {
    this.name = name
  }

  /** Adds a call at the end of the order. */
  expect(position: CallPosition, kind: Concurrency['kind']): BatchEntry {
    const barrier = kind === 'barrier' || kind === 'exclusive'
    let segment = this.#segments.at(-1)
    if (!segment || barrier || segment.barrier) {
      segment = {
        at: this.#segments.length,
        barrier,
        remaining: 0,
        waiting: [],
        keyed: [],
        nextKeyed: 0,
        byKey: new Map(),
      }
      this.#segments.push(segment)
    }
    const entry = new BatchEntry(this, segment, position)
    segment.remaining++
    this.#remaining++
    if (kind === 'keyed') segment.keyed.push(entry)
    this.#advance()
    return entry
  }

  /** True if all calls that must run before it have left. */
  mayRun(entry: BatchEntry, key: string | null): boolean {
    const { segment } = entry
    if (entry.left) return true
    if (segment.at > this.#current) return false
    if (key === null || segment.keyed.length === 0) return true
    if (entry.key === undefined) {
      if (segment.keyed[segment.nextKeyed] !== entry) return false
      entry.key = key
      const same = segment.byKey.get(key)
      if (same) same.push(entry)
      else segment.byKey.set(key, [entry])
      this.#advanceKeyed(segment)
    }
    return segment.byKey.get(entry.key)?.[0] === entry
  }

  wait(entry: BatchEntry, wake: () => void): void {
    entry.wake = wake
    if (entry.segment.at > this.#current) entry.segment.waiting.push(entry)
  }

  /** The call has settled, parked, or will never run. */
  leave(entry: BatchEntry): void {
    const { segment } = entry
    entry.left = true
    segment.remaining--
    this.#remaining--
    if (segment.keyed.length > 0) this.#keyedLeft(entry, segment)
    this.#advance()
  }

  get done(): boolean {
    return this.#remaining === 0
  }

  #keyedLeft({ key }: BatchEntry, segment: Segment): void {
    this.#advanceKeyed(segment)
    const same = key === undefined ? undefined : segment.byKey.get(key)
    if (!same) return
    while (same[0]?.left) same.shift()
    wake(same[0])
  }

  #advanceKeyed(segment: Segment): void {
    const { keyed, nextKeyed: before } = segment
    let next = keyed[before]
    while (next && (next.left || next.key !== undefined)) next = keyed[++segment.nextKeyed]
    if (segment.nextKeyed > before) wake(next)
  }

  #advance(): void {
    while (this.#current < this.#segments.length - 1 && this.#segments[this.#current]?.remaining === 0) {
      const { waiting } = this.#segments[++this.#current] as Segment
      for (const entry of waiting.splice(0)) wake(entry)
    }
  }
}

function wake(entry: BatchEntry | undefined): void {
  const callback = entry?.wake
  if (!entry || !callback) return
  entry.wake = null
  callback()
}

/** The part of a slot that the batch order uses. */
interface HeldSlot {
  readonly uid: string
  release(): void
}

/**
 * All batch orders of this process: finds the entry of a call, and counts the holders of an entry, which stays until it
 * has none. Used by the queue, the batches and the pipeline.
 */
export class BatchPositions {
  /** By name. Orders without a name are only reachable through their entries. */
  readonly #orders = new Map<string, BatchOrder>()
  readonly #entries = new PositionMap<BatchEntry>()
  #entryCount = 0
  readonly #nestedCalls: NestedCallGroups

  constructor(nestedCalls: NestedCallGroups) {
    this.#nestedCalls = nestedCalls
  }

  /** Number of orders and entries. */
  get size(): number {
    return this.#orders.size + this.#entryCount
  }

  /** The order of a batch or a run. Runs with the same name share one order. */
  orderOf(name: string): BatchOrder {
    return this.#orders.get(name) ?? new BatchOrder(name)
  }

  /**
   * Announces a call before any call of its batch starts. A call that already has an entry keeps that entry as primary.
   */
  expect(order: BatchOrder, position: CallPosition, kind: Concurrency['kind'], stopsOnFailure = false): BatchEntry {
    const first = this.#entries.get(position)
    if (first) {
      first.holders++
      if (stopsOnFailure) first.stopsOnFailure = true
      if (first.order === order) return first
    }
    const entry = order.expect(position, kind)
    if (order.name !== '') this.#orders.set(order.name, order)
    entry.stopsOnFailure = stopsOnFailure
    if (first) {
      entry.primary = first
      first.duplicates ??= []
      first.duplicates.push(entry)
      if (first.left) this.#leave(entry)
    } else {
      this.#entries.set(position, entry)
      this.#entryCount++
    }
    return entry
  }

  /**
   * Announces a call that is recovered after a crash, unless it already has an entry. An entry in a finished order does
   * not count: another worker has run the batch since then, and all of its calls are announced again.
   */
  expectRecovered(order: BatchOrder, position: CallPosition, kind: Concurrency['kind'], stopsBatch = false): void {
    const before = this.#entries.get(position)
    if (before && !before.order.done) return
    if (before) this.#remove(before)
    const entry = this.expect(order, position, kind)
    entry.heldByCall = true
    entry.stopsBatch = stopsBatch
  }

  /**
   * The pipeline of the call has finished. If its outcome stops the batch, the slot is kept until the run has seen the
   * outcome, so that the next call cannot start earlier. Otherwise the slot is released immediately, and the start of
   * the next call shares a group commit with this settlement.
   */
  pipelineDone(position: CallPosition, slot: HeldSlot | null, outcome: Outcome | null): void {
    if (slot) this.#nestedCalls.pipelineDone(slot.uid)
    const entry = this.entryAt(position)
    if (entry?.stopsBatch && outcome?.status === 'failure') entry.order.failed = true
    if (entry) setHeldByCall(entry, false)
    if (
      entry &&
      entry.holders > 0 &&
      outcome?.status === 'failure' &&
      (entry.stopsOnFailure || abortsTurn(outcome) !== null)
    ) {
      entry.slot = slot
      return
    }
    slot?.release()
    if (!entry) return
    this.leave(entry)
    if (entry.holders === 0) this.#remove(entry)
  }

  /**
   * The execution was lost (store unavailable). The call is claimed again; until then it keeps its place in the order.
   */
  executionLost(position: CallPosition, slot: HeldSlot | null): void {
    if (slot) this.#nestedCalls.pipelineDone(slot.uid)
    slot?.release()
    const entry = this.entryAt(position)
    if (entry) setHeldByCall(entry, true)
  }

  /**
   * The run will not receive the outcome of this call, so the call keeps its own place in the batch order. The run no
   * longer collects the other calls either: where it would have stopped the batch on a failure, the calls now do so.
   */
  outcomeUnobserved(entry: BatchEntry, run: readonly BatchEntry[]): void {
    for (const each of run) each.stopsBatch ||= each.stopsOnFailure
    const first = entry.primary ?? entry
    first.stopsBatch ||= first.stopsOnFailure
    setHeldByCall(first, true)
    first.slot?.release()
    first.slot = null
    this.releaseRun(entry)
  }

  /** The execution was lost, and the call will not be claimed by this worker again. */
  willNotReturn(position: CallPosition): void {
    const entry = this.entryAt(position)
    if (!entry?.heldByCall) return
    setHeldByCall(entry, false)
    this.leave(entry)
    if (entry.holders === 0) this.#remove(entry)
  }

  /** A run has the outcome, or knows that it will not get one. Other holders keep the entry. */
  releaseRun(entry: BatchEntry): void {
    const first = entry.primary ?? entry
    if (first !== entry) this.#leave(entry)
    if (--first.holders > 0) return
    this.leave(first)
    first.slot?.release()
    this.#remove(first)
  }

  /** The call leaves the order of its batch: it has ended, parked, or will never run. */
  leave(entry: BatchEntry): void {
    if (entry.left) return
    this.#leave(entry)
    for (const other of entry.duplicates ?? []) this.#leave(other)
  }

  #leave(entry: BatchEntry): void {
    if (entry.left) return
    const { order } = entry
    order.leave(entry)
    if (order.done && this.#orders.get(order.name) === order) this.#orders.delete(order.name)
  }

  #remove(entry: BatchEntry): void {
    if (this.#entries.get(entry.position) !== entry) return
    this.#entries.delete(entry.position)
    this.#entryCount--
  }

  entryAt(position: CallPosition): BatchEntry | undefined {
    return this.#entryCount === 0 ? undefined : this.#entries.get(position)
  }
}

/** Adds or removes the call itself as a holder of its entry. */
function setHeldByCall(entry: BatchEntry, held: boolean): void {
  if (entry.heldByCall === held) return
  entry.heldByCall = held
  entry.holders += held ? 1 : -1
}
