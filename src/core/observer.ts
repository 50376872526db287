// The observer port, the source of metrics and traces. Events carry ids, names, numbers and states, never arguments,
// outputs or texts. Without an observer, each event costs one check.

import { isThenable, type MaybePromise } from './maybe-promise.ts'
import type { FailureClass, OutcomeStatus } from './outcome.ts'

/** The call that an event is about. */
export interface ObservedCall {
  /** The uid of the call. */
  readonly call: string
  /** The name of its tool; `pawl:absent` if there is no such tool, `pawl:turn:<model>` for a turn. */
  readonly tool: string
  /** Tenant of the session. */
  readonly tenant: string
  /** Id of the session. */
  readonly session: string
  /** The W3C trace context that is stored with the call; absent if it was requested without one. */
  readonly traceparent?: string
}

/** Texts of an attempt. They are redacted and bounded, and computed only for an observer that asks for them. */
export interface ObservedTexts {
  /** The id that the model gave the call. */
  readonly callId: string
  /** The description of the tool. */
  readonly description: string
  /** The arguments as JSON; null if they are not asked for, or may hold hidden fields. */
  readonly arguments: string | null
  /** The outcome as JSON; null if it is not asked for, or there is none, or it may hold secrets. */
  readonly result: string | null
}

/** An event for metrics and traces: ids, names, numbers and states, never arguments or outputs. */
export type ObservedEvent = ObservedCall & {
  /** When it happened: milliseconds since 1970. */
  readonly at: number
} & (CallEvent | AttemptEvent | WaitEvent | ModelCallEvent)

type CallEvent =
  /** This worker starts to drive the call. */
  | {
      readonly type: 'callStarted'
      /** The call was driven before, here or on another worker. */
      readonly resumed: boolean
      /** The worker that drove it before has died. */
      readonly lostWorker: boolean
      /** The attempt that ended with that worker. */
      readonly interrupted?: { readonly attempt: number; readonly startedAt: number }
      /** The wait that was answered. */
      readonly wait?: string
    }
  /** The outcome is recorded. Durations count from the creation of the call, across workers. */
  | {
      readonly type: 'callSettled'
      readonly status: OutcomeStatus
      /** The class of the failure; null if the call did not fail. */
      readonly error: FailureClass | null
      readonly attempts: number
      /** When the call was requested: milliseconds since 1970. */
      readonly createdAt: number
      readonly queuedMs: number
      readonly runningMs: number
      readonly waitingMs: number
    }

type AttemptEvent =
  /** The body of a tool starts. */
  | { readonly type: 'attemptStarted'; readonly attempt: number }
  /** The body has ended. `parked`: the call waits for an answer. `lost`: the worker lost the call. */
  | {
      readonly type: 'attemptEnded'
      readonly attempt: number
      readonly status: OutcomeStatus | 'parked' | 'lost'
      readonly error: FailureClass | null
      readonly durationMs: number
      /** Reads texts of the attempt. `content`: also the arguments and the result. */
      texts(options?: { readonly content?: boolean }): MaybePromise<ObservedTexts>
    }
  /** The function of a step has run and its end is recorded. A replayed step has no event. */
  | {
      readonly type: 'stepEnded'
      readonly attempt: number
      readonly status: 'success' | 'failure'
      readonly durationMs: number
      /** The id of the step, redacted. */
      name(): MaybePromise<string>
    }

type WaitEvent =
  /** A wait is recorded. `kind`: the kind of request to a person, or `external` for a wait with a key. */
  | { readonly type: 'waitOpened'; readonly wait: string; readonly kind: string }
  /** This worker recorded the answer to a wait. */
  | {
      readonly type: 'waitResolved'
      readonly wait: string
      readonly kind: string
      readonly by: 'value' | 'failure' | 'cancelled' | 'timeout'
      readonly durationMs: number
      /** Attempts that the call had started; 0 if it waits before its body. */
      readonly attempt: number
      /** Trace context of the request that answered; null if it had none. */
      readonly answeredIn: string | null
    }

type ModelCallEvent =
  /** A model request starts (turn, summary or `ctx.complete`). `attempt` is above 1 after a retryable failure. */
  | {
      readonly type: 'modelCallStarted'
      /** Number of the request in this process. */
      readonly request: number
      readonly model: string
      readonly attempt: number
    }
  | {
      readonly type: 'modelCallEnded'
      readonly request: number
      readonly model: string
      readonly attempt: number
      readonly status: 'success' | 'failure' | 'cancelled'
      readonly durationMs: number
      /** Null unless the model answered. */
      readonly usage: ObservedUsage | null
    }

/** Tokens of one model request. */
export interface ObservedUsage {
  /** Tokens of the prompt, cached ones included. */
  readonly inputTokens: number
  /** Tokens of the answer, reasoning included. */
  readonly outputTokens: number
  /** Prompt tokens that were read from a cache. */
  readonly cachedTokens: number
  /** Answer tokens that were reasoning. */
  readonly reasoningTokens: number
}

/** A span that code runs in. */
export interface TracedSpan {
  /** Its W3C trace context. */
  readonly traceparent: string
  /** Runs the function with the span active. */
  run<T>(work: () => T): T
}

/** How an observer takes part in distributed traces. */
export interface Tracing {
  /** The trace context that is active in the calling code; null if there is none. */
  active(): string | null
  /** Returns the trace context to store with a new call. `parent`: that of the code that requested it. */
  requested(call: ObservedCall, parent: string | null): string | null
  /**
   * The span in which the code of a call runs: that of a model request if one is given, else of the running attempt,
   * else of the call. Null: no span.
   */
  spanOf(call: ObservedCall, request?: number): TracedSpan | null
  /** Runs the function without an active span: work that no call has requested, such as a due schedule. */
  detached<T>(work: () => T): T
}

/** Called synchronously while calls run, so it must be fast. An error that it throws has no effect on the call. */
export interface Observer {
  (event: ObservedEvent): void
  /** Set by an observer that makes spans, such as that of `pawl/otel`. */
  readonly tracing?: Tracing
}

interface ErrorLogger {
  error(message: string, fields: Record<string, unknown>): void
}

interface SafeObserver {
  readonly observe: (event: ObservedEvent) => void
  readonly tracing: Tracing | null
}

/** The observers of a runtime. Their errors are caught, and only the first one of each is logged. */
export class Observers {
  /** Passes an event to all observers; null if there is none. */
  current: ((event: ObservedEvent) => void) | null = null
  /** The tracing of the first observer that makes spans. */
  tracing: Tracing | null = null
  readonly #logger: ErrorLogger
  #all: readonly SafeObserver[] = []

  constructor(logger: ErrorLogger) {
    this.#logger = logger
  }

  /** Returns a function that removes the observer. */
  add(observer: Observer): () => void {
    const fail = reportOnce(this.#logger)
    const entry = {
      observe: safely(observer, fail),
      tracing: observer.tracing ? safeTracing(observer.tracing, fail) : null,
    }
    this.#set([...this.#all, entry])
    return () => this.#set(this.#all.filter((each) => each !== entry))
  }

  #set(all: readonly SafeObserver[]): void {
    this.#all = all
    this.tracing = all.find(({ tracing }) => tracing)?.tracing ?? null
    const [only] = all
    if (all.length <= 1) this.current = only?.observe ?? null
    else
      this.current = (event) => {
        for (const { observe } of all) observe(event)
      }
  }
}

function reportOnce(logger: ErrorLogger): (error: unknown) => void {
  let isReported = false
  return (error) => {
    if (!isReported) logger.error('The observer threw; further errors of it are not logged', { error })
    isReported = true
  }
}

function safely(observer: Observer, fail: (error: unknown) => void): (event: ObservedEvent) => void {
  return (event) => {
    try {
      const returned: unknown = observer(event)
      if (isThenable(returned)) returned.then(undefined, fail)
    } catch (error) {
      fail(error)
    }
  }
}

/** An error of the tracing functions has no effect on the code that they trace, which runs exactly once. */
function safeTracing(tracing: Tracing, fail: (error: unknown) => void): Tracing {
  const attempt = <T>(get: () => T, otherwise: T): T => {
    try {
      return get()
    } catch (error) {
      fail(error)
      return otherwise
    }
  }
  return {
    active: () => attempt(() => readTraceparent(tracing.active()), null),
    requested: (call, parent) => attempt(() => readTraceparent(tracing.requested(call, parent)), parent),
    spanOf(call, request) {
      const span = attempt(() => tracing.spanOf(call, request), null)
      const traceparent = span && attempt(() => readTraceparent(span.traceparent), null)
      if (!span || traceparent === null) return null
      return { traceparent, run: (work) => runOnce((runs) => span.run(runs), work, fail) }
    },
    detached: (work) => runOnce((runs) => tracing.detached(runs), work, fail),
  }
}

function runOnce<T>(within: (work: () => T) => T, work: () => T, fail: (error: unknown) => void): T {
  let end: { readonly value: T } | { readonly error: unknown } | null = null
  const runs = (): T => {
    if (!end) {
      try {
        end = { value: work() }
      } catch (error) {
        end = { error }
      }
    }
    if ('error' in end) throw end.error
    return end.value
  }
  try {
    within(runs)
  } catch (error) {
    if (!end) fail(error) // the tracer threw, not the work
  }
  return runs()
}

const traceparentForm = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.{0,200})?$/

/**
 * A valid `traceparent` in the form of version 00, or null. A header of a later version is read as far as it is known,
 * as the W3C recommendation says.
 */
export function readTraceparent(text: unknown): string | null {
  if (typeof text !== 'string' || text.length > 255) return null
  const [, version, trace, span, flags, rest] = traceparentForm.exec(text) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return null
  if (/^0+$/.test(trace as string) || /^0+$/.test(span as string)) return null
  return `00-${trace}-${span}-${flags}`
}
