// Collects the outcomes of one run of a batch in call order, and cancels the calls that are still open.

import type { NestedCalls } from '../calls/scheduling/nested-calls.ts'
import type { BatchEntry } from '../calls/scheduling/batch-order.ts'
import type { CancelReason, Engine, NewCall, SettledCall } from '../engine/engine.ts'
import type { Toolset } from '../tools/toolset.ts'
import type { CallAsk, CallOutcome } from './call-request.ts'
import { readOutputName } from '../tools/read-output-tool.ts'
import type { HookFacts } from '../calls/admission/hook-definition.ts'
import type { CallRecord } from '../store/records/call-record.ts'
import { noTimes } from '../store/records/call-times.ts'
import { type Outcome, abortsTurn, failure } from '../core/outcome.ts'
import { decode } from '../core/tool-value.ts'

export interface BatchOptions {
  /** The toolset when the batch starts. */
  readonly tools: Toolset
  readonly batch: string
  /** The turn the calls belong to, if any. */
  readonly turn?: string
  /** Tool names of that turn, if it does not have all tools of the session. */
  readonly within?: readonly string[]
  readonly onFailure: 'continue' | 'stop'
  readonly signal?: AbortSignal
  /** For nested calls: uid of the outermost call. */
  readonly root?: string
  readonly above?: readonly string[]
  readonly nestedCalls?: NestedCalls
  /** Id of the task the calls run under. */
  readonly inTask?: string
  /** The parent call's payloads are sealed, so these are too. */
  readonly sealed?: boolean
  /** A call that takes longer than this (ms) moves to the background, if its tool can run there. */
  readonly backgroundMs?: number
  /** Loads the session's secrets before a result is shown to a model, so that newly set secrets are redacted. */
  readonly loadSecrets?: () => Promise<void>
  /**
   * The caller also reads the session's notices. A moved call whose notice is pending returns its task handle, because
   * the notice will deliver the outcome.
   */
  readonly receivesNotices?: true
  /** The host named the tool, not a model: internal tools are allowed. */
  readonly byHost?: boolean
}

const defaultReason = 'The batch was cancelled'

/** Abort reason that carries a cancellation reason and its author. */
export class Cancel implements CancelReason {
  readonly reason: string
  readonly by: string | null
  declare readonly withParent?: true

  /** Accepts any value, because it comes from the host program, and normalizes it for the record. */
  constructor(reason: unknown, by: unknown, withParent?: true) {
    this.reason = typeof reason === 'string' ? reason.toWellFormed() : defaultReason
    this.by = typeof by === 'string' ? by.toWellFormed() : null
    if (withParent) this.withParent = withParent
  }
}

/** Limits the reason, which is stored in an event and in the outcome. */
export const truncateReason = (why: CancelReason, maxLength: number): CancelReason => ({
  ...why,
  reason: why.reason.slice(0, maxLength).toWellFormed(),
})

interface BatchHost {
  readonly engine: Engine
  /** In characters. */
  readonly maxReasonLength: number
  onEnd(): void
}

export class Batch {
  readonly options: BatchOptions
  readonly calls: readonly CallAsk[]
  readonly requests: readonly NewCall[]
  /** True if the model has the tool that reads the rest of a truncated result. */
  readonly canReadOutput: boolean
  /** Batch-order entry of each call; empty if all calls may run in parallel. */
  readonly orderEntries: readonly BatchEntry[]
  readonly outcomes: Promise<CallOutcome[]>
  stopped: CancelReason | null = null
  /** The batch was rejected; later outcomes are ignored. */
  hasFailed = false
  /** Called after each outcome. */
  onDone: (() => void) | null = null
  readonly #host: BatchHost
  readonly #collected: CallOutcome[]
  #missing: number
  #resolve!: (outcomes: CallOutcome[]) => void
  #reject!: (error: unknown) => void
  readonly #running = new Set<string>()
  readonly #onAbort = (): void => this.stop(reasonOf(this.options.signal?.reason))

  constructor(
    options: BatchOptions,
    calls: readonly CallAsk[],
    requests: readonly NewCall[],
    orderEntries: readonly BatchEntry[],
    host: BatchHost,
  ) {
    this.options = options
    this.calls = calls
    this.requests = requests
    this.orderEntries = orderEntries
    this.#host = host
    this.canReadOutput = options.tools.find(readOutputName)?.internal === false
    this.#missing = calls.length
    this.#collected = Array.from({ length: calls.length })
    this.outcomes = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    if (calls.length === 0) this.#finish()
    else if (options.signal?.aborted) this.#onAbort()
    else options.signal?.addEventListener('abort', this.#onAbort, { once: true })
  }

  addRunning(uid: string): void {
    this.#running.add(uid)
    if (this.stopped) this.#cancel(uid, this.stopped)
  }

  removeRunning(uid: string): void {
    this.#running.delete(uid)
  }

  stop(why: CancelReason): void {
    if (this.stopped) return
    this.stopped = truncateReason(why, this.#host.maxReasonLength)
    for (const uid of this.#running) this.#cancel(uid, this.stopped)
  }

  get missing(): number {
    return this.#missing
  }

  /** Undefined while the call is open. */
  outcomeOf(order: number): CallOutcome | undefined {
    return this.#collected[order]
  }

  recordOutcome(order: number, outcome: CallOutcome): void {
    // A call that moved to the background already has its handle as outcome.
    if (this.#collected[order]) return
    this.#collected[order] = outcome
    if (--this.#missing === 0) this.#finish()
    this.onDone?.()
  }

  fail(error: unknown): void {
    this.hasFailed = true
    this.#release()
    this.#reject(error)
  }

  #finish(): void {
    this.#release()
    this.#resolve(this.#collected)
  }

  #release(): void {
    this.#host.onEnd()
    this.options.signal?.removeEventListener('abort', this.#onAbort)
  }

  #cancel(uid: string, why: CancelReason): void {
    // If the store does not answer, the call's own outcome reports it.
    this.#host.engine.cancel(uid, why).catch(() => {})
  }
}

/** The cancellation reason of an aborted signal. */
function reasonOf(signalReason: unknown): CancelReason {
  if (signalReason instanceof Cancel) return signalReason
  const message =
    typeof signalReason === 'string'
      ? signalReason
      : signalReason instanceof Error && !isDefaultAbort(signalReason)
        ? signalReason.message
        : ''
  return { reason: message.trim() === '' ? defaultReason : message.toWellFormed(), by: null }
}

/** True for the DOMException of abort() without a reason. */
const isDefaultAbort = (error: Error): boolean => error.name === 'AbortError' && error instanceof DOMException

export function hookFacts(call: CallAsk, { position, principal, input }: NewCall, { tools }: BatchOptions): HookFacts {
  const tool = tools.find(call.name)?.name ?? call.name
  return { tenant: position.tenant, session: position.session, principal, callId: call.id, tool, input: decode(input) }
}

/** A hook that aborts the turn stops the batch regardless of `onFailure`. */
export const stopsBatch = (outcome: Outcome, options: BatchOptions): boolean =>
  outcome.status === 'failure' && (options.onFailure === 'stop' || abortsTurn(outcome) !== null)

/** The reported end of a call, including one that never started. */
export type CallEnd = Pick<SettledCall, 'attempts' | 'outcome' | 'times'> & {
  readonly text?: string
  /** The recorded request, which may differ from this one in `meta`. Absent if nothing is recorded. */
  readonly request?: Pick<CallRecord, 'options'>
}

export const endWithoutStart = (outcome: Outcome): CallEnd => ({ attempts: 0, outcome, times: noTimes })

export const notStartedOutcome = (reason: string): Outcome => ({
  status: 'cancelled',
  cancellation: { message: `${reason}; it was not started`, source: 'cancellation' },
})

export function conflictOutcome(call: CallAsk, recorded: { tool: string; input: string }): Outcome {
  // The part after '@' names the provider; the model does not need it.
  const [tool] = recorded.tool.split('@')
  const message = `A call with id '${call.id}' is on record with other content (tool '${tool}'). It was not run. Use a new id for a new call.`
  return failure({ class: 'invalid_request', code: 'call_conflict', message })
}
