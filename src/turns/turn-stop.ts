// Tracks why a turn must stop early: cancelled, or its time limit passed. Its calls stop with it.

import type { Execution, Stop, ToSettle } from '../engine/engine.ts'
import { failure, type Outcome } from '../core/outcome.ts'
import type { Clock } from '../core/clock.ts'
import { Cancel } from '../sessions/collect-outcomes.ts'

export class TurnStop {
  readonly #abort = new AbortController()
  readonly #callsAbort = new AbortController()
  readonly #clock: Clock
  readonly #removeListener: () => void
  #cancelTimer = (): void => {}
  #outcome: Outcome | null = null
  #reason = { reason: 'The turn has ended', by: null as string | null }

  constructor(execution: Execution, clock: Clock) {
    this.#clock = clock
    this.#removeListener = execution.onStop((why) => this.#onStop(why))
  }

  /** Aborts whatever the turn waits for. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Aborts the turn's calls, but not if only this execution was lost: the worker that resumes the turn joins them. */
  get calls(): AbortSignal {
    return this.#callsAbort.signal
  }

  /** The outcome if the turn must stop. */
  get outcome(): Outcome | null {
    return this.#outcome
  }

  /** Cancellation reason for the turn's calls. */
  get reason(): { readonly reason: string; readonly by: string | null } {
    return this.#reason
  }

  /** Starts the time limit, counted from the creation of the turn. */
  setDeadline(ms: number | null, since: number): void {
    if (ms === null) return
    const left = Math.max(0, since + ms - this.#clock.now())
    this.#cancelTimer = this.#clock.timer(left, () => {
      const message = `The turn took longer than ${ms} ms.`
      this.#end(failure({ class: 'timeout', code: 'turn_timeout', message }), new Cancel(message, null))
    })
  }

  /** The session has ended, so the turn is cancelled. */
  sessionEnded({ reason, by }: { readonly reason: string; readonly by: string | null }): void {
    this.#onStop({ cancel: reason, by })
  }

  /** The outcome of a turn that never started. */
  settleBeforeStart(): ToSettle {
    return { settle: this.#outcome ?? cancelled('The turn was cancelled') }
  }

  close(): void {
    this.#cancelTimer()
    this.#removeListener()
  }

  #onStop(stop: Stop): void {
    if ('over' in stop) return this.#abort.abort(stop.over)
    this.#end(cancelled(stop.cancel), new Cancel(stop.cancel, stop.by))
  }

  #end(outcome: Outcome, reason: Cancel): void {
    this.#outcome ??= outcome
    this.#reason = { reason: reason.reason, by: reason.by }
    this.#abort.abort(reason)
    this.#callsAbort.abort(reason)
  }
}

const cancelled = (message: string): Outcome => ({
  status: 'cancelled',
  cancellation: { message, source: 'cancellation' },
})
