// Failure outcomes of a turn. The messages contain no internal details.

import { failure, type Outcome } from '../core/outcome.ts'
import type { ModelFailure } from '../models/model.ts'

export const tooManyAnswers = (steps: number): Outcome =>
  failure({
    class: 'resource_limit',
    code: 'turn_limit',
    message: `The turn ended after ${steps} answers of the model, as many as it may have.`,
  })

export const tooManyInvalidCalls = (times: number): Outcome =>
  failure({
    class: 'resource_limit',
    code: 'turn_invalid_calls',
    message: `The model asked ${times} times in a row for calls that could not be made; the turn was ended.`,
  })

export const noSuchFrame = (name: string): Outcome =>
  failure({
    class: 'unavailable',
    code: 'frame_unknown',
    message: `The turn cannot switch to the frame '${name}', which does not exist.`,
  })

export const nothingToAnswer = (): Outcome =>
  failure({
    class: 'invalid_request',
    code: 'turn_empty',
    message: 'There is no new input for the model to answer.',
  })

export const compactionFailed = ({ message }: Error): Outcome =>
  failure({ class: 'internal', code: 'compaction_failed', message: `The compaction function failed: ${message}.` })

export const modelFailed = (model: string, { what, retryable }: ModelFailure): Outcome =>
  failure({
    class: 'external',
    code: 'model_failed',
    message: `The model '${model}' could not answer: ${what}.`,
    retry: retryable ? { when: 'safe' } : { when: 'never' },
  })
