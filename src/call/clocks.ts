// The clocks of one attempt (TIME-1, TIME-2): they run only while the body runs, not while it waits for the outside or sleeps.
// When one runs out it says so once; what that means is the attempt's business.

import { milliseconds } from '../kernel/duration.ts'
import type { Clock } from '../kernel/time.ts'
import type { CallOptions } from '../journal/call-state.ts'
import type { Clocks } from '../tool/terms.ts'
import type { Alarm, Alarms } from './alarms.ts'

export type ClockName = 'attempt' | 'idle' | 'total' | 'queue'

const defaultAttempt = 60_000

/** The clock of a call: what was asked for it, else what its tool says. Undefined means it never runs out. */
export function clockMs(name: ClockName, options: CallOptions, clocks: Clocks): number | undefined {
  const asked = options.timeout?.[name]
  if (asked !== undefined) return asked
  const own = clocks[name]
  return own === undefined ? (name === 'attempt' ? defaultAttempt : undefined) : milliseconds(own, name)
}

/** The instant after which the call is too late, if there is one. */
export function tooLateAt(createdAt: number, options: CallOptions, clocks: Clocks): number | undefined {
  const total = clockMs('total', options, clocks)
  if (total === undefined) return options.deadline
  return Math.min(createdAt + total, options.deadline ?? Infinity)
}

export class Watch implements Alarm {
  readonly #clock: Clock
  readonly #alarms: Alarms
  readonly #expired: (name: ClockName) => void
  readonly #idleMs: number | undefined
  readonly #attemptMs: number
  #attemptLeft: number
  #lateAt: number | undefined
  due = 0
  #idleTimer: (() => void) | undefined
  #lateTimer: (() => void) | undefined
  /** How many waits and sleeps the body is in. */
  #waits = 0
  #stopped = false

  constructor(
    { clock, alarms }: { clock: Clock; alarms: Alarms },
    of: { options: CallOptions; createdAt: number; clocks: Clocks },
    expired: (name: ClockName) => void,
  ) {
    const { options, createdAt, clocks } = of
    this.#clock = clock
    this.#alarms = alarms
    this.#expired = expired
    this.#attemptMs = clockMs('attempt', options, clocks) as number
    this.#attemptLeft = this.#attemptMs
    this.#idleMs = clockMs('idle', options, clocks)
    this.#lateAt = tooLateAt(createdAt, options, clocks)
    this.#run()
    if (this.#lateAt !== undefined) this.#lateTimer = clock.timer(this.#lateAt - clock.now(), () => this.#expire('total'))
  }

  /** The body waits: its own clocks stand still. A total deadline is an instant and does not. */
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
    if (this.#lateAt !== undefined && this.#clock.now() >= this.#lateAt) this.#expire('total')
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
