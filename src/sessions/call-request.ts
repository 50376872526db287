// Public types of a call request and its outcome, and the checks made before anything is recorded.

import { optionProblem } from '../core/check-options.ts'
import { similarNames } from '../core/similar-names.ts'
import type { ModelPart } from '../models/outcome-to-model-parts.ts'
import type { AskKind } from '../store/records/approval-wait-terms.ts'
import type { CallPosition } from '../store/records/call-record.ts'
import type { CallTimes } from '../store/records/call-times.ts'
import type { Duration } from '../core/duration.ts'
import { asSentence, PawlError } from '../core/errors.ts'
import { lengthPrefixed, maxNameLength } from '../core/ids.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Json } from '../core/tool-value.ts'
import { timeoutOption, type Timeouts } from '../tools/tool-options.ts'
import { isReserved, nestedBatchPrefix, reservedPrefix } from '../store/journal-keys.ts'

/** A call as a model asks for it. */
export interface CallAsk {
  /** The model's id of the call. */
  readonly id: string
  /** Name of the tool. */
  readonly name: string
  /** An object, or the model's JSON text. Default: {}. */
  readonly input?: unknown
  /** Opaque JSON value, returned with the outcome. */
  readonly meta?: Json
  /** Timeouts of this call; they override those of the tool. */
  readonly timeout?: Duration | Timeouts
  /** Point in time (milliseconds since 1970, or a Date) after which the call times out. */
  readonly deadline?: number | Date
  /** Identifies the call instead of batch and id: equal keys in one session are the same call. */
  readonly idempotencyKey?: string
}

/** The outcome of a call and the parts the model reads. */
export type CallOutcome<T = Json> = Outcome<T> &
  CallTimes & {
    readonly callId: string
    readonly name: string
    /** How many times the body was started. */
    readonly attempts: number
    /** The result as the model reads it. */
    readonly parts: readonly ModelPart[]
    readonly meta?: Json
  }

/**
 * When `run` returns while calls are open: `'waiting'` (all open calls await an external answer), or after a duration.
 */
export type Until = 'waiting' | Duration

/** A call that is not settled yet. */
export type OpenCall =
  | {
      readonly status: 'waiting'
      /** The party it waits for: an external completion, a person or the client. */
      readonly for: 'completion' | AskKind
      /** Placeholder the model may read until there is a result. */
      readonly parts: readonly ModelPart[]
      /** Validated arguments of a call the caller runs (`for: 'client'`). */
      readonly input?: Json
      readonly waitId: string
      /** When the wait times out, in milliseconds since 1970. */
      readonly until: number
      readonly callId: string
      readonly name: string
      readonly meta?: Json
    }
  /** Queued, or its body is running. */
  | {
      readonly status: 'running'
      readonly callId: string
      readonly name: string
      readonly parts: readonly ModelPart[]
      readonly meta?: Json
    }

const fields: readonly (keyof CallAsk)[] = ['id', 'name', 'input', 'meta', 'timeout', 'deadline', 'idempotencyKey']
const timeoutTable = { timeout: timeoutOption }
const knownFields: ReadonlySet<string> = new Set(fields)

const reject = (why: string): never => {
  throw new PawlError('call_invalid', asSentence(why))
}

/** Throws `call_invalid` before anything is recorded or started. */
export function checkCalls(calls: readonly CallAsk[]): void {
  if (!Array.isArray(calls)) reject('The calls must be a list')
  for (let index = 0; index < calls.length; index++) checkCall(calls[index] as CallAsk, index)
}

/** `index`: its place in the list of calls, for the message. */
export function checkCall(call: CallAsk, index?: number): void {
  if (typeof call !== 'object' || call === null) reject(`${callAt(index)} is ${describe(call)}; it must be an object`)
  for (const field in call) if (!knownFields.has(field)) checkField(field, call, index)
  checkName(call.id, '`id`', index)
  checkName(call.name, '`name`', index)
  if (call.idempotencyKey !== undefined) checkName(call.idempotencyKey, '`idempotencyKey`', index)
  if (call.deadline !== undefined && !Number.isFinite(Number(call.deadline)))
    reject('`deadline` must be a Date or milliseconds since 1970')
  const problem = call.timeout === undefined ? undefined : optionProblem({ timeout: call.timeout }, timeoutTable, '')
  if (problem !== undefined) reject(problem)
  if (call.meta !== undefined) checkMeta(call.meta)
}

/** Checks a batch name given by the host. */
export function checkBatch(batch: string): string {
  checkName(batch, '`batch`')
  if (isReserved(batch)) reject(`\`batch\` begins with '${reservedPrefix}', which is reserved`)
  return batch
}

/** Checks a turn id given by the host. */
export function checkTurn(turn: string): string {
  checkName(turn, '`turn`')
  return turn
}

export const nestedBatch = ({ batch, id, occurrence }: CallPosition, name: string): string =>
  `${nestedBatchPrefix}${lengthPrefixed(batch, id, occurrence, name)}`

function checkName(value: unknown, what: string, index?: number): void {
  if (typeof value === 'string' && value !== '' && value.length <= maxNameLength)
    if (value.isWellFormed() && !value.includes('\0')) return
  const path = index === undefined ? what : `${what} of ${callAt(index)}`
  if (typeof value !== 'string' || value === '') reject(`${path} is ${describe(value)}; it must be a non-empty string`)
  else if (value.length > maxNameLength) reject(`${path} has ${value.length} characters; the limit is ${maxNameLength}`)
  else reject(`${path} contains a lone surrogate or a NUL character`)
}

/** Unknown fields of a provider's message are ignored; a misspelt field of ours is rejected. */
function checkField(field: string, call: object, index: number | undefined): void {
  const [suggestion] = similarNames(field, fields, 1)
  if (suggestion !== undefined && !Object.hasOwn(call, suggestion))
    reject(`${callAt(index)} has the unknown field '${field}'; did you mean '${suggestion}'?`)
}

const callAt = (index: number | undefined): string => (index === undefined ? 'The call' : `calls[${index}]`)

/** `meta` is recorded as JSON. */
function checkMeta(meta: unknown): void {
  let text: string | undefined
  try {
    text = JSON.stringify(meta)
  } catch {
    // A BigInt, a cycle, or a getter that throws.
  }
  if (text === undefined) reject('`meta` must be a JSON value')
}

function describe(value: unknown): string {
  if (value === undefined) return 'missing'
  return typeof value === 'string' || typeof value === 'number' || value === null
    ? JSON.stringify(value)
    : `of type ${typeof value}`
}

export const toTimeouts = (timeout: Duration | Timeouts): Timeouts =>
  typeof timeout === 'object' ? timeout : { attempt: timeout }
