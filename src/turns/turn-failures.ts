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

export const noToolToCall = (name: string | null): Outcome =>
  failure({
    class: 'unavailable',
    code: 'tool_unavailable',
    message:
      name === null
        ? '`toolChoice` of the turn requires a call, but the model has no tools.'
        : `\`toolChoice\` of the turn requires a call of '${name}', which the model does not have.`,
  })

/** `problems`: what is wrong with the last answer. */
export const outputInvalid = (problems: string): Outcome =>
  failure({
    class: 'external',
    code: 'output_invalid',
    message: `The answer of the model does not match the \`output\` schema of the turn:\n${problems}`,
    retry: { when: 'safe' },
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
