// All batch orders of this process (batch-order.ts): finds the entry of a call, and counts the holders of an entry
// until it may leave. Used by the queue, the batches and the pipeline.

import { abortsTurn, type Outcome } from '../../core/outcome.ts'
import type { CallPosition } from '../../store/records/call-record.ts'
import { PositionMap } from '../../store/records/map-by-call-position.ts'
import type { Concurrency } from '../../tools/tool-options.ts'
import type { NestedCallGroups } from './nested-calls.ts'
import { BatchOrder, type BatchEntry } from './batch-order.ts'
import type { Slot } from './slot.ts'

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
  pipelineDone(position: CallPosition, slot: Slot | null, outcome: Outcome | null): void {
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
  executionLost(position: CallPosition, slot: Slot | null): void {
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
