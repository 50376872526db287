// What is asked and what comes back: one call of a model, checked before anything is recorded.

import { closeNames } from '../core/similar-names.ts'
import type { ModelPart } from '../models/model-parts.ts'
import type { AskKind } from '../store/records/approval-terms.ts'
import type { CallPosition } from '../store/records/call-record.ts'
import type { CallTimes } from '../store/records/call-times.ts'
import type { Duration } from '../core/duration.ts'
import { PawlError } from '../core/errors.ts'
import { frame, longestName } from '../core/ids.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Json } from '../core/value.ts'
import { type Timeouts, timeoutsOf } from '../tools/tool-options.ts'

export interface CallAsk {
  /** The model's id of the call. */
  readonly id: string
  readonly name: string
  /** An object, or the model's JSON text. Left out or empty it means {}. */
  readonly input?: unknown
  /** Opaque; comes back on the outcome. */
  readonly meta?: Json
  /** Clocks of this call, before those of its tool. */
  readonly timeout?: Duration | Timeouts
  /** An instant (milliseconds since 1970, or a Date) after which it is too late. */
  readonly deadline?: number | Date
  /** Names the call instead of batch and id: the same key is the same call, wherever in the session it is asked. */
  readonly idempotencyKey?: string
}

/** How a call ended, with what the model reads of it. */
export type CallOutcome<T = Json> = Outcome<T> &
  CallTimes & {
    readonly callId: string
    readonly name: string
    /** How many times the body was begun. */
    readonly attempts: number
    /** What the model reads. */
    readonly parts: readonly ModelPart[]
    readonly meta?: Json
  }

/** When run returns although calls are open: `'waiting'`, when all that are wait for the outside; or after so long. */
export type Until = Duration

/** A call that is not settled yet. */
export type OpenCall =
  | {
      readonly status: 'waiting'
      /** What it waits for: somebody outside who completes it, or somebody who was asked. */
      readonly for: 'completion' | AskKind
      /** What the model may read in place of a result, until there is one. */
      readonly parts: readonly ModelPart[]
      /** For the caller to run: the arguments, checked (`for: 'client'`). */
      readonly input?: Json
      readonly waitId: string
      /** The instant at which the wait gives up. */
      readonly until: number
      readonly callId: string
      readonly name: string
      readonly meta?: Json
    }
  /** On its way: queued, or in its body. */
  | {
      readonly status: 'running'
      readonly callId: string
      readonly name: string
      readonly parts: readonly ModelPart[]
      readonly meta?: Json
    }

const fields: readonly (keyof CallAsk)[] = ['id', 'name', 'input', 'meta', 'timeout', 'deadline', 'idempotencyKey']
const known: ReadonlySet<string> = new Set(fields)

const wrong = (why: string): never => {
  throw new PawlError('call_invalid', `${why}.`)
}

/** Before anything is recorded or started. */
export function checkAsks(calls: readonly CallAsk[]): void {
  if (!Array.isArray(calls)) wrong('A list of calls is needed')
  for (const call of calls) checkAsk(call)
}

export function checkAsk(call: CallAsk): void {
  if (typeof call !== 'object' || call === null) wrong(`It is ${shown(call)}`)
  for (const field in call) if (!known.has(field)) checkField(field, call)
  checkName(call.id, 'Its id')
  checkName(call.name, 'Its name')
  if (call.idempotencyKey !== undefined) checkName(call.idempotencyKey, 'Its idempotency key')
  if (call.deadline !== undefined && !Number.isFinite(Number(call.deadline))) wrong('Its deadline is not an instant')
  if (call.timeout !== undefined) timeoutsOf(call.timeout, (why) => wrong(`Its ${why}`))
  if (call.meta !== undefined) checkMeta(call.meta)
}

/** A batch that is named by the host. Names that begin like this are ours. */
const ours = 'pawl:'
export function checkBatch(batch: string): string {
  checkName(batch, 'The batch')
  if (batch.startsWith(ours)) wrong(`The batch begins with '${ours}', as only names of the runtime do`)
  return batch
}

/** A turn that is named by the host. */
export function checkTurn(turn: string): string {
  checkName(turn, 'The turn')
  return turn
}

/** Where calls with an idempotency key lie, and those under another call: no batch of the host can have these names. */
export const keyBatch = `${ours}key`
export const nestedBatch = ({ batch, id, occurrence }: CallPosition, name: string): string =>
  `${ours}under:${frame(batch, id, occurrence, name)}`

function checkName(value: unknown, what: string): void {
  if (typeof value !== 'string' || value === '') return wrong(`${what} is ${shown(value)}`)
  if (value.length > longestName) wrong(`${what} has ${value.length} characters; ${longestName} are allowed`)
  if (!value.isWellFormed() || value.includes('\0')) wrong(`${what} holds a lone surrogate or a NUL`)
}

/** What a provider's message has besides is its own affair; what was meant for us and is misspelt is not. */
function checkField(field: string, call: object): void {
  const [meant] = closeNames(field, fields, 1)
  if (meant !== undefined && !Object.hasOwn(call, meant)) wrong(`It has '${field}'; '${meant}' was meant`)
}

/** Opaque, but it goes on record: as JSON. */
function checkMeta(meta: unknown): void {
  let text: string | undefined
  try {
    text = JSON.stringify(meta)
  } catch {
    // A BigInt, a cycle, or a getter that throws.
  }
  if (text === undefined) wrong('Its meta has no JSON form')
}

function shown(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' || value === null
    ? JSON.stringify(value)
    : `of type ${typeof value}`
}

export const clockValues = (timeout: Duration | Timeouts): Timeouts =>
  typeof timeout === 'object' ? timeout : { attempt: timeout }
