// The clocks of one attempt (TIME-1, TIME-2): they run only while the body runs, not while it waits for the outside or sleeps.
// When one runs out it says so once; what that means is the attempt's business.

import { milliseconds } from '../../core/duration.ts'
import type { Clock } from '../../core/clock.ts'
import type { CallOptions } from '../../store/records/call-record.ts'
import type { Timeouts } from '../../tools/tool-options.ts'
import type { TimeoutTimer, TimeoutTimers } from './timeout-timers.ts'

export type ClockName = 'attempt' | 'idle' | 'total' | 'queue'

const defaultAttempt = 60_000

/** The clock of a call: what was asked for it, else what its tool says. Undefined means it never runs out. */
export function clockMs(name: ClockName, options: CallOptions, clocks: Timeouts): number | undefined {
  const asked = options.timeout?.[name]
  if (asked !== undefined) return asked
  const own = clocks[name]
  return own === undefined ? (name === 'attempt' ? defaultAttempt : undefined) : milliseconds(own, name)
}

/** What of a call its deadlines depend on. */
export interface Timed {
  readonly request: { readonly createdAt: number }
  readonly options: CallOptions
  readonly asks: { readonly decidingMs: number }
}

/** The instant from which on it is too late. The total time does not count while people decide (TIME-2); an instant that was asked for is one. */
export function tooLateAt({ request, options, asks }: Timed, clocks: Timeouts): number | undefined {
  const total = clockMs('total', options, clocks)
  if (total === undefined) return options.deadline
  return Math.min(request.createdAt + asks.decidingMs + total, options.deadline ?? Infinity)
}

/** The instant that was asked for has come. */
export const isPast = ({ options: { deadline } }: { options: CallOptions }, { clock }: { clock: Clock }): boolean =>
  deadline !== undefined && clock.now() >= deadline

/** How long a wait of it may last: no longer than the instant that was asked for. */
export const withinDeadline = (ms: number, options: CallOptions, now: number): number =>
  options.deadline === undefined ? ms : Math.max(0, Math.min(ms, options.deadline - now))

export class Watch implements TimeoutTimer {
  readonly #clock: Clock
  readonly #alarms: TimeoutTimers
  readonly #expired: (name: ClockName) => void
  readonly #idleMs: number | undefined
  readonly #attemptMs: number
  #attemptLeft: number
  #lateAt: number | undefined
  readonly #deadline: number
  /** How many things people are asked, and since when there has been any. */
  #asked = 0
  #deciding: number | null = null
  due = 0
  #idleTimer: (() => void) | undefined
  #lateTimer: (() => void) | undefined
  /** How many waits and sleeps the body is in. */
  #waits = 0
  #stopped = false

  constructor(
    { clock, alarms }: { clock: Clock; alarms: TimeoutTimers },
    of: Timed,
    clocks: Timeouts,
    expired: (name: ClockName) => void,
  ) {
    const { options } = of
    this.#clock = clock
    this.#alarms = alarms
    this.#expired = expired
    this.#attemptMs = clockMs('attempt', options, clocks) as number
    this.#attemptLeft = this.#attemptMs
    this.#idleMs = clockMs('idle', options, clocks)
    this.#deadline = options.deadline ?? Infinity
    this.#lateAt = tooLateAt(of, clocks)
    this.#run()
    this.#watchLate()
  }

  /** People are asked: the total time stands still as well, but not an instant that was asked for. */
  deciding(begin: boolean): void {
    if (this.#lateAt === undefined || this.#stopped) return
    this.#asked += begin ? 1 : -1
    if (begin) this.#deciding ??= this.#clock.now()
    else if (this.#deciding !== null && this.#asked === 0) {
      this.#lateAt = Math.min(this.#lateAt + this.#clock.now() - this.#deciding, this.#deadline)
      this.#deciding = null
    }
    this.#lateTimer?.()
    if (this.#deciding === null || this.#lateAt === this.#deadline) this.#watchLate()
  }

  #watchLate(): void {
    if (this.#lateAt !== undefined)
      this.#lateTimer = this.#clock.timer(this.#lateAt - this.#clock.now(), () => this.#expire('total'))
  }

  /** The body waits: its own clocks stand still. */
  pause(): void {
    if (this.#waits++ > 0) return
    if (!this.#stopped) this.#halt()
    this.#attemptLeft = this.due - this.#clock.monotonic()
  }

  resume(): void {
    if (--this.#waits > 0 || this.#stopped) return
    this.#run()
  }

  /** How long the body has run, without its waits. */
  get ranMs(): number {
    return Math.round(this.#attemptMs - (this.#waits > 0 ? this.#attemptLeft : this.due - this.#clock.monotonic()))
  }

  /** A process that was stopped comes back with its deadline passed and its timer still to ring: asked before anything is started. */
  look(): void {
    if (this.#lateAt !== undefined && this.#deciding === null && this.#clock.now() >= this.#lateAt)
      this.#expire('total')
  }

  /** Something moved: the idle clock starts over. */
  progress(): void {
    if (this.#idleMs === undefined || this.#waits > 0 || this.#stopped) return
    this.#idleTimer?.()
    this.#idleTimer = this.#clock.timer(this.#idleMs, () => this.#expire('idle'))
  }

  stop(): void {
    this.#stopped = true
    this.#halt()
    this.#lateTimer?.()
  }

  #run(): void {
    this.#alarms.set(this.#attemptLeft, this)
    this.progress()
  }

  #halt(): void {
    this.#alarms.off(this.#attemptLeft, this)
    this.#idleTimer?.()
  }

  /** The attempt's own alarm. */
  ring(): void {
    this.#expire('attempt')
  }

  #expire(name: ClockName): void {
    if (this.#stopped) return
    this.stop()
    this.#expired(name)
  }
}
