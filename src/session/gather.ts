// The outcomes of one run of a batch, gathered in the order of its calls, and what stops those that are still open.

import type { Engine } from '../engine/engine.ts'
import type { Toolset } from '../tool/toolset.ts'
import type { CallAsk, CallOutcome } from './ask.ts'

export interface How {
  /** What stands when it begins. */
  readonly tools: Toolset
  readonly batch: string
  readonly onFailure: 'continue' | 'stop'
  readonly signal?: AbortSignal
  /** The outermost call, for nested ones. */
  readonly root?: string
  /** The host names the tool itself, not a model: it may be an internal one. */
  readonly byHost?: boolean
}

export type Why = { reason: string; by: string | null }

export class Batch {
  readonly how: How
  readonly calls: readonly CallAsk[]
  readonly outcomes: Promise<CallOutcome[]>
  stopped: Why | null = null
  readonly #engine: Engine
  readonly #whenOver: () => void
  readonly #gathered: CallOutcome[]
  #missing: number
  #resolve!: (outcomes: CallOutcome[]) => void
  #reject!: (error: unknown) => void
  readonly #running = new Set<string>()
  readonly #aborted = (): void => this.stop(whyOf(this.how.signal?.reason))

  constructor(how: How, calls: readonly CallAsk[], engine: Engine, over: () => void) {
    this.how = how
    this.calls = calls
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

const longestReason = 500

/** Why a signal was aborted, in the host's words if it has any. */
function whyOf(given: unknown): Why {
  if (typeof given === 'object' && given !== null && 'by' in given) return given as Why
  const said = given instanceof Error && given.name !== 'AbortError' ? given.message : given
  const reason = typeof said === 'string' && said !== '' ? said.slice(0, longestReason).toWellFormed() : 'The batch was cancelled'
  return { reason, by: null }
}
