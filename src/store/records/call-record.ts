// Records of calls, steps and waits, and the legal state transitions. Pure: no store, no engine.
//
// Life cycle of a call: it is `received` when recorded, `queued` once its arguments are validated, and `running` when
// a worker starts the body. A call whose body returned `ctx.later()`, or that needs an approval before its body, is
// `parked`: it has no owner and uses no resources until an answer makes it `queued` again, this time to process the
// answer. A failed attempt that may be retried makes the call `queued` until the next attempt. `settled` is final and
// written once. A worker that dies leaves `received`, `queued` or `running` behind; the next claimer reads from the
// state how far the call had come.

import type { Json } from '../../core/tool-value.ts'
import type { AskTerms } from './approval-wait-terms.ts'
import type { TaskTerms } from './task-terms.ts'

export const callStates = ['received', 'queued', 'running', 'parked', 'settled'] as const
export type CallState = (typeof callStates)[number]

/** Legal next states. `running` follows itself when a recovery starts the body again. */
export const legalMoves: Readonly<Record<CallState, readonly CallState[]>> = {
  received: ['queued', 'running', 'parked', 'settled'],
  queued: ['running', 'parked', 'settled'],
  running: ['running', 'queued', 'parked', 'settled'],
  parked: ['queued', 'settled'],
  settled: [],
}

/** Throws on an illegal transition: that is a bug in Pawl, stopped before it is written. */
export function checkMove(from: CallState, to: CallState): void {
  if (!legalMoves[from].includes(to)) throw new Error(`Illegal state transition: ${from} to ${to}.`)
}

/** Identity of a call. `occurrence` distinguishes equal ids within one batch. */
export interface CallPosition {
  readonly tenant: string
  readonly session: string
  readonly batch: string
  readonly id: string
  readonly occurrence: number
}

/** The immutable part of a call. */
export interface CallRequest {
  /** Time-ordered and unique; other rows refer to it. The position is the identity that callers use. */
  readonly uid: string
  readonly position: CallPosition
  readonly principal: string | null
  /**
   * The recorded tool name, by which calls are claimed: the tool's id, with its provider if it is not the runtime's
   * own.
   */
  readonly tool: string
  /** The input exactly as received. */
  readonly input: string
  /** Hash of tool and input: an identical request has the same hash. */
  readonly hash: string
  /** CallOptions as JSON; null if there are none. */
  readonly options: string | null
  /** The batch order the call belongs to: its open calls are always claimed by one worker. Null if it has none. */
  readonly line: string | null
  readonly createdAt: number
}

/** Options requested with a call. Recorded, so that a recovery uses the same options. */
export interface CallOptions {
  /** The model's argument text, if the input arrived as text. */
  readonly raw?: string
  /** Why the input could not be parsed. */
  readonly unreadable?: string
  /** The model's call id, if an idempotency key names the position instead. */
  readonly callId?: string
  /** The name the model used for the tool, if it differs from the recorded one. */
  readonly name?: string
  /** Opaque to Pawl; returned with the outcome. */
  readonly meta?: unknown
  /** Timeouts in milliseconds. */
  readonly timeout?: {
    readonly attempt?: number
    readonly idle?: number
    readonly total?: number
    readonly queue?: number
  }
  /** Instant after which the call must not run. */
  readonly deadline?: number
  /** The call does not start if an earlier call of its batch failed. */
  readonly stop?: true
  /** Index in the batch order. */
  readonly order?: number
  /** The requested batch, if an idempotency key names the position instead. */
  readonly batch?: string
  /** The turn the call belongs to, by the caller's id for it. */
  readonly turn?: string
  /** The frame the turn worked in, by name. */
  readonly frame?: string
  /**
   * Names of the tools available to the turn, if not all are: the scope of tool_search and of suggestions for an
   * unknown tool name.
   */
  readonly within?: readonly string[]
  /** The outermost call above it, whose queue slot it shares. */
  readonly root?: string
  /** The host requested an internal tool. */
  readonly internal?: boolean
  /** The requester had no tool of that name at the time of the request. */
  readonly absent?: true
  /** The calls between the outermost one and this one. */
  readonly above?: readonly string[]
  /** No person is available to approve, connect or answer: requests to people are refused. */
  readonly unattended?: true
  /** The session's policy rules, which apply on any worker. */
  readonly policy?: unknown
  /** The task it runs under. */
  readonly inTask?: string
  /** Set if the call is a background task. */
  readonly task?: TaskTerms
  /** Id of the host secret the call began under, if it is not the store's first one. */
  readonly secret?: string
  /** W3C `traceparent` of the code that requested the call, or of the request span of an observer. */
  readonly trace?: string
}

const noOptions: CallOptions = {}
export const parseCallOptions = (text: string | null): CallOptions =>
  text === null ? noOptions : (JSON.parse(text) as CallOptions)

/** The recorded `meta` of a call. Options without it are not parsed: this runs at the end of every call. */
export function recordedMeta(options: string | null): { readonly meta?: Json } {
  if (!options?.includes('"meta":')) return {}
  const { meta } = parseCallOptions(options)
  return meta === undefined ? {} : { meta: meta as Json }
}

/** The mutable part of a call. Always written as a whole, by the holder of the fence. */
export interface CallProgress {
  readonly state: CallState
  /** Validated arguments in recorded form; null until validated. */
  readonly args: string | null
  /** CallTerms as JSON: the tool's properties when the arguments were validated; null until then. */
  readonly terms: string | null
  /** How many attempts have started. */
  readonly attempt: number
  /** When the last attempt started. */
  readonly startedAt: number | null
  /** The wait it is parked on, or whose answer it processes. */
  readonly wait: string | null
  /** The settled outcome, in recorded form. */
  readonly outcome: string | null
  readonly settledAt: number | null
  /** Workers that died while running the body since it last made progress; incremented by the claimer. */
  readonly deaths: number
  /** Diagnostics for operators, sealed; null if there are none. */
  readonly trouble: string | null
}

export function progressOf(of: CallProgress): CallProgress {
  const { state, args, terms, attempt, startedAt, wait, outcome, settledAt, deaths, trouble } = of
  return { state, args, terms, attempt, startedAt, wait, outcome, settledAt, deaths, trouble }
}

export interface CallRecord extends CallRequest, CallProgress {
  /** Fencing token: incremented by every claim, checked by every write of the holder. */
  readonly fence: number
  /** The worker that holds the call; null if none does. */
  readonly owner: string | null
}

/** Properties of the tool that a recovery needs. */
export interface CallTerms {
  readonly version?: string
  /** Digest of the input schema that validated the arguments. Absent in records of older versions of Pawl. */
  readonly schema?: string
  readonly onCrash: 'rerun' | 'stop'
  /** Number of the last approval whose edits are in the arguments. */
  readonly edited?: number
  /** Cost of the attempts before the call was parked. */
  readonly cost?: number
  /** `prepare` has run. A `prepare` added to the tool later does not run for this call. */
  readonly prepared?: true
  /** The arguments may contain secrets: a worker that does not know the tool does not show them. */
  readonly untold?: true
  /** Time spent before the current phase; see call-times.ts. */
  readonly spent?: {
    readonly queuedMs: number
    readonly runningMs: number
    readonly waitingMs: number
    readonly until: number
    /** Number of attempts included. */
    readonly attempts?: number
  }
}

export const parseCallTerms = (text: string): CallTerms => JSON.parse(text) as CallTerms

/** A step is a unit of work with a recorded end. `started` is written only if the start itself must be durable. */
export interface StepRecord {
  readonly call: string
  readonly key: string
  readonly state: 'started' | 'done' | 'failed'
  /** Declared input in recorded form; null if it has none. */
  readonly input: string | null
  /** Value or error in recorded form. */
  readonly value: string | null
  /**
   * The round it ended in. A value is valid for the whole call, an error only for its round. Retries start a new
   * round, recoveries do not.
   */
  readonly round: number
  readonly at: number
}

export type Resolution =
  | { readonly value: unknown }
  | { readonly failure: { readonly code: string; readonly message: string } }
  /** `at` is set if the call itself cancelled the wait. */
  | { readonly cancelled: string; readonly at?: number }
  /** `failsTurn`: the wait was opened with `onTimeout: 'fail'`. */
  | { readonly timeout: true; readonly failsTurn?: true }

/** Options a wait was opened with. Defaults are left out. */
export interface WaitTerms {
  readonly onTimeout?: 'fail'
  readonly onCancel?: 'ignore'
  /** Announced when the call first waits; the payload is in recorded form. */
  readonly announce?: { readonly type: string; readonly payload: string }
  /** A request to a person or client. Such a wait cannot be answered by key. */
  readonly asks?: AskTerms
  /** The tool has an output schema: a value that answers a parked call must be validated before it is accepted. */
  readonly checked?: true
}

export const waitTermsOf = ({ terms }: Pick<WaitRecord, 'terms'>): WaitTerms =>
  terms === null ? {} : (JSON.parse(terms) as WaitTerms)

/** Input of the call that delivers an announcement: the wait that is announced. */
export interface Announced {
  readonly wait: string
}
export const parseAnnounced = (input: string): Announced => JSON.parse(input) as Announced

export interface WaitRecord {
  readonly id: string
  readonly call: string
  readonly name: string
  /** Input for deriving the key again after a crash, together with the host's secret. */
  readonly salt: string
  /** Hash of the key; the key itself is never stored. */
  readonly keyHash: string
  readonly deadline: number
  readonly createdAt: number
  /** WaitTerms as JSON; null if all are defaults. */
  readonly terms: string | null
  /** The Resolution in recorded form; null while open. Written once. */
  readonly resolution: string | null
}

/** The attempt that a dead worker left unfinished. */
export interface Interruption {
  readonly attempt: number
  readonly startedAt: number
}

export function interruptionOf(record: CallProgress): Interruption | null {
  return record.state === 'running' && record.startedAt !== null
    ? { attempt: record.attempt, startedAt: record.startedAt }
    : null
}

/**
 * Marks calls with sealed payloads in their uid. Every row about a call contains the uid, so readers and writers know
 * without another lookup, and a plain value where a sealed one is expected is detected.
 */
const sealedSuffix = '~s'
export const sealedUid = (uid: string): string => `${uid}${sealedSuffix}`
export const isSealedUid = (uid: string): boolean => uid.endsWith(sealedSuffix)

/**
 * A call's use of an attachment. Attachments are stored by content, once per tenant. They are erased with the last call
 * that created one or contains one in its input, records or outcome.
 */
export interface AttachmentUse {
  readonly tenant: string
  /** The attachment's id. */
  readonly id: string
  /** The uid of the call. */
  readonly call: string
}

const attachmentMarker = '"$pawl":"attachment"'
const attachmentIdPattern = /"id":"(att_[\w-]{43})"/g

/** The ids of the attachments in recorded texts. A text without any costs one substring search. */
export function attachmentsIn(...texts: readonly (string | null | undefined)[]): string[] {
  const found: string[] = []
  for (const text of texts)
    if (text?.includes(attachmentMarker))
      for (const [, id] of text.matchAll(attachmentIdPattern)) found.push(id as string)
  return found
}
