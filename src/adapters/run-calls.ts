// Runs the calls of a model's answer for the adapters, until they are settled or only wait.

import { option } from '../core/check-options.ts'
import type { CallAsk, CallOutcome, OpenCall, RunOptions, RunUntil } from '../index.ts'

/** `session.run`, as the adapters use it. */
export interface CallRunner {
  /** Runs the calls as one batch and returns one outcome per call; a session has this method. */
  run(calls: readonly CallAsk[], options?: RunOptions | RunUntil): Promise<(CallOutcome | OpenCall)[]>
}

/** When an adapter returns. */
export type AdapterUntil = 'settled' | 'waiting'

export const untilOption = option.oneOf('settled', 'waiting')

interface RunCallsOptions {
  readonly batch: string
  readonly signal?: AbortSignal | undefined
  readonly until?: AdapterUntil | undefined
}

export async function runCalls(
  session: CallRunner,
  calls: readonly CallAsk[],
  { batch, signal, until = 'settled' }: RunCallsOptions,
): Promise<(CallOutcome | OpenCall)[]> {
  if (until === 'settled') return session.run(calls, { batch, ...(signal ? { signal } : {}) })
  // The signal is usually that of a request. A call that waits outlives the request: its end must not cancel the call.
  const own = new AbortController()
  const abort = (): void => own.abort(signal?.reason)
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort, { once: true })
  try {
    return await session.run(calls, { batch, until, ...(signal ? { signal: own.signal } : {}) })
  } finally {
    signal?.removeEventListener('abort', abort)
  }
}
