// The options of runtime.session(), session.run() and session.call(), and their tables.

import { option, type OptionTable } from '../core/check-options.ts'
import type { Duration } from '../core/duration.ts'
import type { PolicyDefinition } from '../policy/rules.ts'
import type { Tool } from '../tools/tool.ts'
import { toolsOption } from '../tools/toolset.ts'
import { timeoutOption } from '../tools/tool-options.ts'
import type { CallAsk, Until } from './call-request.ts'

/** Options of session.run(). */
export interface RunOptions {
  /** Names the model message the calls come from. Without it, call ids must be unique in the session. */
  readonly batch?: string
  /** Names the turn that these calls and their nested calls belong to; `budgets.turn` applies per turn. */
  readonly turn?: string
  /** Cancels the batch. */
  readonly signal?: AbortSignal
  /**
   * A call that takes longer than this moves to the background, if its tool can run there: the model gets a task
   * handle now and the result in a later notice. Default: never.
   */
  readonly background?: Duration
  /** `stop`: the first failure cancels running calls and does not start the rest. Default: `continue`. */
  readonly onFailure?: 'continue' | 'stop'
  /** Default `settled`: returns when all calls are settled. */
  readonly until?: 'settled'
}

/** Returns when every call is settled or waits for an external answer (`waiting`), or after a duration. */
export type RunUntil = Omit<RunOptions, 'until'> & { readonly until: Until }

/** Options of session.call(). */
export type CallOptions = Omit<CallAsk, 'id' | 'name' | 'input'> & { id?: string; batch?: string; turn?: string }

/** Options of runtime.session(). */
export interface SessionOptions {
  /** The customer the session belongs to; data of tenants is separate. Default: 'default'. */
  readonly tenant?: string
  /** The person or service the calls are made for; policies and connections use it. Default: null. */
  readonly principal?: string | null
  /**
   * Tools of this session, in addition to the runtime's. They apply to batches of this handle and, until other tools
   * are set for the session, to handles without tools and to recorded calls. An empty list removes them.
   */
  readonly tools?: readonly Tool[]
  /**
   * Rules of this session in addition to the runtime's; the strictest wins. They are data: recorded with each call and
   * enforced on every worker.
   */
  readonly policy?: Omit<PolicyDefinition, 'decide'>
  /** Capabilities to switch on before anything runs; they stay on. */
  readonly capabilities?: readonly string[]
  /** False: no person can approve, connect or answer, so a call that would ask is refused at once. Default: true. */
  readonly attended?: boolean
}

export const runOptions = {
  batch: option.string,
  turn: option.string,
  signal: option.abortSignal,
  background: option.duration,
  onFailure: option.oneOf('continue', 'stop'),
  until: option.either(option.oneOf('settled', 'waiting'), option.duration),
} satisfies OptionTable<RunUntil>

/** sessions/call-request.ts checks the values, together with the calls of the batch. */
export const callOptions = {
  id: option.string,
  batch: option.string,
  turn: option.string,
  meta: option.anything,
  timeout: timeoutOption,
  deadline: option.anything,
  idempotencyKey: option.string,
} satisfies OptionTable<CallOptions>

export const sessionOptions = {
  tenant: option.identifier,
  principal: option.either(option.wellFormedString, option.oneOf(null)),
  tools: toolsOption,
  policy: option.object,
  capabilities: option.listOf(option.string),
  attended: option.boolean,
} satisfies OptionTable<SessionOptions>
