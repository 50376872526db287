// Reports a step to the observers once its end is recorded. A replayed step is not reported.

import { chain } from '../../core/maybe-promise.ts'
import { truncateToBytes } from '../../core/size-limits.ts'
import type { StepEnd } from '../../engine/engine.ts'
import { observedCall } from '../../engine/observed-call.ts'
import type { CallEnvironment } from './call-environment.ts'

const maxNameBytes = 256

interface ObservedStep {
  start(): void
  end(end: StepEnd): void
}

export function observeStep({ execution, host }: CallEnvironment, id: string): ObservedStep {
  const { clock, observers, redact, knownSecrets } = host
  const { attempt, request } = execution
  let startedAt: number | null = null
  return {
    start: () => void (startedAt = clock.monotonic()),
    end(end) {
      if (startedAt === null) return
      observers.current?.({
        type: 'stepEnded',
        ...observedCall(request),
        at: clock.now(),
        attempt,
        status: 'done' in end ? 'success' : 'failure',
        durationMs: clock.monotonic() - startedAt,
        name: () => chain(knownSecrets.ensure(request.position), () => truncateToBytes(redact.text(id), maxNameBytes)),
      })
    },
  }
}
