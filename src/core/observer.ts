// The observer port, the source of metrics and traces. Events carry ids, names, numbers and states, never arguments,
// outputs or texts. Without an observer, each event costs one check.

import { isThenable } from './maybe-promise.ts'
import type { OutcomeStatus } from './outcome.ts'

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
}

/** An event for metrics and traces: ids, names, numbers and states, never arguments or outputs. */
export type ObservedEvent =
  /** This worker starts to drive the call. `resumed`: it was driven before, here or on another worker. */
  | (ObservedCall & { readonly type: 'callStarted'; readonly resumed: boolean })
  /** The outcome is recorded. Durations count from the creation of the call, across workers. */
  | (ObservedCall & {
      readonly type: 'callSettled'
      readonly status: OutcomeStatus
      readonly attempts: number
      readonly queuedMs: number
      readonly runningMs: number
      readonly waitingMs: number
    })
  /** The body of a tool starts. */
  | (ObservedCall & { readonly type: 'attemptStarted'; readonly attempt: number })
  /** The body has ended. `parked`: the call waits for an answer. `lost`: the worker lost the call. */
  | (ObservedCall & {
      readonly type: 'attemptEnded'
      readonly attempt: number
      readonly status: OutcomeStatus | 'parked' | 'lost'
      readonly durationMs: number
    })
  /** A wait is recorded. `kind`: the kind of request to a person, or `external` for a wait with a key. */
  | (ObservedCall & { readonly type: 'waitOpened'; readonly wait: string; readonly kind: string })
  /** This worker recorded the answer to a wait. */
  | (ObservedCall & {
      readonly type: 'waitResolved'
      readonly wait: string
      readonly by: 'value' | 'failure' | 'cancelled' | 'timeout'
      readonly durationMs: number
    })
  /** A model request starts (turn, summary or `ctx.complete`). `attempt` is above 1 after a retryable failure. */
  | (ObservedCall & { readonly type: 'modelCallStarted'; readonly model: string; readonly attempt: number })
  | (ObservedCall & {
      readonly type: 'modelCallEnded'
      readonly model: string
      readonly attempt: number
      readonly status: 'success' | 'failure' | 'cancelled'
      readonly durationMs: number
      /** Null unless the model answered. */
      readonly usage: ObservedUsage | null
    })

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

/** Called synchronously while calls run, so it must be fast. An error that it throws has no effect on the call. */
export type Observer = (event: ObservedEvent) => void

/** Catches the errors of an observer and logs only the first. */
export function safeObserver(
  observer: Observer | undefined,
  logger: { error(message: string, fields: Record<string, unknown>): void },
): Observer | null {
  if (!observer) return null
  let isReported = false
  const fail = (error: unknown): void => {
    if (!isReported) logger.error('The observer threw; further errors of it are not logged', { error })
    isReported = true
  }
  return (event) => {
    try {
      const returned: unknown = observer(event)
      if (isThenable(returned)) returned.then(undefined, fail)
    } catch (error) {
      fail(error)
    }
  }
}
