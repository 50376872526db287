// What the pipeline answered, as it goes on record; and what is there of a call that is taken up again.

import type { CallOptions, Resolution, StepRecord, WaitRecord } from '../../journal/call-state.ts'
import { failure, internalErrorMessage, type Outcome } from '../../kernel/outcome.ts'
import { encode } from '../../kernel/value.ts'
import type { Logger } from '../../tool/context.ts'
import { outcomeOf } from '../../wait/resolution.ts'
import type { Driven, Stop, ToSettle } from '../engine.ts'

/** Of a call that is taken up again; its options, where they are at hand. */
export interface Known {
  readonly options?: CallOptions | null
  readonly steps?: readonly StepRecord[]
  readonly waits?: readonly WaitRecord[]
  readonly landed?: Resolution | null
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

/** A wait is no result that wins over a cancel: parked, the call would go on for as long as nobody answers. */
export const unlessCancelled = (driven: Driven, stopped: Stop | null): Driven =>
  'park' in driven && stopped && 'cancel' in stopped ? { settle: outcomeOf({ cancelled: stopped.cancel }) } : driven
