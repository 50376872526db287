// Runs the host's compaction function: its errors and timeouts fail the turn with compaction_failed.

import type { Clock } from '../../core/clock.ts'
import { isStoreOrLeaseLost } from '../../core/errors.ts'
import { ModelFailure } from '../../models/model.ts'

/** A function that takes longer fails the turn. */
const timeoutMs = 300_000

/** `message` completes the sentence "The compaction function failed: …". */
export class CompactionFailure extends Error {
  override readonly name = 'CompactionFailure'
}

interface LimitedRun {
  /** Aborted with the turn, and at the timeout. */
  readonly signal: AbortSignal
  run<T>(ask: () => T | Promise<T>): Promise<T>
  close(): void
}

/** One time limit for the whole function, including its text function. A cancelled turn does not wait for it. */
export function startLimited(clock: Clock, turn: AbortSignal): LimitedRun {
  const own = new AbortController()
  const stop = (): void => own.abort(turn.reason)
  if (turn.aborted) stop()
  turn.addEventListener('abort', stop, { once: true })
  const cancelTimer = clock.timer(timeoutMs, () =>
    own.abort(new CompactionFailure(`it took longer than ${timeoutMs / 1_000} s`)),
  )
  const aborted = new Promise<never>((_, reject) => {
    const fail = (): void => reject(own.signal.reason as Error)
    if (own.signal.aborted) fail()
    own.signal.addEventListener('abort', fail, { once: true })
  })
  aborted.catch(() => {})
  return {
    signal: own.signal,
    async run(ask) {
      try {
        return await Promise.race([(async () => ask())(), aborted])
      } catch (error) {
        if (own.signal.aborted) throw own.signal.reason
        if (error instanceof ModelFailure || isStoreOrLeaseLost(error)) throw error
        throw new CompactionFailure('it threw an error', { cause: error })
      }
    },
    close() {
      turn.removeEventListener('abort', stop)
      cancelTimer()
    },
  }
}
