// Runs tasks that would become `poisoned` at their next worker death one at a time. A poison task kills all tasks of
// its process, so harmless tasks that run next to it would become `poisoned` as well. If they run one at a time, only
// the poison task dies.

import type { Clock } from '../../core/clock.ts'

/** A task that has survived this long is considered harmless; the next one starts even if it runs for hours. */
const probationMs = 5_000

export class PoisonSuspects {
  readonly #clock: Clock
  /** For each call, the function that lets the next suspect start. */
  readonly #leaveByCall = new Map<string, () => void>()
  #last: Promise<void> = Promise.resolve()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get size(): number {
    return this.#leaveByCall.size
  }

  /** Resolves when all earlier suspects have ended or proved harmless. Rejects with the reason of the signal. */
  async enter(uid: string, signal: AbortSignal): Promise<void> {
    const before = this.#last
    const left = Promise.withResolvers<void>()
    const stopped = Promise.withResolvers<never>()
    const stop = (): void => stopped.reject(signal.reason as Error)
    this.#last = before.then(() => left.promise)
    this.#leaveByCall.set(uid, left.resolve)
    signal.addEventListener('abort', stop, { once: true })
    try {
      if (signal.aborted) stop()
      await Promise.race([before, stopped.promise])
    } finally {
      signal.removeEventListener('abort', stop)
    }
    const cancelTimer = this.#clock.timer(probationMs, () => this.leave(uid))
    this.#leaveByCall.set(uid, () => {
      cancelTimer()
      left.resolve()
    })
  }

  /** The task has ended or parked. */
  leave(uid: string): void {
    this.#leaveByCall.get(uid)?.()
    this.#leaveByCall.delete(uid)
  }
}
