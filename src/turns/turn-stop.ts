// Why a turn stops before its model has said all: somebody cancelled it, or its time is over. All that it has called stops with it.

import type { Execution, Stop, ToSettle } from '../engine/engine.ts'
import { failure, type Outcome } from '../core/outcome.ts'
import type { Clock } from '../core/clock.ts'
import { Cancel } from '../sessions/collect-outcomes.ts'

export class TurnStop {
  readonly #abort = new AbortController()
  readonly #calls = new AbortController()
  readonly #clock: Clock
  readonly #forget: () => void
  #callOff = (): void => {}
  #outcome: Outcome | null = null
  #why = { reason: 'The turn has ended', by: null as string | null }

  constructor(execution: Execution, clock: Clock) {
    this.#clock = clock
    this.#forget = execution.onStop((why) => this.#stopped(why))
  }

  /** Aborts what the turn waits for. */
  get signal(): AbortSignal {
    return this.#abort.signal
  }

  /** Aborts what it has called: not if this execution of it is over, as whoever goes on with the turn finds its calls. */
  get calls(): AbortSignal {
    return this.#calls.signal
  }

  /** How it ends then. */
  get outcome(): Outcome | null {
    return this.#outcome
  }

  /** What is told to those who stop with it. */
  get why(): { readonly reason: string; readonly by: string | null } {
    return this.#why
  }

  /** From the instant at which it was asked for. */
  within(ms: number | null, since: number): void {
    if (ms === null) return
    const left = Math.max(0, since + ms - this.#clock.now())
    this.#callOff = this.#clock.timer(left, () => {
      const message = `The turn took longer than ${ms} ms.`
      this.#ends(failure({ class: 'timeout', code: 'turn_timeout', message }), new Cancel(message, null))
    })
  }

  /** Its session has ended: as whatever is open there, it is cancelled. */
  sessionEnded({ reason, by }: { readonly reason: string; readonly by: string | null }): void {
    this.#stopped({ cancel: reason, by })
  }

  /** It never began. */
  before(): ToSettle {
    return { settle: this.#outcome ?? cancelled('The turn was cancelled') }
  }

  close(): void {
    this.#callOff()
    this.#forget()
  }

  #stopped(why: Stop): void {
    if ('over' in why) return this.#abort.abort(why.over)
    this.#ends(cancelled(why.cancel), new Cancel(why.cancel, why.by))
  }

  #ends(outcome: Outcome, why: Cancel): void {
    this.#outcome ??= outcome
    this.#why = { reason: why.reason, by: why.by }
    this.#abort.abort(why)
    this.#calls.abort(why)
  }
}

const cancelled = (message: string): Outcome => ({
  status: 'cancelled',
  cancellation: { message, source: 'cancellation' },
})
