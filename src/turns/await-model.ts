// Waits for the answer of a model, but not for ever: one that is told to stop and does not hear, and one that says nothing for too long, is let go.

import type { Clock } from '../core/clock.ts'
import { ModelFailure } from '../models/model.ts'

const graceMs = 50

interface Patience {
  /** Of whoever asked. */
  readonly signal: AbortSignal
  /** How long it may say nothing; null: as long as it likes. */
  readonly idleMs: number | null
}

/** What is asked gets a signal of its own, and says with `alive` that something has come. */
export async function listen<T>(
  clock: Clock,
  { signal, idleMs }: Patience,
  ask: (signal: AbortSignal, alive: () => void) => Promise<T>,
): Promise<T> {
  const own = new AbortController()
  // What the wall clock is set to meanwhile does not matter.
  let heardAt = clock.monotonic()
  let callOffGrace = (): void => {}
  let callOffIdle = (): void => {}
  let forget = (): void => {}
  const letGo = new Promise<never>((_, reject) => {
    const stop = (): void => {
      callOffGrace = clock.timer(graceMs, () => reject(signal.reason as Error))
      own.abort(signal.reason)
    }
    signal.addEventListener('abort', stop, { once: true })
    forget = () => signal.removeEventListener('abort', stop)
    if (signal.aborted) stop()
    if (idleMs === null) return
    // Looked at when it may have been too long, and not set anew with each of many pieces.
    const look = (ms: number): void => {
      callOffIdle = clock.timer(ms, () => {
        const left = heardAt + idleMs - clock.monotonic()
        if (left > 0) return look(left)
        const silent = new ModelFailure(`it said nothing for ${idleMs / 1_000} s`, { retryable: true })
        // First: what it says of being stopped is not why.
        reject(silent)
        own.abort(silent)
      })
    }
    look(idleMs)
  })
  try {
    const asked = ask(own.signal, () => void (heardAt = clock.monotonic()))
    asked.catch(() => {}) // nobody hears of it any more
    return await Promise.race([asked, letGo])
  } finally {
    callOffGrace()
    callOffIdle()
    forget()
  }
}
