// Reports the start and the end of a model request to the observers, and runs the request in its span. Used by
// ask-model.ts.

import type { Usage } from '../models/model.ts'
import type { Execution } from '../engine/engine.ts'
import { observedCall } from '../engine/observed-call.ts'
import { runTraced } from '../engine/trace-scope.ts'
import type { TurnHost } from './ports.ts'

interface ObservedModelCall {
  run<T>(work: () => T): T
  end(status: 'success' | 'failure' | 'cancelled', usage: Usage | null): void
}

const unobserved: ObservedModelCall = { run: (work) => work(), end() {} }

/** Requests of this process: several may run in one call at a time. */
let requests = 0

export function observeModelCall(
  { observers, clock }: Pick<TurnHost, 'observers' | 'clock'>,
  execution: Execution,
  model: string,
  attempt: number,
): ObservedModelCall {
  if (!observers.current) return unobserved
  const subject = observedCall(execution.request)
  const request = ++requests
  const startedAt = clock.monotonic()
  observers.current?.({ type: 'modelCallStarted', ...subject, at: clock.now(), request, model, attempt })
  return {
    run: (work) => runTraced(observers, execution, work, request),
    end(status, usage) {
      const durationMs = clock.monotonic() - startedAt
      const about = { ...subject, at: clock.now(), request, model, attempt }
      observers.current?.({ type: 'modelCallEnded', ...about, status, durationMs, usage })
    },
  }
}
