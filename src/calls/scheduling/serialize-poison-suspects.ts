// Tasks that are given up with the next death (DUR-8). Whoever ends its process takes along what runs beside it, so it would take them with it to their
// third death as well. So those that are on their last chance begin one after the other: then it dies alone.

import type { Clock } from '../../core/clock.ts'

/** What has run so long without harm need not be waited for: it may run for hours. */
const probationMs = 5_000

export class PoisonSuspects {
  readonly #clock: Clock
  /** How each that is in it leaves, by call. */
  readonly #in = new Map<string, () => void>()
  #last: Promise<void> = Promise.resolve()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get kept(): number {
    return this.#in.size
  }

  /** Resolves when those before it have ended or proved harmless. Throws the reason of the signal. */
  async enter(uid: string, signal: AbortSignal): Promise<void> {
    const before = this.#last
    const gone = Promise.withResolvers<void>()
    const stopped = Promise.withResolvers<never>()
    const stop = (): void => stopped.reject(signal.reason as Error)
    this.#last = before.then(() => gone.promise)
    this.#in.set(uid, gone.resolve)
    signal.addEventListener('abort', stop, { once: true })
    try {
      if (signal.aborted) stop()
      await Promise.race([before, stopped.promise])
    } finally {
      signal.removeEventListener('abort', stop)
    }
    const callOff = this.#clock.timer(probationMs, () => this.left(uid))
    this.#in.set(uid, () => {
      callOff()
      gone.resolve()
    })
  }

  /** It has ended, or waits for the outside. */
  left(uid: string): void {
    this.#in.get(uid)?.()
    this.#in.delete(uid)
  }
}
