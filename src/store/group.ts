// Group commit: concurrent changes share one transaction and one sync.
//
// One queue per process, one flush at a time, at most one flush per turn of the event loop: while a flush runs, the changes of
// all other calls gather for the next. A riding change has nobody waiting for it, so it lingers until another change comes
// along or a moment has passed; the queue keeps its order, so it is durable no later than what follows it.

import { PawlError } from '../kernel/errors.ts'
import type { Clock } from '../kernel/time.ts'
import type { CallState } from '../journal/call-state.ts'
import type { Change, CommitOptions, Committed, Hint } from './store.ts'

interface Entry {
  readonly change: Change
  readonly resolve: (committed: Committed) => void
  readonly reject: (error: unknown) => void
}

/**
 * The answer for one change of a group; `failed` means this one alone broke, and nothing of it is on record. A writer that cannot
 * know whether anything is on record (a connection lost during the commit) throws instead: then all of the group are unavailable.
 */
export type Written = Committed | { readonly failed: unknown }
export type Write = (changes: readonly Change[]) => Written[] | Promise<Written[]>

/** How long a riding change may wait for company. */
const lingerMs = 20

export class GroupCommit {
  #queue: Entry[] = []
  #flushing: Promise<void> | null = null
  #scheduled = false
  #closed = false
  /** More than one worker uses this store object: what one writes is news to the others. */
  shared = false
  #callOffLinger: (() => void) | null = null
  readonly #listeners = new Set<(hint: Hint) => void>()
  readonly #write: Write
  readonly #clock: Clock

  /** `write` makes all changes durable in one transaction and answers for each. */
  constructor(clock: Clock, write: Write) {
    this.#clock = clock
    this.#write = write
  }

  commit(change: Change, options: CommitOptions = {}): Promise<Committed> {
    if (this.#closed) return Promise.reject(new PawlError('store_unavailable', 'It was closed.'))
    return new Promise((resolve, reject) => {
      this.#queue.push({ change, resolve, reject })
      if (!options.ride) this.#schedule()
      else this.#callOffLinger ??= this.#clock.timer(lingerMs, () => this.#schedule())
    })
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
    if (this.#scheduled || this.#flushing) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      if (!this.#flushing) void this.#flush()
    })
  }

  #flush(): Promise<void> {
    this.#flushing = this.#flushOnce().finally(() => {
      this.#flushing = null
      if (this.#queue.length > 0 && !this.#closed) this.#schedule()
    })
    return this.#flushing
  }

  async #flushOnce(): Promise<void> {
    const entries = this.#queue
    if (entries.length === 0) return
    this.#queue = []
    this.#callOffLinger?.()
    this.#callOffLinger = null
    let wakes = false
    try {
      const written = this.#write(entries.map((entry) => entry.change))
      const results = written instanceof Promise ? await written : written
      for (const [index, entry] of entries.entries()) {
        const result = results[index] as Written
        if ('failed' in result) {
          entry.reject(unavailable(result.failed))
          continue
        }
        if (result.ok && mayWake(entry.change)) wakes = true
        entry.resolve(result)
      }
    } catch (cause) {
      for (const entry of entries) entry.reject(unavailable(cause))
      return
    }
    this.hint({ wakes: wakes || this.shared, outside: this.shared })
  }
}

/** Whether a change may have made a call claimable, or answered a wait. */
const mayWake = ({ resolveWait, updateCall, insertCall }: Change): boolean =>
  resolveWait !== undefined || (updateCall?.release === true && wantsWorker(updateCall.progress.state)) || insertCall?.owner === null

/** A call that is settled or parked is let go of, but there is nothing to claim. */
const wantsWorker = (state: CallState): boolean => state !== 'settled' && state !== 'parked'

const unavailable = (cause: unknown): PawlError =>
  cause instanceof PawlError ? cause : new PawlError('store_unavailable', `Writing failed: ${(cause as Error).message}.`, { cause })
