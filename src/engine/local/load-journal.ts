// Loads the journal of a call that is resumed, and encodes outcomes for the record. Called by the local engine.

import {
  type CallOptions,
  type CallRecord,
  type Resolution,
  type StepRecord,
  type WaitRecord,
  waitTermsOf,
} from '../../store/records/call-record.ts'
import { failure, internalErrorMessage, type Outcome } from '../../core/outcome.ts'
import { encode } from '../../core/tool-value.ts'
import { questionAnswerOf, isDecisionKind } from '../../store/records/approval-request.ts'
import type { Store } from '../../store/store.ts'
import type { Logger } from '../../tools/context/tool-context.ts'
import { decodeResolution } from '../../store/records/wait-resolution.ts'
import type { ToSettle } from '../engine.ts'

/** Journal of a resumed call; `options` if they are already parsed. */
export interface LoadedJournal {
  readonly options?: CallOptions | null
  readonly steps?: readonly StepRecord[]
  readonly waits?: readonly WaitRecord[]
  readonly landed?: Resolution | null
  /** The lease lapse count when the call was claimed. */
  readonly lapses?: number
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
