// The order of the calls in one batch. Parallel-safe and keyed calls run concurrently; any other call is a barrier that
// runs after all calls before it and before all calls after it. A batch consists of segments: a run of concurrent
// calls, or one barrier. A segment starts when all calls of the previous one have left the order (settled or parked).
// Calls with the same key in a segment run one after the other, in the order of the model, including their retries.

import type { CallPosition } from '../../store/records/call-record.ts'
import type { Concurrency } from '../../tools/tool-options.ts'

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
  slot: { release(): void } | null = null
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
