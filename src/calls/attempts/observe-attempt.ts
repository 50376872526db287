// Reports the start and the end of a body to the observers. Used only if there is one.

import type { ObservedTexts } from '../../core/observer.ts'
import { chain, isThenable, type MaybePromise } from '../../core/maybe-promise.ts'
import { truncateToBytes } from '../../core/size-limits.ts'
import { decode, type Json } from '../../core/tool-value.ts'
import type { Execution, ToSettle } from '../../engine/engine.ts'
import { observedCall } from '../../engine/observed-call.ts'
import { isSealedUid } from '../../store/records/call-record.ts'
import { maskArgs } from '../../tools/hidden-arguments.ts'
import { cleanValue } from '../output/clean-terminal-text.ts'
import { cleanOutcome } from '../output/truncate.ts'
import type { CallRun } from '../call-run.ts'

interface ObservableAttempt<T> {
  /** Called when the body starts. */
  onStart: (() => void) | null
  start(): MaybePromise<T>
}

export function observeAttempt<T extends object>(run: CallRun, attempt: ObservableAttempt<T>): MaybePromise<T> {
  const { execution, host } = run
  const { clock } = host
  const subject = observedCall(execution.request)
  let started: { readonly attempt: number; readonly at: number } | null = null
  attempt.onStart = () => {
    started = { attempt: execution.attempt, at: clock.monotonic() }
    host.observers.current?.({ type: 'attemptStarted', ...subject, at: clock.now(), attempt: started.attempt })
  }
  const end = (result: T | ToSettle | null): void => {
    if (!started) return
    const settled = result !== null && 'settle' in result ? result : null
    const ended = result === null ? 'lost' : 'park' in result ? 'parked' : 'success'
    const outcome = settled?.settle
    host.observers.current?.({
      type: 'attemptEnded',
      ...subject,
      at: clock.now(),
      attempt: started.attempt,
      status: outcome?.status ?? ended,
      error: outcome?.status === 'failure' ? outcome.failure.class : null,
      durationMs: clock.monotonic() - started.at,
      texts: (options) => textsOf(run, settled, options?.content === true),
    })
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

/** A text is cut to this size after it was redacted: a cut before it could leave a part of a secret. */
const maxTextBytes = 8 * 1024
/** A longer text is not redacted and not passed on. */
const maxSourceCharacters = 256 * 1024
const maxNameBytes = 256

/** Null for a call whose payloads are encrypted because its tool or its parent is sensitive. */
function textsOf(run: CallRun, settled: ToSettle | null, content: boolean): MaybePromise<ObservedTexts> {
  const { execution, tool, host } = run
  const { request } = execution
  const isHidden = !content || tool.sensitive || isSealedUid(request.uid)
  const read = (value: () => unknown): string | null => {
    if (isHidden) return null
    const text = JSON.stringify(value()) ?? 'null'
    return text.length > maxSourceCharacters ? null : truncateToBytes(text, maxTextBytes)
  }
  const args = (): Json => maskArgs(tool, argumentsOf(run, execution), () => host.toolsets.toolsetFor(request))
  // Read while the attempt ends: the arguments of the next attempt replace them.
  const input = isHidden ? null : args()
  return chain(host.knownSecrets.ensure(request.position), () => ({
    callId: truncateToBytes(host.redact.text(execution.callId), maxNameBytes),
    description: truncateToBytes(host.redact.text(tool.description), maxTextBytes),
    arguments: read(() => host.redact.deep(cleanValue(input))),
    result: settled ? read(() => host.redact.deep(cleanOutcome(settled.settle))) : null,
  }))
}

const argumentsOf = (run: CallRun, { args }: Execution): Json => (args === null ? run.attemptInput.args : decode(args))
