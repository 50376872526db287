// Waits for a model's answer with two limits: a grace period after an abort, and an idle timeout.

import type { Clock } from '../core/clock.ts'
import { ModelFailure } from '../models/model.ts'

const graceMs = 50

interface AwaitOptions {
  /** The caller's signal. */
  readonly signal: AbortSignal
  /** Idle timeout in milliseconds; null for none. */
  readonly idleMs: number | null
}

/** `ask` gets its own signal and reports activity by calling `alive`. */
export async function awaitModel<T>(
  clock: Clock,
  { signal, idleMs }: AwaitOptions,
  ask: (signal: AbortSignal, alive: () => void) => Promise<T>,
): Promise<T> {
  const own = new AbortController()
  // Monotonic: changes of the wall clock do not matter.
  let lastActivity = clock.monotonic()
  let cancelGraceTimer = (): void => {}
  let cancelIdleTimer = (): void => {}
  let removeListener = (): void => {}
  const abandoned = new Promise<never>((_, reject) => {
    const stop = (): void => {
      cancelGraceTimer = clock.timer(graceMs, () => reject(signal.reason as Error))
      own.abort(signal.reason)
    }
    signal.addEventListener('abort', stop, { once: true })
    removeListener = () => signal.removeEventListener('abort', stop)
    if (signal.aborted) stop()
    if (idleMs === null) return
    // The timer is checked when it fires and not reset with every delta.
    const watchIdle = (ms: number): void => {
      cancelIdleTimer = clock.timer(ms, () => {
        const left = lastActivity + idleMs - clock.monotonic()
        if (left > 0) return watchIdle(left)
        const idle = new ModelFailure(`no activity for ${idleMs / 1_000} s`, { retryable: true })
        // Reject first, so that the model's abort error does not become the reason.
        reject(idle)
        own.abort(idle)
      })
    }
    watchIdle(idleMs)
  })
  try {
    const answer = ask(own.signal, () => void (lastActivity = clock.monotonic()))
    answer.catch(() => {}) // prevents an unhandled rejection after the race is lost
    return await Promise.race([answer, abandoned])
  } finally {
    cancelGraceTimer()
    cancelIdleTimer()
    removeListener()
  }
}
