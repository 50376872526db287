// The outcome of a call, and the errors that tool authors throw to declare one: fail() and retry().
//
// A call has one settled outcome, which is written once and never changed. `unknown` means that the body had started,
// its worker died, and the body must not run again.

import { checkOptions, option, type OptionTable } from './check-options.ts'
import { systemClock } from './clock.ts'
import { type Duration, milliseconds } from './duration.ts'
import { type Attachment, isAttachment, type Json } from './tool-value.ts'

const classes = [
  'invalid_request',
  'unavailable',
  'permission_denied',
  'timeout',
  'execution',
  'external',
  'resource_limit',
  'internal',
] as const
/** The kind of a failure. */
export type FailureClass = (typeof classes)[number]

/** Where a failure or cancellation came from. */
export type OutcomeSource = 'runtime' | 'tool' | 'hook' | 'policy' | 'cancellation'

/** Whether a failed call may be asked for again: never, safely (after a delay), or all attempts are used up. */
export type RetryAdvice =
  | { when: 'never' }
  | { when: 'safe'; afterMs?: number }
  | { when: 'exhausted'; attempts: number }

/** Why a call failed. */
export interface Failure {
  /** The kind of failure, for programs that handle kinds alike. */
  readonly class: FailureClass
  /** Stable code for programs. */
  readonly code: string
  /** Shown to the model, which can correct its call if it understands the problem. */
  readonly message: string
  /** Where the failure came from. */
  readonly source: OutcomeSource
  /** Whether asking again can help. */
  readonly retry: RetryAdvice
  /** Stored for operators and programs, never shown to the model as text. */
  readonly raw?: Json
  /** The body did not stop in time and may still have effects. */
  readonly mayStillRun?: boolean
}

/** Why a call was cancelled. */
export interface Cancellation {
  /** The reason, as the model reads it. */
  readonly message: string
  /** Where the cancellation came from. */
  readonly source: OutcomeSource
  /** Stored for operators and programs, never shown to the model as text. */
  readonly raw?: Json
  /** The body did not stop in time and may still have effects. */
  readonly mayStillRun?: boolean
  /** A nested call that was cancelled with an attempt of its parent. The parent's next attempt runs it again. */
  readonly withParent?: true
}

/** An interrupted attempt whose effect is not known. */
export interface Unknown {
  /** What is not known and what to do, as the model reads it. */
  readonly message: string
  /** Start of the interrupted attempt, in milliseconds since 1970. */
  readonly startedAt: number
  /** Recorded facts about the interrupted attempt. */
  readonly evidence: Json
}

/** An instruction to the turn, which a tool may return together with a success. */
export type Control =
  | { readonly finish: Json }
  | { readonly fail: Failure }
  | { readonly switchFrame: { readonly frame: string; readonly initial?: Json; readonly task?: string } }

/** How a call ended: success, failure, cancelled, or unknown if its worker died at a point where nobody can tell. */
export type Outcome<T = Json> = {
  /** Shown to the model if people changed the arguments of the call or answered in its place. */
  readonly note?: string
  /** Total cost of its attempts as reported by the tool, in the tool's unit. */
  readonly cost?: number
} & (
  | {
      readonly status: 'success'
      readonly value: T
      readonly raw?: Json
      /** Files that the model gets after the value. */
      readonly attachments?: readonly Attachment[]
      readonly summary?: string
      readonly control?: Control
      /** The tool shows secrets on purpose. Only the model sees them; all other views are redacted. */
      readonly reveals?: true
    }
  | { readonly status: 'failure'; readonly failure: Failure }
  | { readonly status: 'cancelled'; readonly cancellation: Cancellation }
  | { readonly status: 'unknown'; readonly unknown: Unknown }
)

/** How a call ended. */
export type OutcomeStatus = Outcome['status']
export const outcomeStatuses: readonly OutcomeStatus[] = ['success', 'failure', 'cancelled', 'unknown']

export function withoutReveals(outcome: Outcome): Outcome {
  if (outcome.status !== 'success' || outcome.reveals === undefined) return outcome
  const { reveals: _, ...rest } = outcome
  return rest
}

export const revealsSecrets = (outcome: Outcome<unknown>): boolean =>
  outcome.status === 'success' && outcome.reveals === true

/** The message of every error that the tool did not declare. Only operators see the cause (diagnostics). */
export const internalErrorMessage = 'An internal error occurred while executing the tool'

type FailureInput = Partial<Failure> & Pick<Failure, 'class' | 'code' | 'message'>

/** A failure with defaults: source 'runtime', never retried. */
export function failure(about: FailureInput): Extract<Outcome, { status: 'failure' }> {
  return { status: 'failure', failure: { source: 'runtime', retry: { when: 'never' }, ...about } }
}

/**
 * The failure if it also ends the batch and the turn: from a hook, or a wait with onTimeout 'fail'. Never from a tool.
 */
export const abortsTurn = (outcome: Outcome<unknown>): Failure | null =>
  outcome.status === 'failure' && outcome.failure.source !== 'tool' && outcome.failure.code === 'turn_aborted'
    ? outcome.failure
    : null

/** The error made by fail() and retry(). The model reads its message; any other error of a body stays internal. */
export class ToolFailure extends Error {
  override readonly name = 'ToolFailure'
  /** The declared failure. */
  readonly failure: Failure
  /** Cost of the failed attempt. */
  readonly cost: number | undefined
  constructor(about: Failure, options: { cause?: unknown; cost?: number } = {}) {
    super(about.message, options.cause === undefined ? {} : { cause: options.cause })
    this.failure = about
    this.cost = options.cost
  }
}

/** Options of fail(). */
export interface FailOptions {
  /** Stable code for programs. Default: 'tool_error'. */
  code?: string
  /** The kind of failure. Default: 'execution'. */
  class?: FailureClass
  /** Stored for operators and programs, never shown to the model as text. */
  raw?: Json
  /** The error behind it, for the log. */
  cause?: unknown
  /** Cost of the failed attempt, charged to the budgets: a finite number, at least 0. */
  cost?: number
}

export const failOptions = {
  code: option.nonEmptyString,
  class: option.oneOf(...classes),
  raw: option.anything,
  cause: option.anything,
  cost: option.nonNegativeNumber,
} satisfies OptionTable<FailOptions>

/** Fails the call with a message for the model: `throw fail('No such order', { code: 'not_found' })`. */
export function fail(message: string, options: FailOptions = {}): ToolFailure {
  checkOptions(options, failOptions, 'fail()', 'value_invalid')
  return createToolFailure(message, options, { when: 'never' })
}

/** Options of retry(). */
export interface RetryOptions extends FailOptions {
  /** What the model reads after the last attempt. Default: 'The tool could not do it now'. */
  message?: string
  /** Delay before the next attempt. Default: the backoff of the tool's retry policy. */
  after?: Duration
}

export const retryOptions = {
  ...failOptions,
  message: option.string,
  after: option.duration,
} satisfies OptionTable<RetryOptions>

/**
 * Fails the attempt so that it is retried: `throw retry({ after: '2s' })`. After the last attempt the model reads the
 * message.
 */
export function retry(options: RetryOptions = {}): ToolFailure {
  checkOptions(options, retryOptions, 'retry()', 'value_invalid')
  const message = options.message ?? 'The tool could not do it now'
  const afterMs = options.after === undefined ? {} : { afterMs: milliseconds(options.after, 'after') }
  return createToolFailure(
    message,
    { class: 'unavailable', code: 'try_again', ...options },
    { when: 'safe', ...afterMs },
  )
}

/** The error made by effectUnknown(). */
export class EffectUnknown extends Error {
  override readonly name = 'EffectUnknown'
  /** The recorded object. */
  readonly unknown: Unknown
  constructor(unknown: Unknown) {
    super(unknown.message)
    this.unknown = unknown
  }
}

/** Options of effectUnknown(). */
export interface EffectUnknownOptions {
  /** When the request that may have had an effect was sent, in milliseconds since 1970. Default: now. */
  readonly startedAt?: number
  /** Facts for the person who checks. */
  readonly evidence?: Json
}

export const effectUnknownOptions = {
  startedAt: option.nonNegativeNumber,
  evidence: option.anything,
} satisfies OptionTable<EffectUnknownOptions>

/**
 * Ends the call with the outcome `unknown`: the body sent a request and cannot find out whether it took effect. The
 * call is not retried. `throw effectUnknown('The bank did not answer. Check the account before you ask again.')`
 */
export function effectUnknown(message: string, options: EffectUnknownOptions = {}): EffectUnknown {
  checkOptions(options, effectUnknownOptions, 'effectUnknown()', 'value_invalid')
  const { startedAt = systemClock.now(), evidence = null } = options
  const text = typeof message === 'string' ? message.toWellFormed() : 'It is not known whether the call took effect.'
  return new EffectUnknown({ message: text, startedAt, evidence })
}

/** Used if fail() was called without a string as message. */
const defaultMessage = 'The tool failed without saying why'

function createToolFailure(message: unknown, options: FailOptions, retryAdvice: RetryAdvice): ToolFailure {
  const { class: kind = 'execution', code = 'tool_error', raw, cost } = options
  // JavaScript callers may pass anything, often an Error as message. Its text is not meant for the model.
  const about = {
    class: kind,
    code: code.toWellFormed(),
    message: typeof message === 'string' ? message.toWellFormed() : defaultMessage,
    source: 'tool' as const,
    retry: retryAdvice,
    ...(raw === undefined ? {} : { raw }),
  }
  const cause = options.cause ?? (typeof message === 'string' ? undefined : message)
  return new ToolFailure(failure(about).failure, {
    ...(cause === undefined ? {} : { cause }),
    ...(cost === undefined ? {} : { cost }),
  })
}

const isClass = (value: unknown): value is FailureClass => classes.includes(value as FailureClass)
const isNonEmptyString = (value: unknown): value is string => typeof value === 'string' && value !== ''
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isFailure = (value: unknown): value is Failure =>
  isRecord(value) && isClass(value.class) && isNonEmptyString(value.code) && typeof value.message === 'string'

/** Exactly one of the three forms, with its required fields. */
export function isControl(value: unknown): value is Control {
  if (!isRecord(value) || Object.keys(value).length !== 1) return false
  if (Object.hasOwn(value, 'finish')) return true
  if (Object.hasOwn(value, 'fail')) return isFailure(value.fail)
  return isRecord(value.switchFrame) && isNonEmptyString(value.switchFrame.frame)
}

const isAttachmentList = (value: unknown): value is readonly Attachment[] =>
  Array.isArray(value) && value.length > 0 && value.every(isAttachment)

/** The outcome that a hook returned as JSON, with defaults filled in; undefined if it is not an outcome. */
export function parseOutcome(given: Json): Outcome | undefined {
  if (!isRecord(given)) return undefined
  const { status, value = null, control, summary, attachments } = given
  switch (status) {
    case 'success':
      if ((control !== undefined && !isControl(control)) || (summary !== undefined && typeof summary !== 'string'))
        return undefined
      // Unknown fields are dropped.
      return {
        status,
        value,
        ...(given.raw === undefined ? {} : { raw: given.raw }),
        ...(control === undefined ? {} : { control }),
        ...(isAttachmentList(attachments) ? { attachments } : {}),
        ...(summary === undefined ? {} : { summary }),
      }
    case 'failure':
      return isFailure(given.failure) ? failure({ source: 'hook', ...(given.failure as FailureInput) }) : undefined
    case 'cancelled': {
      const about = given.cancellation
      return isRecord(about) && typeof about.message === 'string'
        ? {
            status,
            cancellation: { ...about, message: about.message, source: (about.source ?? 'hook') as OutcomeSource },
          }
        : undefined
    }
    case 'unknown': {
      const about = given.unknown
      return isRecord(about) && typeof about.message === 'string' && typeof about.startedAt === 'number'
        ? { status, unknown: { message: about.message, startedAt: about.startedAt, evidence: about.evidence ?? null } }
        : undefined
    }
    default:
      return undefined
  }
}
