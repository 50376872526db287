// Answers to waits: validation, encoding, and the outcome they give the call. Falsy values are valid answers.

import { option, optionProblem, type OptionTable } from '../../core/check-options.ts'
import { asSentence } from '../../core/errors.ts'
import { failure, type Outcome } from '../../core/outcome.ts'
import { utf8Bytes, fits } from '../../core/size-limits.ts'
import { decode, encode, type Json } from '../../core/tool-value.ts'
import { type Resolution, type WaitRecord, waitTermsOf } from './call-record.ts'

/** An answer as the resolver sends it. Timeouts come from the clock only. */
export type Answer = { readonly value: unknown } | { readonly failure: AnswerFailure } | { readonly cancelled: string }

interface AnswerFailure {
  readonly code: string
  readonly message: string
}

export const answerOptions = {
  value: option.anything,
  failure: option.nested({
    code: option.required(option.nonEmptyString),
    message: option.required(option.string),
  } satisfies OptionTable<AnswerFailure>),
  cancelled: option.string,
} satisfies OptionTable<Answer>

/**
 * Validates an external answer: exactly one kind, with the right shape and size. Values are escaped by encode(),
 * never decoded.
 */
export function parseAnswer(answer: unknown, maxBytes: number): Resolution | { readonly problems: readonly string[] } {
  const usage = 'Send { value }, { failure: { code, message } } or { cancelled: reason }'
  const invalid = (why: string): { problems: string[] } => ({
    problems: [`${asSentence(why)} ${usage}; the wait is still open.`],
  })
  const checkSize = (resolution: Resolution): Resolution | { problems: string[] } => {
    const text = encode(resolution)
    return fits(text, maxBytes)
      ? resolution
      : invalid(`The answer has ${utf8Bytes(text)} bytes; the limit is ${maxBytes}`)
  }
  const problem = optionProblem(answer, answerOptions, 'resolve()')
  if (problem !== undefined) return invalid(problem)
  const given = answer as { value?: unknown; failure?: AnswerFailure; cancelled?: string }
  const kinds = Object.keys(answerOptions).filter((kind) => Object.hasOwn(given, kind))
  if (kinds.length !== 1)
    return invalid(
      kinds.length === 0
        ? 'The answer has no value, failure or cancelled'
        : `The answer has ${kinds.join(' and ')}; only one is allowed`,
    )
  const { value, failure: failed, cancelled } = given
  // Falsy values are values; undefined is not, because JSON has no form for it.
  if (value === undefined && failed === undefined && cancelled === undefined)
    return invalid(`\`${kinds[0]}\` is undefined, which JSON cannot hold`)
  try {
    if (failed) return checkSize({ failure: { code: failed.code, message: failed.message } })
    return checkSize(cancelled === undefined ? { value } : { cancelled })
  } catch (error) {
    return invalid(`The value cannot be recorded: ${(error as Error).message}`)
  }
}

interface CancelMarks {
  readonly withCall?: true
  readonly withParent?: true
}
interface CancelOfCall {
  readonly reason: string
  /** Cancelled with an attempt of its parent (`CancelReason` of the engine). */
  readonly withParent?: true
}

export const encodeResolution = (resolution: Resolution): string => encode(resolution)
export function decodeResolution(text: string): Resolution {
  const { withCall: _, withParent: __, ...resolution } = decode(text) as unknown as Resolution & CancelMarks
  return resolution
}

/**
 * Answer of a wait that ends because its call is cancelled. It also proves the cancel if the cancel itself was not
 * recorded.
 */
export const encodeCancelOfCall = ({ reason, withParent }: CancelOfCall): string =>
  encode({ cancelled: reason, withCall: true, ...(withParent ? { withParent } : {}) })
export function cancelOfCall({ resolution }: Pick<WaitRecord, 'resolution'>): CancelOfCall | null {
  const { cancelled, withCall, withParent } = (resolution === null ? {} : decode(resolution)) as {
    cancelled?: string
  } & CancelMarks
  return withCall && cancelled !== undefined ? { reason: cancelled, ...(withParent ? { withParent } : {}) } : null
}

/** The answer given when the deadline passes. */
export const timeoutResolution = (wait: Pick<WaitRecord, 'terms'>): Resolution =>
  waitTermsOf(wait).onTimeout === 'fail' ? { timeout: true, failsTurn: true } : { timeout: true }

export type ResolutionKind = 'value' | 'failure' | 'cancelled' | 'timeout'
export const resolutionKind = (resolution: Resolution): ResolutionKind =>
  'value' in resolution
    ? 'value'
    : 'failure' in resolution
      ? 'failure'
      : 'cancelled' in resolution
        ? 'cancelled'
        : 'timeout'

/** Outcome of a call that was parked on the wait, or whose body did not catch the WaitError. */
export function outcomeOf(resolution: Resolution): Outcome {
  if ('value' in resolution) return { status: 'success', value: resolution.value as Json }
  if ('failure' in resolution) return failure({ class: 'external', ...resolution.failure, source: 'tool' })
  if ('cancelled' in resolution) {
    return { status: 'cancelled', cancellation: { message: resolution.cancelled, source: 'cancellation' } }
  }
  const message = 'No answer arrived before the deadline'
  return resolution.failsTurn
    ? failure({
        class: 'timeout',
        code: 'turn_aborted',
        message: `${message}, and without an answer the turn cannot go on`,
      })
    : failure({ class: 'timeout', code: 'wait_timeout', message })
}

/**
 * Thrown by `await later.value` if the answer is not a value. If uncaught, it becomes the outcome of the call, not an
 * internal failure.
 */
export class WaitError extends Error {
  override readonly name = 'WaitError'
  /** `wait_timeout`, `wait_cancelled`, or the resolver's own code. */
  readonly code: string
  /** How the wait ended: a failure or a cancellation. */
  readonly outcome: Outcome

  constructor(resolution: Exclude<Resolution, { value: unknown }>) {
    const outcome = outcomeOf(resolution)
    super(
      outcome.status === 'failure'
        ? outcome.failure.message
        : outcome.status === 'cancelled'
          ? outcome.cancellation.message
          : '',
    )
    this.outcome = outcome
    this.code =
      'failure' in resolution ? resolution.failure.code : 'timeout' in resolution ? 'wait_timeout' : 'wait_cancelled'
  }
}
