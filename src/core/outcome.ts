// WORDS: how a call ends (VAL-2), and what a tool author throws to say so.
//
// One settled outcome per call, written once, never changed. `unknown` is honest: the body had started, the worker died,
// and nobody may run it again.

import { type Duration, milliseconds } from './duration.ts'
import { PawlError } from './errors.ts'
import type { Json } from './value.ts'

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
export type FailureClass = (typeof classes)[number]

export type OutcomeSource = 'runtime' | 'tool' | 'hook' | 'policy' | 'cancellation'

export type RetryAdvice =
  | { when: 'never' }
  | { when: 'safe'; afterMs?: number }
  | { when: 'exhausted'; attempts: number }

export interface Failure {
  readonly class: FailureClass
  /** Stable, for programs. */
  readonly code: string
  /** For the model, which can mend what it understands. */
  readonly message: string
  readonly source: OutcomeSource
  readonly retry: RetryAdvice
  /** Kept for people, never shown to the model as text. */
  readonly raw?: Json
  readonly mayStillRun?: boolean
}

export interface Cancellation {
  readonly message: string
  readonly source: OutcomeSource
  readonly raw?: Json
  readonly mayStillRun?: boolean
}

export interface Unknown {
  readonly message: string
  /** When the attempt began whose end nobody saw; milliseconds since 1970. */
  readonly startedAt: number
  /** What is on record about it. */
  readonly evidence: Json
}

/** What a tool may ask of the turn it runs in, together with a success (VAL-6). */
export type Control =
  | { readonly finish: Json }
  | { readonly fail: Failure }
  | { readonly switchFrame: { readonly frame: string; readonly initial?: Json; readonly task?: string } }

export type Outcome<T = Json> = {
  /** What people did with the call, for the model: they changed its arguments, or answered instead of it. */
  readonly note?: string
  /** What its attempts cost by what the tool said, in the tool's unit. */
  readonly cost?: number
} & (
  | {
      readonly status: 'success'
      readonly value: T
      readonly raw?: Json
      readonly summary?: string
      readonly control?: Control
      /** The tool shows secrets on purpose, to the model and to nobody else (BOX-5). */
      readonly reveals?: true
    }
  | { readonly status: 'failure'; readonly failure: Failure }
  | { readonly status: 'cancelled'; readonly cancellation: Cancellation }
  | { readonly status: 'unknown'; readonly unknown: Unknown }
)

export type OutcomeStatus = Outcome['status']

export function notRevealing(outcome: Outcome): Outcome {
  if (outcome.status !== 'success' || outcome.reveals === undefined) return outcome
  const { reveals: _, ...rest } = outcome
  return rest
}

export const isRevealing = (outcome: Outcome<unknown>): boolean =>
  outcome.status === 'success' && outcome.reveals === true

/** The only sentence anyone but the operator reads about an error that the tool did not declare (VAL-4). */
export const internalErrorMessage = 'An internal error occurred while executing the tool'

type Needed = Partial<Failure> & Pick<Failure, 'class' | 'code' | 'message'>

/** A failure with everything that is not said filled in. */
export function failure(about: Needed): Extract<Outcome, { status: 'failure' }> {
  return { status: 'failure', failure: { source: 'runtime', retry: { when: 'never' }, ...about } }
}

/** What ends more than its call, the batch and with it the turn: a hook's word (CALL-8), or a wait that must not time out (WAIT-4). No tool's. */
export const abortsTurn = (outcome: Outcome<unknown>): Failure | null =>
  outcome.status === 'failure' && outcome.failure.source !== 'tool' && outcome.failure.code === 'turn_aborted'
    ? outcome.failure
    : null

/** What fail() throws. The model reads its message; everything else a body throws is internal. */
export class ToolFailure extends Error {
  override readonly name = 'ToolFailure'
  readonly failure: Failure
  /** What it cost all the same. */
  readonly cost: number | undefined
  constructor(about: Failure, options: { cause?: unknown; cost?: number } = {}) {
    super(about.message, options.cause === undefined ? {} : { cause: options.cause })
    this.failure = about
    this.cost = options.cost
  }
}

export interface FailOptions {
  code?: string
  class?: FailureClass
  raw?: Json
  cause?: unknown
  /** What it cost all the same: a number from 0 on, charged to the budgets. */
  cost?: number
}

/** Says what went wrong, in words the model may read: `throw fail('No such order', { code: 'not_found' })`. */
export function fail(message: string, options: FailOptions = {}): ToolFailure {
  return declared(message, options, { when: 'never' })
}

export interface RetryOptions extends FailOptions {
  message?: string
  /** How long to wait before the next try; the runtime's own backoff if not said. */
  after?: Duration
}

/** Says that it is safe to try again: `throw retry({ after: '2s' })`. After the last try the model reads the message. */
export function retry(options: RetryOptions = {}): ToolFailure {
  const message = options.message ?? 'The tool could not do it now'
  const afterMs = options.after === undefined ? {} : { afterMs: milliseconds(options.after, 'after') }
  return declared(message, { class: 'unavailable', code: 'try_again', ...options }, { when: 'safe', ...afterMs })
}

/** What the model reads of a failure that does not say what it was. */
const unsaid = 'The tool failed without saying why'

function declared(message: unknown, options: FailOptions, again: RetryAdvice): ToolFailure {
  const { class: kind, code, raw, cost } = options
  if (cost !== undefined && !isCost(cost)) throw new PawlError('value_invalid', `The cost of a failure ${badCost}`)
  // JavaScript may hand over anything, most often an error as the message; what that says is not for the model.
  const about = {
    class: isClass(kind) ? kind : 'execution',
    code: isText(code) ? code.toWellFormed() : 'tool_error',
    message: typeof message === 'string' ? message.toWellFormed() : unsaid,
    source: 'tool' as const,
    retry: again,
    ...(raw === undefined ? {} : { raw }),
  }
  const cause = options.cause ?? (typeof message === 'string' ? undefined : message)
  return new ToolFailure(failure(about).failure, {
    ...(cause === undefined ? {} : { cause }),
    ...(cost === undefined ? {} : { cost }),
  })
}

export const isCost = (value: unknown): value is number =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0
export const badCost = 'must be a finite number from 0 on.'

const isClass = (value: unknown): value is FailureClass => classes.includes(value as FailureClass)
const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isFailure = (value: unknown): value is Failure =>
  isRecord(value) && isClass(value.class) && isText(value.code) && typeof value.message === 'string'

/** Exactly one of the three, with what it needs. */
export function isControl(value: unknown): value is Control {
  if (!isRecord(value) || Object.keys(value).length !== 1) return false
  if (Object.hasOwn(value, 'finish')) return true
  if (Object.hasOwn(value, 'fail')) return isFailure(value.fail)
  return isRecord(value.switchFrame) && isText(value.switchFrame.frame)
}

/** The outcome that a recorded form from the host stands for, with what it left out; undefined if it is none. */
export function checkedOutcome(given: Json): Outcome | undefined {
  if (!isRecord(given)) return undefined
  const { status, value = null, control, summary } = given
  switch (status) {
    case 'success':
      if ((control !== undefined && !isControl(control)) || (summary !== undefined && typeof summary !== 'string'))
        return undefined
      // What it has besides is nothing that an outcome has.
      return {
        status,
        value,
        ...(given.raw === undefined ? {} : { raw: given.raw }),
        ...(control === undefined ? {} : { control }),
        ...(summary === undefined ? {} : { summary }),
      }
    case 'failure':
      return isFailure(given.failure) ? failure({ source: 'hook', ...(given.failure as Needed) }) : undefined
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
