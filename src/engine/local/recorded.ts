// What the pipeline answered, as it goes on record.

import { failure, internalErrorMessage, type Outcome } from '../../kernel/outcome.ts'
import { encode } from '../../kernel/value.ts'
import type { Logger } from '../../tool/context.ts'
import type { ToSettle } from '../engine.ts'

/** What is settled must have a recorded form; a failure whose own text has none is still a failure. */
export function recordedForm({ settle, text }: ToSettle, call: string, logger: Logger): [Outcome['status'], string] {
  try {
    return [settle.status, text ?? encode(settle)]
  } catch (error) {
    logger.error('An outcome has no recorded form', { call, error })
    return ['failure', encode(failure({ class: 'internal', code: 'value_invalid', message: internalErrorMessage }))]
  }
}
