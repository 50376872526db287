// Reports the start and the end of a body to the observer. Used only if there is one.

import type { Clock } from '../../core/clock.ts'
import { isThenable, type MaybePromise } from '../../core/maybe-promise.ts'
import type { Observer } from '../../core/observer.ts'
import type { Execution, ToSettle } from '../../engine/engine.ts'
import { observedCall } from '../../engine/observed-call.ts'

interface ObservableAttempt<T> {
  /** Called when the body starts. */
  onStart: (() => void) | null
  start(): MaybePromise<T>
}

export function observeAttempt<T extends object>(
  observer: Observer,
  clock: Clock,
  execution: Execution,
  attempt: ObservableAttempt<T>,
): MaybePromise<T> {
  const subject = observedCall(execution.request)
  let started: { readonly attempt: number; readonly at: number } | null = null
  attempt.onStart = () => {
    started = { attempt: execution.attempt, at: clock.monotonic() }
    observer({ type: 'attemptStarted', ...subject, attempt: started.attempt })
  }
  const end = (result: T | ToSettle | null): void => {
    if (!started) return
    const durationMs = clock.monotonic() - started.at
    const status =
      result === null ? 'lost' : 'settle' in result ? result.settle.status : 'park' in result ? 'parked' : 'success'
    observer({ type: 'attemptEnded', ...subject, attempt: started.attempt, status, durationMs })
  }
  const result = attempt.start()
  if (!isThenable(result)) {
    end(result)
    return result
  }
  return result.then(
    (ended) => {
      end(ended)
      return ended
    },
    (error: unknown) => {
      end(null)
      throw error
    },
  )
}
