// The timeouts of one attempt. They run only while the body runs, not while it waits or sleeps. The first one to expire
// is reported once; the attempt decides what follows.

import { milliseconds } from '../../core/duration.ts'
import type { Clock } from '../../core/clock.ts'
import type { CallOptions } from '../../store/records/call-record.ts'
import type { Timeouts } from '../../tools/tool-options.ts'

export type TimeoutName = 'attempt' | 'idle' | 'total' | 'queue'

const defaultAttempt = 60_000

/** The timeout of a call: from its options, else from the tool. Undefined: no limit. */
export function timeoutMs(name: TimeoutName, options: CallOptions, clocks: Timeouts): number | undefined {
  const requested = options.timeout?.[name]
  if (requested !== undefined) return requested
  const toolTimeout = clocks[name]
  return toolTimeout === undefined ? (name === 'attempt' ? defaultAttempt : undefined) : milliseconds(toolTimeout, name)
}

/** The fields of a call that its deadline depends on. */
export interface TimedCall {
  readonly request: { readonly createdAt: number }
  readonly options: CallOptions
  readonly approvals: { readonly decidingMs: number }
}

/** The earlier of the total timeout, which is paused while people decide, and the absolute deadline, which is not. */
export function effectiveDeadline(call: TimedCall, clocks: Timeouts): number | undefined {
  const { request, options } = call
  const total = timeoutMs('total', options, clocks)
  if (total === undefined) return options.deadline
  return Math.min(request.createdAt + call.approvals.decidingMs + total, options.deadline ?? Infinity)
}

/** The absolute deadline of the call has passed. */
export const isPastDeadline = (
  { options: { deadline } }: { options: CallOptions },
  { clock }: { clock: Clock },
): boolean => deadline !== undefined && clock.now() >= deadline

/** Limits the duration of a wait to the absolute deadline of the call. */
export const withinDeadline = (ms: number, options: CallOptions, now: number): number =>
  options.deadline === undefined ? ms : Math.max(0, Math.min(ms, options.deadline - now))

export class AttemptTimeouts implements TimeoutTimer {
  readonly #clock: Clock
  readonly #timers: TimeoutTimers
  readonly #expired: (name: TimeoutName) => void
  readonly #idleMs: number | undefined
  readonly #attemptMs: number
  #attemptLeft: number
  #lateAt: number | undefined
  readonly #deadline: number
  /** Number of open requests to people, and the time since which at least one has been open. */
  #openDecisions = 0
  #decidingSince: number | null = null
  due = 0
  #idleTimer: (() => void) | undefined
  #lateTimer: (() => void) | undefined
  /** Number of waits and sleeps in progress. */
  #waits = 0
  #stopped = false

  constructor(
    { clock, timeoutTimers }: { clock: Clock; timeoutTimers: TimeoutTimers },
    call: TimedCall,
    clocks: Timeouts,
    expired: (name: TimeoutName) => void,
  ) {
    const { options } = call
    this.#clock = clock
    this.#timers = timeoutTimers
    this.#expired = expired
    this.#attemptMs = timeoutMs('attempt', options, clocks) as number
    this.#attemptLeft = this.#attemptMs
    this.#idleMs = timeoutMs('idle', options, clocks)
    this.#deadline = options.deadline ?? Infinity
    this.#lateAt = effectiveDeadline(call, clocks)
    this.#startTimers()
    this.#watchLate()
  }

  /** While people decide, the total timeout is paused too; the absolute deadline is not. */
  deciding(begin: boolean): void {
    if (this.#lateAt === undefined || this.#stopped) return
    this.#openDecisions += begin ? 1 : -1
    if (begin) this.#decidingSince ??= this.#clock.now()
    else if (this.#decidingSince !== null && this.#openDecisions === 0) {
      this.#lateAt = Math.min(this.#lateAt + this.#clock.now() - this.#decidingSince, this.#deadline)
      this.#decidingSince = null
    }
    this.#lateTimer?.()
    if (this.#decidingSince === null || this.#lateAt === this.#deadline) this.#watchLate()
  }

  #watchLate(): void {
    if (this.#lateAt !== undefined)
      this.#lateTimer = this.#clock.timer(this.#lateAt - this.#clock.now(), () => this.#expire('total'))
  }

  /** Pauses the attempt and idle timeouts while the body waits. */
  pause(): void {
    if (this.#waits++ > 0) return
    if (!this.#stopped) this.#stopTimers()
    this.#attemptLeft = this.due - this.#clock.monotonic()
  }

  resume(): void {
    if (--this.#waits > 0 || this.#stopped) return
    this.#startTimers()
  }

  /** Running time of the body without its waits. */
  get ranMs(): number {
    return Math.round(this.#attemptMs - (this.#waits > 0 ? this.#attemptLeft : this.due - this.#clock.monotonic()))
  }

  /**
   * After a suspended process resumes, the deadline may have passed before the timer fires. Checked before new work
   * starts.
   */
  checkDeadline(): void {
    if (this.#lateAt !== undefined && this.#decidingSince === null && this.#clock.now() >= this.#lateAt)
      this.#expire('total')
  }

  /** Restarts the idle timeout. */
  progress(): void {
    if (this.#idleMs === undefined || this.#waits > 0 || this.#stopped) return
    this.#idleTimer?.()
    this.#idleTimer = this.#clock.timer(this.#idleMs, () => this.#expire('idle'))
  }

  stop(): void {
    this.#stopped = true
    this.#stopTimers()
    this.#lateTimer?.()
  }

  #startTimers(): void {
    this.#timers.set(this.#attemptLeft, this)
    this.progress()
  }

  #stopTimers(): void {
    this.#timers.clear(this.#attemptLeft, this)
    this.#idleTimer?.()
  }

  /** Called by TimeoutTimers when the attempt timeout expires. */
  fire(): void {
    this.#expire('attempt')
  }

  #expire(name: TimeoutName): void {
    if (this.#stopped) return
    this.stop()
    this.#expired(name)
  }
}

export interface TimeoutTimer {
  /** Monotonic time; set by TimeoutTimers. */
  due: number
  fire(): void
}

interface Bucket {
  readonly timers: Set<TimeoutTimer>
  cancel: () => void
}

/**
 * Timers for many attempts with few different durations. Timers of the same duration share one bucket, ordered by due
 * time, and one clock timer per bucket.
 */
export class TimeoutTimers {
  readonly #clock: Clock
  readonly #buckets = new Map<number, Bucket>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  set(ms: number, timer: TimeoutTimer): void {
    timer.due = this.#clock.monotonic() + ms
    const bucket = this.#buckets.get(ms)
    if (bucket) bucket.timers.add(timer)
    else this.#buckets.set(ms, { timers: new Set([timer]), cancel: this.#clock.timer(ms, () => this.#fireDue(ms)) })
  }

  clear(ms: number, timer: TimeoutTimer): void {
    const bucket = this.#buckets.get(ms)
    if (!bucket?.timers.delete(timer) || bucket.timers.size > 0) return
    bucket.cancel()
    this.#buckets.delete(ms)
  }

  #fireDue(ms: number): void {
    const bucket = this.#buckets.get(ms)
    if (!bucket) return
    const now = this.#clock.monotonic()
    for (const timer of bucket.timers) {
      if (timer.due > now) {
        bucket.cancel = this.#clock.timer(timer.due - now, () => this.#fireDue(ms))
        return
      }
      bucket.timers.delete(timer)
      timer.fire()
    }
    // A fired timer may have emptied this bucket and created another for the same duration.
    if (this.#buckets.get(ms) === bucket && bucket.timers.size === 0) this.#buckets.delete(ms)
  }
}
