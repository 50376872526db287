// Runs host code during a call: hooks, policies, schemas, prepare, reconcile. Stray errors are contained and
// attributed, and the call stops waiting when it is cancelled, at its total deadline, or after the callback timeout. A
// synchronous callback sets no timer.

import type { Execution, Stop, ToSettle } from '../engine/engine.ts'
import { isThenable, type MaybePromise } from '../core/maybe-promise.ts'
import { defaultGraceMs, type Tool } from '../tools/tool.ts'
import { notStarted } from './attempts/outcome-when-stopped.ts'
import { type TimeoutName, effectiveDeadline } from './attempts/attempt-timeouts.ts'
import type { CallHost } from './ports.ts'
import { scope } from './async-context.ts'

/** The parameter of most pipeline stages: the execution, the resolved tool and the ports. */
export interface StageContext {
  readonly execution: Execution
  readonly tool: Tool
  readonly host: CallHost
}

/** Timeout of hooks, policies and schemas. */
const callbackTimeoutMs = 30_000

/** The call stopped waiting for a callback: it was stopped, reached its deadline, or the callback timed out. */
export class CallbackAbandoned extends Error {
  override readonly name = 'CallbackAbandoned'
  readonly reason: Stop | TimeoutName | 'callback'
  readonly mayStillRun: boolean

  constructor(who: string, reason: Stop | TimeoutName | 'callback', mayStillRun: boolean) {
    super(`${who} did not answer`)
    this.reason = reason
    this.mayStillRun = mayStillRun
  }
}

/**
 * The outcome of the call, or null if only the callback timed out: each stage decides what that means. Throws if this
 * execution is over.
 */
export function outcomeOfAbandoned({ reason, mayStillRun }: CallbackAbandoned): ToSettle | null {
  if (reason === 'callback') return null
  return notStarted(reason, mayStillRun)
}

/** For synchronous callbacks. */
export const runContained = <T>(who: string, stage: StageContext, run: () => T): T =>
  scope.run(scopeOf(who, stage), run)

/** Returns the callback's result, throws its error, or throws `CallbackAbandoned`. */
export function runCallback<T>(who: string, stage: StageContext, run: () => T | PromiseLike<T>): MaybePromise<T> {
  const result = runContained(who, stage, run)
  return isThenable(result) ? awaitCallback(result, { who, stage, clock: 'callback', ms: callbackTimeoutMs }) : result
}

export const scopeOf = (who: string, { execution, tool, host }: StageContext) => ({
  tool: tool.name,
  callId: execution.callId,
  call: execution.request.uid,
  logger: host.logger,
  who,
})

interface CallbackLimits {
  readonly who: string
  readonly stage: StageContext
  readonly clock: TimeoutName | 'callback'
  readonly ms: number
  /** Aborts the callback's signal. With it, the callback has a grace period before it is abandoned. */
  readonly abort?: (reason: string | Error) => void
}

export function awaitCallback<T>(
  work: PromiseLike<T>,
  { who, stage, clock: name, ms, abort }: CallbackLimits,
): Promise<T> {
  const { execution, tool, host } = stage
  const { clock } = host
  return new Promise<T>((resolve, reject) => {
    const cancels: (() => void)[] = []
    let stopReason: CallbackAbandoned['reason'] | null = null
    let settled = false
    const end = (): boolean => {
      for (const cancel of cancels) cancel()
      if (settled) return false
      settled = true
      return true
    }
    const giveUp = (mayStillRun: boolean): void => {
      if (end()) reject(new CallbackAbandoned(who, stopReason as CallbackAbandoned['reason'], mayStillRun))
    }
    const stop = (reason: CallbackAbandoned['reason']): void => {
      if (stopReason !== null) return
      stopReason = reason
      const lost = typeof reason === 'object' && 'over' in reason
      abort?.(lost ? reason.over : typeof reason === 'object' ? reason.cancel : `The ${reason} timeout ran out`)
      if (abort && !lost) cancels.push(clock.timer(defaultGraceMs, () => giveUp(true)))
      else giveUp(false)
    }
    cancels.push(clock.timer(ms, () => stop(name)))
    const deadline = effectiveDeadline(execution, tool.clocks)
    // A deadline or cancel that came before this callback was already handled. Callbacks that run after it (after
    // hooks, `cancel`, `reconcile`) must still be awaited.
    if (deadline !== undefined && deadline > clock.now())
      cancels.push(clock.timer(deadline - clock.now(), () => stop('total')))
    const stoppedBefore = execution.stopped
    cancels.push(
      execution.onStop((reason) => (reason === stoppedBefore && 'cancel' in reason ? undefined : stop(reason))),
    )
    if (settled) end()
    Promise.resolve(work).then(
      (value) => end() && resolve(value),
      // After an abort, an error is only the consequence of that abort.
      (error: unknown) => (stopReason === null ? end() && reject(error) : giveUp(false)),
    )
  })
}
