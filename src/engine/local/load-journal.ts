// What the pipeline answered, as it goes on record; and what is there of a call that is taken up again.

import {
  type CallOptions,
  type CallRecord,
  type Resolution,
  type StepRecord,
  type WaitRecord,
  waitTermsOf,
} from '../../store/records/call-record.ts'
import { failure, internalErrorMessage, type Outcome } from '../../core/outcome.ts'
import { encode } from '../../core/value.ts'
import { answeredOf, isWord } from '../../store/records/approval-request.ts'
import type { Store } from '../../store/store.ts'
import type { Logger } from '../../tools/context/context.ts'
import { decodeResolution } from '../../store/records/resolution.ts'
import type { ToSettle } from '../engine.ts'

/** Of a call that is taken up again; its options, where they are at hand. */
export interface Read {
  readonly options?: CallOptions | null
  readonly steps?: readonly StepRecord[]
  readonly waits?: readonly WaitRecord[]
  readonly landed?: Resolution | null
  /** The lapse of the lease at which it was claimed. */
  readonly lapses?: number
}

/** What is settled must have a recorded form; a failure whose own text has none is still a failure. */
export function recordedForm({ settle, text }: ToSettle, call: string, logger: Logger): [Outcome['status'], string] {
  try {
    return [settle.status, text ?? encode(settle)]
  } catch (error) {
    logger.error('An outcome has no recorded form', { call, error })
    return ['failure', encode(failure({ class: 'internal', code: 'value_invalid', message: internalErrorMessage }))]
  }
}

export async function journalOf(store: Store, { uid, state, wait }: CallRecord): Promise<Read> {
  const [steps, waits] = await Promise.all([store.steps(uid), store.waitsOf(uid)])
  const answered = state === 'queued' ? waits.find((each) => each.id === wait) : undefined
  return { steps, waits, landed: answered ? landedOf(answered) : null }
}

/** A word of somebody who was asked is no result: the call goes on with it (engine/local/waits/approval-waits.ts). What they answered to a question is one. */
function landedOf(wait: WaitRecord): Resolution | null {
  if (wait.resolution === null) return null
  const resolution = decodeResolution(wait.resolution)
  const { asks } = waitTermsOf(wait)
  if (!asks || asks.kind === 'client' || 'cancelled' in resolution) return asks && isWord(asks.kind) ? null : resolution
  return asks.kind === 'question' ? { value: answeredOf(resolution, asks) } : null
}
