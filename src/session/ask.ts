// What is asked and what comes back: one call of a model, checked before anything is recorded.

import type { ModelPart } from '../call/project.ts'
import type { Duration } from '../kernel/duration.ts'
import { PawlError } from '../kernel/errors.ts'
import type { Outcome } from '../kernel/outcome.ts'
import type { Json } from '../kernel/value.ts'
import { type Clocks, clocksOf } from '../tool/terms.ts'

export interface CallAsk {
  /** The model's id of the call. */
  readonly id: string
  readonly name: string
  /** An object, or the model's JSON text. Left out or empty it means {}. */
  readonly input?: unknown
  /** Opaque; comes back on the outcome. */
  readonly meta?: Json
  /** Clocks of this call, before those of its tool. */
  readonly timeout?: Duration | Clocks
  /** An instant (milliseconds since 1970, or a Date) after which it is too late. */
  readonly deadline?: number | Date
  /** Names the call instead of batch and id: the same key is the same call, wherever in the session it is asked. */
  readonly idempotencyKey?: string
}

/** How a call ended, with what the model reads of it. */
export type CallOutcome<T = Json> = Outcome<T> & {
  readonly callId: string
  readonly name: string
  /** How many times the body was begun. */
  readonly attempts: number
  /** What the model reads. */
  readonly parts: readonly ModelPart[]
  readonly meta?: Json
}

export const longestName = 512

/** Names of ours are kept in indexes and in several databases: not too long, and nothing they cannot hold. */
export const isName = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= longestName && value.isWellFormed() && !value.includes('\0')

export function checkAsk(call: CallAsk): void {
  const wrong = (why: string): never => {
    throw new PawlError('call_invalid', `${why}.`)
  }
  if (typeof call !== 'object' || call === null) wrong(`It is ${JSON.stringify(call)}`)
  for (const field of ['id', 'name'] as const) {
    const value = call[field]
    if (typeof value !== 'string' || value === '') wrong(`Its ${field} is ${JSON.stringify(value)}`)
    if (value.length > longestName) wrong(`Its ${field} has ${value.length} characters; ${longestName} are allowed`)
    if (!value.isWellFormed() || value.includes('\0')) wrong(`Its ${field} holds a lone surrogate or a NUL`)
  }
  if (call.deadline !== undefined && !Number.isFinite(Number(call.deadline))) wrong('Its deadline is not an instant')
  clocksOf(call.timeout, wrong)
}

export const clockValues = (timeout: Duration | Clocks): Clocks => (typeof timeout === 'object' ? timeout : { attempt: timeout })
