// Group commit: concurrent changes share one transaction and one sync.
//
// One queue per process, one flush at a time, at most one flush per turn of the event loop: while a flush runs, the changes of
// all other calls gather for the next. A writer that works elsewhere (a thread, a server) and those who wait for it work side by side.
// A riding change has nobody waiting for it, so it lingers until another change comes along or a moment has passed; the queue keeps its
// order, so it is durable no later than what follows it.

import { PawlError } from '../core/errors.ts'
import type { Clock } from '../core/clock.ts'
import type { CallState } from './records/call-record.ts'
import type { Change, Committed, Hint, Written } from './store.ts'

interface Entry {
  readonly change: Change
  readonly heard: (answer: Written) => void
}

/**
 * Makes all changes durable in one transaction and answers for each: `failed` means that one alone broke. A writer that cannot know
 * whether anything is on record (a connection lost during the commit) throws instead: then all of the group are unavailable.
 */
export type Write = (changes: readonly Change[]) => Written[] | Promise<Written[]>

/** How long a riding change may wait for company. */
const lingerMs = 20
/** A group worth halving. */
const largeGroup = 16

export class GroupCommit {
  #queue: Entry[] = []
  #flushing: Promise<void> | null = null
  #scheduled = false
  /** Somebody waits for what is queued, or it has lingered long enough. */
  #pressing = false
  #closed = false
  /** More than one worker uses this store object: what one writes is news to the others. */
  shared = false
  #callOffLinger: (() => void) | null = null
  readonly #listeners = new Set<(hint: Hint) => void>()
  readonly #write: Write
  readonly #halves: () => boolean
  readonly #clock: Clock

  /** `halves`: whether two smaller groups cost hardly more than a large one, so that one can be written while the other is answered. */
  constructor(clock: Clock, write: Write, halves: () => boolean = () => false) {
    this.#clock = clock
    this.#write = write
    this.#halves = halves
  }

  commit(change: Change): Promise<Committed> {
    return new Promise((resolve, reject) => {
      this.write(change, (answer) => ('failed' in answer ? reject(unavailable(answer.failed)) : resolve(answer)))
    })
  }

  write(change: Change, heard: (answer: Written) => void, how?: { ride: boolean }): void {
    if (this.#closed) return heard({ failed: new PawlError('store_unavailable', 'It was closed.') })
    this.#queue.push({ change, heard })
    if (!how?.ride) this.#schedule()
    else this.#callOffLinger ??= this.#clock.timer(lingerMs, () => this.#schedule())
  }

  onHint(listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  hint(hint: Hint): void {
    for (const listener of this.#listeners) listener(hint)
  }

  /** Writes what is queued and takes no more. */
  async close(): Promise<void> {
    this.#closed = true
    this.#callOffLinger?.()
    while (this.#flushing || this.#queue.length > 0) await (this.#flushing ?? this.#flush())
  }

  #schedule(): void {
    this.#pressing = true
    if (this.#scheduled || this.#flushing) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      if (!this.#flushing) void this.#flush()
    })
  }

  #flush(follows = false): Promise<void> {
    const flushing = this.#flushOnce(follows).finally(() => {
      if (this.#flushing !== flushing) return
      this.#flushing = null
      if (this.#pressing && !this.#closed) this.#schedule()
    })
    this.#flushing = flushing
    return flushing
  }

  async #flushOnce(follows: boolean): Promise<void> {
    const entries = this.#queue
    if (entries.length === 0) return
    this.#queue = []
    this.#pressing = false
    this.#callOffLinger?.()
    this.#callOffLinger = null
    let results: readonly Written[] | { readonly failed: PawlError }
    let elsewhere = false
    try {
      const written = this.#write(entries.map((entry) => entry.change))
      elsewhere = written instanceof Promise
      results = written instanceof Promise ? await written : written
    } catch (cause) {
      results = { failed: unavailable(cause) }
    }
    // Those of the group before hear first.
    if (follows) await Promise.resolve()
    if (!elsewhere || 'failed' in results || !this.#halves()) return this.#tell(entries, results)
    // Those who hear now write next. The writer should have something to do meanwhile: what has gathered is on its way before anybody hears;
    // and if all there are have waited for this one group, half of them hear first.
    const first = this.#pressing || entries.length < largeGroup ? 0 : entries.length >> 1
    if (first > 0) {
      this.#tell(entries.slice(0, first), results.slice(0, first))
      await new Promise((resolve) => setImmediate(resolve))
    }
    if (this.#pressing) void this.#flush(true)
    this.#tell(entries.slice(first), results.slice(first))
  }

  #tell(entries: readonly Entry[], results: readonly Written[] | { readonly failed: PawlError }): void {
    if ('failed' in results) {
      for (const entry of entries) tell(entry, results)
      return
    }
    let wakes = false
    for (let index = 0; index < entries.length; index++) {
      const entry = entries[index] as Entry
      const { change } = entry
      const result = results[index] as Written
      if ('ok' in result && result.ok && mayWake(change)) wakes = true
      tell(entry, 'failed' in result ? { failed: result.failed, alone: true } : result)
    }
    this.hint({ wakes: wakes || this.shared, outside: this.shared })
  }
}

/** Whoever throws at its answer must not keep the others of its group from theirs; what it threw is nobody's to catch here. */
function tell({ heard }: Entry, answer: Written): void {
  try {
    heard(answer)
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}

/** Whether a change may have made a call claimable, or answered a wait. */
const mayWake = ({ resolveWait, updateCall, insertCall }: Change): boolean =>
  resolveWait !== undefined ||
  (updateCall?.release === true && wantsWorker(updateCall.progress.state)) ||
  insertCall?.owner === null

/** A call that is settled or parked is let go of, but there is nothing to claim. */
const wantsWorker = (state: CallState): boolean => state !== 'settled' && state !== 'parked'

const unavailable = (cause: unknown): PawlError =>
  cause instanceof PawlError
    ? cause
    : new PawlError('store_unavailable', `Writing failed: ${(cause as Error).message}.`, { cause })
