// Code of the host that a call meets on its way: hooks, policies, schemas, prepare, reconcile. What it leaves astray is contained and named
// (CALL-11), and the call waits for its answer no longer than a cancel, its total deadline and a patience allow (TIME-1, TIME-3). One that
// answers at once sets no timer.

import type { Execution, Stop, ToSettle } from '../engine/engine.ts'
import { isThenable, type MaybePromise } from '../core/maybe-promise.ts'
import { defaultGraceMs, type Tool } from '../tools/tool.ts'
import { notStarted } from './attempts/stop-outcome.ts'
import { type ClockName, tooLateAt } from './attempts/timeouts.ts'
import type { CallHost } from './ports.ts'
import { scope } from './async-context.ts'

/** The call on whose way it is asked. */
export interface Asking {
  readonly execution: Execution
  readonly tool: Tool
  readonly host: CallHost
}

/** How long hooks, policies and schemas may take. */
const patienceMs = 30_000

/** No answer came: the call is no longer wanted, is too late, or was patient for long enough. */
export class Unanswered extends Error {
  override readonly name = 'Unanswered'
  readonly why: Stop | ClockName | 'patience'
  readonly mayStillRun: boolean

  constructor(who: string, why: Stop | ClockName | 'patience', mayStillRun: boolean) {
    super(`${who} did not answer`)
    this.why = why
    this.mayStillRun = mayStillRun
  }
}

/** How the call ends because of it; null if it was only too slow, which each stage has its own meaning for. Throws if the call is not ours any more. */
export function endOf({ why, mayStillRun }: Unanswered): ToSettle | null {
  if (why === 'patience') return null
  return notStarted(why, mayStillRun)
}

/** For what has to answer at once. */
export const contained = <T>(who: string, asking: Asking, run: () => T): T => scope.run(aboutOf(who, asking), run)

/** What it gives, or throws, or `Unanswered`. */
export function ask<T>(who: string, asking: Asking, run: () => T | PromiseLike<T>): MaybePromise<T> {
  const given = contained(who, asking, run)
  return isThenable(given) ? answered(given, { who, asking, clock: 'patience', ms: patienceMs }) : given
}

export const aboutOf = (who: string, { execution, tool, host }: Asking) => ({
  tool: tool.name,
  callId: execution.callId,
  call: execution.request.uid,
  logger: host.logger,
  who,
})

interface Patience {
  readonly who: string
  readonly asking: Asking
  readonly clock: ClockName | 'patience'
  readonly ms: number
  /** Tells it to stop; then it has a grace. */
  readonly abort?: (reason: string | Error) => void
}

export function answered<T>(work: PromiseLike<T>, { who, asking, clock: name, ms, abort }: Patience): Promise<T> {
  const { execution, tool, host } = asking
  const { clock } = host
  return new Promise<T>((resolve, reject) => {
    const alarms: (() => void)[] = []
    let given: Unanswered['why'] | null = null
    let over = false
    const end = (): boolean => {
      for (const callOff of alarms) callOff()
      if (over) return false
      over = true
      return true
    }
    const giveUp = (mayStillRun: boolean): void => {
      if (end()) reject(new Unanswered(who, given as Unanswered['why'], mayStillRun))
    }
    const stop = (why: Unanswered['why']): void => {
      if (given !== null) return
      given = why
      const lost = typeof why === 'object' && 'over' in why
      abort?.(lost ? why.over : typeof why === 'object' ? why.cancel : `The ${why} timeout ran out`)
      if (abort && !lost) alarms.push(clock.timer(defaultGraceMs, () => giveUp(true)))
      else giveUp(false)
    }
    alarms.push(clock.timer(ms, () => stop(name)))
    const lateAt = tooLateAt(execution, tool.clocks)
    // What had stopped the call before has been dealt with: who is asked about its end, or what became of it, is still heard.
    if (lateAt !== undefined && lateAt > clock.now())
      alarms.push(clock.timer(lateAt - clock.now(), () => stop('total')))
    const before = execution.stopped
    alarms.push(execution.onStop((why) => (why === before && 'cancel' in why ? undefined : stop(why))))
    if (over) end()
    Promise.resolve(work).then(
      (value) => end() && resolve(value),
      // Once it was told to stop, an error is only the echo of that.
      (error: unknown) => (given === null ? end() && reject(error) : giveUp(false)),
    )
  })
}
