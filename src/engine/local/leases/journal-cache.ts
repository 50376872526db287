// The journal of a call as this worker knows it: loaded when the call was claimed, plus what was added since. Most
// calls have no steps or waits, so the maps are created on demand.

import {
  type StepRecord,
  type WaitRecord,
  type CallOptions,
  type CallRecord,
  type Resolution,
  waitTermsOf,
} from '../../../store/records/call-record.ts'
import { markOfWait } from '../../../store/records/signal-names.ts'
import { PawlError } from '../../../core/errors.ts'
import { rejectChangedInput } from '../../replay-difference.ts'
import type { StepEnd, StepSpec, ToSettle } from '../../engine.ts'
import type { Blame } from './find-culprit.ts'
import { hasOpenWait } from './worker-deaths.ts'
import { parseReceiveResult } from '../../../store/records/signals.ts'
import { isBodySleep, isRetry, stepKeys, stepPrefix } from '../../../store/journal-keys.ts'
import { failure, internalErrorMessage, type Outcome } from '../../../core/outcome.ts'
import { encode } from '../../../core/tool-value.ts'
import { questionAnswerOf, isDecisionKind } from '../../../store/records/approval-request.ts'
import type { Store } from '../../../store/store.ts'
import type { Logger } from '../../../tools/context/tool-context.ts'
import { decodeResolution } from '../../../store/records/wait-resolution.ts'

export class JournalCache {
  #steps: Map<string, StepRecord> | null
  #waits: Map<string, WaitRecord> | null
  /** Number of attempts that ended in a failure that is retried. */
  retries: number
  /** True for a resumed call, whose journal was loaded. */
  readonly wasLoaded: boolean

  constructor(loaded: { steps?: readonly StepRecord[]; waits?: readonly WaitRecord[] }) {
    this.#steps = loaded.steps ? new Map(loaded.steps.map((step) => [step.key, step])) : null
    this.#waits = loaded.waits ? new Map(loaded.waits.map((wait) => [wait.name, wait])) : null
    this.wasLoaded = loaded.steps !== undefined
    this.retries = loaded.steps?.filter(({ key }) => isRetry(key)).length ?? 0
  }

  step(key: string): StepRecord | undefined {
    return this.#steps?.get(key)
  }

  recordedStep(key: string): StepEnd | null {
    const found = this.step(key)
    return found?.state === 'done' ? { done: found.value as string } : null
  }

  /** Keys of the recorded steps and sleeps of the body. */
  bodySteps(): string[] {
    const keys = [...(this.#steps?.values() ?? [])].flatMap(({ key, state }) => (state === 'done' ? [key] : []))
    return keys.filter((key) => key.startsWith(stepPrefix) || isBodySleep(key))
  }

  /** The recorded end of a step, or null if it must run in `round`. Throws if a `once` step has an unknown end. */
  stepEnd({ key, input, once }: StepSpec, round: number): StepEnd | null {
    const found = this.step(key)
    if (!found) return null
    if (found.input !== input) rejectChangedInput(key, found.input, input)
    if (found.state === 'done') return { done: found.value as string }
    // A failed `once` step may have had its effect, so it never runs again.
    if (found.state === 'failed' && (once || found.round === round)) return { failed: found.value as string }
    if (found.state === 'started' && once)
      throw new PawlError('step_unknown', `The step is '${key}'.`, { details: { step: key, startedAt: found.at } })
    return null
  }

  setStep(step: StepRecord): void {
    this.#steps ??= new Map()
    this.#steps.set(step.key, step)
  }

  wait(name: string): WaitRecord | undefined {
    return this.#waits?.get(name)
  }

  setWait(wait: WaitRecord): void {
    this.#waits ??= new Map()
    this.#waits.set(wait.name, wait)
  }

  setAnswer(name: string, resolution: string): void {
    const wait = this.#waits?.get(name)
    if (wait) this.setWait({ ...wait, resolution })
  }

  get waits(): readonly WaitRecord[] {
    return [...(this.#waits?.values() ?? [])]
  }

  /** Time from which the next attempt may start. */
  get delayedUntil(): number | null {
    const last = this.retries === 0 ? undefined : this.#steps?.get(stepKeys.retry(this.retries))
    return last ? Number(last.value) : null
  }

  isSuspended(now: number): boolean {
    const waits = this.waits.filter(({ name }) => !this.#arrivedBefore(name))
    return hasOpenWait(this.#steps?.values() ?? [], waits, now)
  }

  /** True if the signal arrived before the body asked for it: the body continues although the wait has no answer. */
  #arrivedBefore(wait: string): boolean {
    const mark = this.step(markOfWait(wait) ?? '')?.value
    return typeof mark === 'string' && 'have' in parseReceiveResult(mark)
  }
}

/** Journal of a resumed call; `options` if they are already parsed. */
export interface LoadedJournal {
  readonly options?: CallOptions | null
  readonly steps?: readonly StepRecord[]
  readonly waits?: readonly WaitRecord[]
  readonly landed?: Resolution | null
  /** The lease lapse count when the call was claimed. */
  readonly lapses?: number
  /** Whether the call may have killed its last worker. */
  readonly blame?: Blame
}

/** Encodes the outcome. An outcome that cannot be encoded is recorded as an internal failure. */
export function encodeOutcome({ settle, text }: ToSettle, call: string, logger: Logger): [Outcome['status'], string] {
  try {
    return [settle.status, text ?? encode(settle)]
  } catch (error) {
    logger.error('An outcome could not be encoded; the call settles with an internal error', { call, error })
    return ['failure', encode(failure({ class: 'internal', code: 'value_invalid', message: internalErrorMessage }))]
  }
}

export async function loadJournal(store: Store, { uid, state, wait }: CallRecord): Promise<LoadedJournal> {
  const [steps, waits] = await Promise.all([store.steps(uid), store.waitsOf(uid)])
  const answeredWait = state === 'queued' ? waits.find((each) => each.id === wait) : undefined
  return { steps, waits, landed: answeredWait ? landedResolution(answeredWait) : null }
}

/**
 * The answer that becomes the outcome of a parked call, or null if the call continues with it. A decision about the
 * call lets it continue (waits/approval-waits.ts); an answer to a question is a result.
 */
function landedResolution(wait: WaitRecord): Resolution | null {
  if (wait.resolution === null) return null
  const resolution = decodeResolution(wait.resolution)
  const { asks } = waitTermsOf(wait)
  if (!asks || asks.kind === 'client' || 'cancelled' in resolution)
    return asks && isDecisionKind(asks.kind) ? null : resolution
  return asks.kind === 'question' ? { value: questionAnswerOf(resolution, asks) } : null
}
