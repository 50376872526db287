// The outcomes of one run of a batch, gathered in the order of its calls, and what stops those that are still open.

import type { Family } from '../call/family.ts'
import type { Place } from '../call/line.ts'
import type { Engine } from '../engine/engine.ts'
import type { Toolset } from '../tool/toolset.ts'
import type { CallAsk, CallOutcome } from './ask.ts'

export interface How {
  /** What stands when it begins. */
  readonly tools: Toolset
  readonly batch: string
  readonly onFailure: 'continue' | 'stop'
  readonly signal?: AbortSignal
  /** For nested ones: the outermost call, and those between it and them. */
  readonly root?: string
  readonly above?: readonly string[]
  readonly family?: Family
}

export type Why = { reason: string; by: string | null }

export class Batch {
  readonly how: How
  readonly calls: readonly CallAsk[]
  /** In the order of the batch, by call; none where everything may run together. */
  readonly places: readonly Place[]
  readonly outcomes: Promise<CallOutcome[]>
  stopped: Why | null = null
  readonly #engine: Engine
  readonly #whenOver: () => void
  readonly #gathered: CallOutcome[]
  #missing: number
  #resolve!: (outcomes: CallOutcome[]) => void
  #reject!: (error: unknown) => void
  readonly #running = new Set<string>()
  readonly #aborted = (): void => {
    const reason: unknown = this.how.signal?.reason
    const why =
      typeof reason === 'object' && reason !== null && 'by' in reason ? (reason as Why) : { reason: 'The batch was cancelled', by: null }
    this.stop(why)
  }

  constructor(how: How, calls: readonly CallAsk[], places: readonly Place[], engine: Engine, over: () => void) {
    this.how = how
    this.calls = calls
    this.places = places
    this.#engine = engine
    this.#whenOver = over
    this.#missing = calls.length
    this.#gathered = Array.from({ length: calls.length })
    this.outcomes = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    if (calls.length === 0) this.#finish()
    else if (how.signal?.aborted) this.#aborted()
    else how.signal?.addEventListener('abort', this.#aborted, { once: true })
  }

  joined(uid: string): void {
    this.#running.add(uid)
    if (this.stopped) this.#cancel(uid, this.stopped)
  }

  left(uid: string): void {
    this.#running.delete(uid)
  }

  stop(why: Why): void {
    if (this.stopped) return
    this.stopped = why
    for (const uid of this.#running) this.#cancel(uid, why)
  }

  done(order: number, outcome: CallOutcome): void {
    this.#gathered[order] = outcome
    if (--this.#missing === 0) this.#finish()
  }

  failed(error: unknown): void {
    this.#over()
    this.#reject(error)
  }

  #finish(): void {
    this.#over()
    this.#resolve(this.#gathered)
  }

  #over(): void {
    this.#whenOver()
    this.how.signal?.removeEventListener('abort', this.#aborted)
  }

  #cancel(uid: string, why: Why): void {
    // Should the store not answer, the call's own outcome tells.
    this.#engine.cancel(uid, why).catch(() => {})
  }
}
