// What may answer a wait, and what an answer means for the call (WAIT-2, WAIT-6: falsy values are values).

import { failure, type Outcome } from '../../core/outcome.ts'
import { bytesIn, fits } from '../../core/size-limits.ts'
import { decode, encode, type Json } from '../../core/value.ts'
import { type Resolution, type WaitRecord, waitTermsOf } from './call-record.ts'

/** What a resolver may send; a timeout is the clock's to say. */
export type Answer =
  | { readonly value: unknown }
  | { readonly failure: { readonly code: string; readonly message: string } }
  | { readonly cancelled: string }

/** Checks an answer from outside: exactly one kind, of the right shape and size. Values are escaped by encode(), never decoded. */
export function checkedAnswer(
  answer: unknown,
  mostBytes: number,
): Resolution | { readonly problems: readonly string[] } {
  const how = 'Send { value }, { failure: { code, message } } or { cancelled: reason }'
  const wrong = (why: string): { problems: string[] } => ({ problems: [`${why}. ${how}; the wait is still open.`] })
  const within = (resolution: Resolution): Resolution | { problems: string[] } => {
    const text = encode(resolution)
    return fits(text, mostBytes)
      ? resolution
      : wrong(`The answer has ${bytesIn(text)} bytes; at most ${mostBytes} are taken`)
  }
  if (typeof answer !== 'object' || answer === null) return wrong('Something else came')
  const given = answer as Record<string, unknown>
  const kinds = ['value', 'failure', 'cancelled'].filter((kind) => Object.hasOwn(given, kind))
  if (kinds.length !== 1)
    return wrong(kinds.length === 0 ? 'None of them came' : `${kinds.join(' and ')} came together`)
  if (kinds[0] === 'value') {
    const { value = null } = given
    try {
      return within({ value })
    } catch (error) {
      return wrong(`The value cannot be recorded: ${(error as Error).message}`)
    }
  }
  if (kinds[0] === 'cancelled') {
    return typeof given.cancelled === 'string'
      ? within({ cancelled: given.cancelled })
      : wrong('cancelled must be the reason, a string')
  }
  const { code, message } = (given.failure ?? {}) as Record<string, unknown>
  if (typeof code !== 'string' || code === '' || typeof message !== 'string') {
    return wrong('failure must be { code, message }, two strings')
  }
  return within({ failure: { code, message } })
}

export const encodeResolution = (resolution: Resolution): string => encode(resolution)
export function decodeResolution(text: string): Resolution {
  const { withCall: _, ...resolution } = decode(text) as unknown as Resolution & { withCall?: true }
  return resolution
}

/** A wait that ends because its call is cancelled. Should the cancel itself not have come on record, this tells of it. */
export const encodeCancelOfCall = (reason: string): string => encode({ cancelled: reason, withCall: true })
export function cancelOfCall({ resolution }: Pick<WaitRecord, 'resolution'>): string | null {
  const { cancelled, withCall } = (resolution === null ? {} : decode(resolution)) as {
    cancelled?: string
    withCall?: true
  }
  return withCall ? (cancelled ?? null) : null
}

/** What the clock answers. */
export const timedOut = (wait: Pick<WaitRecord, 'terms'>): Resolution =>
  waitTermsOf(wait).onTimeout === 'fail' ? { timeout: true, failsTurn: true } : { timeout: true }

export type ResolutionKind = 'value' | 'failure' | 'cancelled' | 'timeout'
export const kindOf = (resolution: Resolution): ResolutionKind =>
  'value' in resolution
    ? 'value'
    : 'failure' in resolution
      ? 'failure'
      : 'cancelled' in resolution
        ? 'cancelled'
        : 'timeout'

/** The outcome of a call that was parked on the wait, or whose body did not catch what the wait threw. */
export function outcomeOf(resolution: Resolution): Outcome {
  if ('value' in resolution) return { status: 'success', value: resolution.value as Json }
  if ('failure' in resolution) return failure({ class: 'external', ...resolution.failure, source: 'tool' })
  if ('cancelled' in resolution) {
    return { status: 'cancelled', cancellation: { message: resolution.cancelled, source: 'cancellation' } }
  }
  const message = 'Nobody answered before the deadline'
  return resolution.failsTurn
    ? failure({
        class: 'timeout',
        code: 'turn_aborted',
        message: `${message}, and without an answer the turn cannot go on`,
      })
    : failure({ class: 'timeout', code: 'wait_timeout', message })
}

/** What `await later.value` throws when the answer is not a value. Uncaught, it becomes that outcome, not an internal one. */
export class WaitError extends Error {
  override readonly name = 'WaitError'
  /** `wait_timeout`, `wait_cancelled`, or the resolver's own code. */
  readonly code: string
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
