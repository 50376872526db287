// Group commit: concurrent changes share one transaction and one disk sync. Used by all three stores.
//
// There is one queue per process, one flush at a time, and at most one flush per event-loop turn. While a flush runs,
// further changes gather for the next one. A writer that runs elsewhere (a thread, a server) overlaps with the
// callers' own work. A change written with `ride` has no waiting caller: it stays queued until another change arrives
// or `lingerMs` has passed. The queue keeps its order, so a riding change is durable no later than the changes behind
// it.

import { isThenable } from '../core/maybe-promise.ts'
import { asSentence, PawlError } from '../core/errors.ts'
import type { Clock } from '../core/clock.ts'
import type { CallState } from './records/call-record.ts'
import type { Change, Committed, Hint, Written } from './store.ts'

interface Entry {
  readonly change: Change
  readonly onResult: (answer: Written) => void
}

/**
 * Makes all changes durable in one transaction and returns a result per change; `failed` means that this change alone
 * failed. If the writer cannot know whether the group was committed (connection lost during COMMIT), it throws, and
 * every change of the group is answered with store_unavailable.
 */
export type Write = (changes: readonly Change[]) => Written[] | Promise<Written[]>

/**
 * How long a riding change waits for another change to share its sync with. The start of a body rides: 4 ms and the
 * delay of a timer make it durable about 5 ms after the body began, so that a body that kills its process later leaves a
 * trace. A body that ends sooner writes its start together with its end.
 */
const lingerMs = 4
/** Smallest group whose callers are answered in two halves. */
const largeGroup = 16

export class GroupCommit {
  #queue: Entry[] = []
  #flushing: Promise<void> | null = null
  #scheduled = false
  /** A caller waits for the queue, or a riding change has lingered long enough. */
  #flushRequested = false
  #closed = false
  /** True if several workers use this store object: then a write by one of them is a hint for the others. */
  shared = false
  #cancelLinger: (() => void) | null = null
  readonly #listeners = new Set<(hint: Hint) => void>()
  readonly #write: Write
  readonly #splitsGroups: () => boolean
  readonly #clock: Clock

  /**
   * `splitsGroups`: true if two small groups cost hardly more than one large group, so that one half of the callers
   * can be answered while the next group is written.
   */
  constructor(clock: Clock, write: Write, splitsGroups: () => boolean = () => false) {
    this.#clock = clock
    this.#write = write
    this.#splitsGroups = splitsGroups
  }

  commit(change: Change): Promise<Committed> {
    return new Promise((resolve, reject) => {
      this.write(change, (answer) => ('failed' in answer ? reject(unavailable(answer.failed)) : resolve(answer)))
    })
  }

  write(change: Change, onResult: (answer: Written) => void, how?: { ride: boolean }): void {
    if (this.#closed) return onResult({ failed: new PawlError('store_unavailable', 'The store is closed.') })
    this.#queue.push({ change, onResult })
    if (!how?.ride) this.#schedule()
    else this.#cancelLinger ??= this.#clock.timer(lingerMs, () => this.#schedule())
  }

  onHint(listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  hint(hint: Hint): void {
    for (const listener of this.#listeners) listener(hint)
  }

  /** Writes the queued changes and rejects new ones. */
  async close(): Promise<void> {
    this.#closed = true
    this.#cancelLinger?.()
    while (this.#flushing || this.#queue.length > 0) await (this.#flushing ?? this.#flush())
  }

  #schedule(): void {
    this.#flushRequested = true
    if (this.#scheduled || this.#flushing) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      if (!this.#flushing) void this.#flush()
    })
  }

  #flush(afterPrevious = false): Promise<void> {
    const flushing = this.#flushOnce(afterPrevious).finally(() => {
      if (this.#flushing !== flushing) return
      this.#flushing = null
      if (this.#flushRequested && !this.#closed) this.#schedule()
    })
    this.#flushing = flushing
    return flushing
  }

  async #flushOnce(afterPrevious: boolean): Promise<void> {
    const entries = this.#queue
    if (entries.length === 0) return
    this.#queue = []
    this.#flushRequested = false
    this.#cancelLinger?.()
    this.#cancelLinger = null
    let results: readonly Written[] | { readonly failed: PawlError }
    let isAsync = false
    try {
      const written = this.#write(entries.map((entry) => entry.change))
      isAsync = isThenable(written)
      results = isAsync ? await written : (written as readonly Written[])
    } catch (cause) {
      results = { failed: unavailable(cause) }
    }
    // Callers of the previous group are answered first.
    if (afterPrevious) await Promise.resolve()
    if (!isAsync || 'failed' in results || !this.#splitsGroups()) return this.#deliverResults(entries, results)
    // Callers that are answered now write their next change soon. To keep the writer busy in the meantime, the changes
    // already queued are flushed before these callers are answered. If nothing is queued because every caller was in
    // this group, half of them are answered first so that their next changes form the next group.
    const firstHalf = this.#flushRequested || entries.length < largeGroup ? 0 : entries.length >> 1
    if (firstHalf > 0) {
      this.#deliverResults(entries.slice(0, firstHalf), results.slice(0, firstHalf))
      await new Promise((resolve) => setImmediate(resolve))
    }
    if (this.#flushRequested) void this.#flush(true)
    this.#deliverResults(entries.slice(firstHalf), results.slice(firstHalf))
  }

  #deliverResults(entries: readonly Entry[], results: readonly Written[] | { readonly failed: PawlError }): void {
    if ('failed' in results) {
      for (const entry of entries) deliver(entry, results)
      return
    }
    let wakes = false
    let parks = this.shared
    for (let index = 0; index < entries.length; index++) {
      const entry = entries[index] as Entry
      const { change } = entry
      const result = results[index] as Written
      if ('ok' in result && result.ok && mayWake(change)) wakes = true
      if (!parks && mayPark(change)) parks = true
      deliver(entry, 'failed' in result ? { failed: result.failed, alone: true } : result)
    }
    this.hint({ wakes: wakes || this.shared, outside: this.shared, parks })
  }
}

/**
 * An exception in one caller's callback must not keep the rest of the group from its answers. It is rethrown in a
 * microtask.
 */
function deliver({ onResult }: Entry, answer: Written): void {
  try {
    onResult(answer)
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}

/** Whether a change may have made a call claimable or answered a wait. */
const mayWake = ({ resolveWait, updateCall, insertCall }: Change): boolean =>
  resolveWait !== undefined ||
  (updateCall?.release === true && wantsWorker(updateCall.progress.state)) ||
  insertCall?.owner === null

/**
 * Whether a call may have begun to wait: it is parked, it or a call under it asks, which adds a wait or a document, or
 * it runs again while such a question is open. A call that starts for the first time has not asked yet.
 */
function mayPark({ guards, updateCall, insertWaits = [], documents = [] }: Change): boolean {
  if (insertWaits.length + documents.length > 0) return true
  if (!updateCall || updateCall.progress.state === 'settled') return false
  const { state, attempt, wait } = updateCall.progress
  const isFirstHolder = guards.some((guard) => guard.kind === 'holds' && guard.fence === 1)
  return !(state === 'running' && attempt === 1 && wait === null && isFirstHolder)
}

/** A settled or parked call is released too, but leaves nothing to claim. */
const wantsWorker = (state: CallState): boolean => state !== 'settled' && state !== 'parked'

const unavailable = (cause: unknown): PawlError =>
  cause instanceof PawlError
    ? cause
    : new PawlError('store_unavailable', asSentence(`Writing failed: ${(cause as Error).message}`), { cause })
