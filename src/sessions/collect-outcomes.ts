// The outcomes of one run of a batch, gathered in the order of its calls, and what stops those that are still open.

import type { NestedCalls } from '../calls/scheduling/nested-calls.ts'
import type { Place } from '../calls/scheduling/batch-order.ts'
import type { Asked, Engine } from '../engine/engine.ts'
import type { Toolset } from '../tools/toolset.ts'
import type { CallAsk, CallOutcome } from './call-request.ts'
import { readOutputName } from '../tools/read-output-tool.ts'

export interface How {
  /** What stands when it begins. */
  readonly tools: Toolset
  readonly batch: string
  /** The turn that the calls belong to, if one was named. */
  readonly turn?: string
  /** Which tools that turn has, where that is not all. */
  readonly within?: readonly string[]
  readonly onFailure: 'continue' | 'stop'
  readonly signal?: AbortSignal
  /** For nested ones: the outermost call, and those between it and them. */
  readonly root?: string
  readonly above?: readonly string[]
  readonly family?: NestedCalls
  /** The task that they run under. */
  readonly inTask?: string
  /** Made by a call whose payloads are sealed. */
  readonly sealed?: boolean
  /** A call that takes longer than this goes on in the background, where its tool can. */
  readonly backgroundMs?: number
  /** Before a model is shown what came of one: comes to know the secrets that were set meanwhile. */
  readonly learn?: () => Promise<void>
  /** Who runs them hears the notices of the session, too: of what those will tell, a handle is enough. */
  readonly hears?: true
  /** The host names the tool itself, not a model: it may be an internal one. */
  readonly byHost?: boolean
}

export type Why = { readonly reason: string; readonly by: string | null }

const defaultReason = 'The batch was cancelled'

/** The reason of a signal that cancels on behalf of somebody. */
export class Cancel implements Why {
  readonly reason: string
  readonly by: string | null

  /** Whatever a program hands over: it goes on record. */
  constructor(reason: unknown, by: unknown) {
    this.reason = typeof reason === 'string' ? reason.toWellFormed() : defaultReason
    this.by = typeof by === 'string' ? by.toWellFormed() : null
  }
}

/** A reason is told in an event and stands in the outcome. */
export const cut = (why: Why, most: number): Why => ({ ...why, reason: why.reason.slice(0, most).toWellFormed() })

interface BatchHost {
  readonly engine: Engine
  /** In characters. */
  readonly longestReason: number
  over(): void
}

export class Batch {
  readonly how: How
  readonly calls: readonly CallAsk[]
  readonly asks: readonly Asked[]
  /** Whether its model can read on in a result that was shown shortened. */
  readonly reads: boolean
  /** In the order of the batch, by call; none where everything may run together. */
  readonly places: readonly Place[]
  readonly outcomes: Promise<CallOutcome[]>
  stopped: Why | null = null
  /** It failed as a whole: nobody gathers it any more. */
  isOver = false
  /** Hears of each outcome. */
  onDone: (() => void) | null = null
  readonly #host: BatchHost
  readonly #gathered: CallOutcome[]
  #missing: number
  #resolve!: (outcomes: CallOutcome[]) => void
  #reject!: (error: unknown) => void
  readonly #running = new Set<string>()
  readonly #aborted = (): void => this.stop(whyOf(this.how.signal?.reason))

  constructor(how: How, calls: readonly CallAsk[], asks: readonly Asked[], places: readonly Place[], host: BatchHost) {
    this.how = how
    this.calls = calls
    this.asks = asks
    this.places = places
    this.#host = host
    this.reads = how.tools.find(readOutputName)?.internal === false
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
    this.stopped = cut(why, this.#host.longestReason)
    for (const uid of this.#running) this.#cancel(uid, this.stopped)
  }

  get missing(): number {
    return this.#missing
  }

  /** Undefined while the call is open. */
  outcomeOf(order: number): CallOutcome | undefined {
    return this.#gathered[order]
  }

  done(order: number, outcome: CallOutcome): void {
    // What went on in the background was told before.
    if (this.#gathered[order]) return
    this.#gathered[order] = outcome
    if (--this.#missing === 0) this.#finish()
    this.onDone?.()
  }

  failed(error: unknown): void {
    this.isOver = true
    this.#over()
    this.#reject(error)
  }

  #finish(): void {
    this.#over()
    this.#resolve(this.#gathered)
  }

  #over(): void {
    this.#host.over()
    this.how.signal?.removeEventListener('abort', this.#aborted)
  }

  #cancel(uid: string, why: Why): void {
    // Should the store not answer, the call's own outcome tells.
    this.#host.engine.cancel(uid, why).catch(() => {})
  }
}

/** Why a signal aborted, as far as it says so. */
function whyOf(said: unknown): Why {
  if (said instanceof Cancel) return said
  const words = typeof said === 'string' ? said : said instanceof Error && !isPlainAbort(said) ? said.message : ''
  return { reason: words.trim() === '' ? defaultReason : words.toWellFormed(), by: null }
}

/** What an abort() without a reason gives. */
const isPlainAbort = (error: Error): boolean => error.name === 'AbortError' && error instanceof DOMException
