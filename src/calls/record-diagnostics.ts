// Diagnostics of internal errors, for operators only: written to the log and to a field of the call record that is
// always encrypted. Models and users read one fixed sentence instead.

import { inspect } from 'node:util'
import { option, type OptionTable } from '../core/check-options.ts'
import type { Execution } from '../engine/engine.ts'
import { fits, truncateToBytes } from '../core/size-limits.ts'
import type { CallHost } from './ports.ts'

/** Details of an internal error, for operators. */
export interface Diagnostics {
  /** Short description of the error. */
  readonly what: string
  /** Record key of the tool. */
  readonly tool: string
  /** The model's id of the call. */
  readonly callId: string
  /** The uid of the call. */
  readonly call: string
  /** Which attempt failed, from 1. */
  readonly attempt: number
  /** The thrown error and its chain of causes as text, each once, with known secrets redacted. */
  readonly causes: readonly string[]
}

/** Names a call by the place where it is recorded. */
export interface DiagnosedCall {
  /** Id of the session. */
  readonly session: string
  /** The model's id of the call: `callId` of its outcome. */
  readonly callId: string
  /** Default: 'default'. */
  readonly tenant?: string
  /** The `batch` of the run, if it had one. */
  readonly batch?: string
  /** Which of several calls with the same id in one batch, counted from 0. Default: 0. */
  readonly occurrence?: number
}

export const diagnosedCallOptions = {
  session: option.required(option.identifier),
  callId: option.required(option.string),
  tenant: option.identifier,
  batch: option.string,
  occurrence: option.wholeNumber(0),
} satisfies OptionTable<DiagnosedCall>

export const parseDiagnostics = (text: string): Diagnostics => JSON.parse(text) as Diagnostics

/** Records the diagnostics with the outcome and returns the unredacted causes for the log. */
export function recordDiagnostics(
  what: string,
  error: unknown,
  execution: Execution,
  { redact, sizes }: CallHost,
): string[] {
  const { uid, tool } = execution.request
  const about = { tool, callId: execution.callId, call: uid, attempt: execution.attempt }
  const causes = causesOf(error)
  const diagnostics: Diagnostics = { what, ...about, causes: causes.map((cause) => redact.text(cause).toWellFormed()) }
  execution.recordDiagnostics(serializeWithin(diagnostics, sizes.trouble))
  return causes
}

/**
 * JSON of the diagnostics. If it exceeds the limit, every cause is truncated; JSON escapes take up to six bytes per
 * character.
 */
function serializeWithin(diagnostics: Diagnostics, maxBytes: number): string {
  const text = JSON.stringify(diagnostics)
  if (fits(text, maxBytes)) return text
  const each = Math.max(40, Math.floor((maxBytes - 2_048) / 6 / diagnostics.causes.length))
  return JSON.stringify({
    ...diagnostics,
    causes: diagnostics.causes.map((cause) => `${truncateToBytes(cause, each)} […]`),
  })
}

/** The texts of the error, its causes and the errors inside an AggregateError; at most 16, each once. */
function causesOf(error: unknown): string[] {
  const queue = [error]
  const texts: string[] = []
  for (let at = 0; at < queue.length && texts.length < 16; at++) {
    const cause = queue[at]
    texts.push(textOf(cause))
    for (const next of nestedErrors(cause)) if (next !== undefined && !queue.includes(next)) queue.push(next)
  }
  return texts
}

function nestedErrors(thrown: unknown): readonly unknown[] {
  try {
    const { cause, errors } = (thrown ?? {}) as AggregateError
    return [cause, ...(thrown instanceof AggregateError && Array.isArray(errors) ? errors.slice(0, 16) : [])]
  } catch {
    return []
  }
}

/** Any value can be thrown, including an object whose getters throw. */
function textOf(thrown: unknown): string {
  try {
    return thrown instanceof Error && typeof thrown.stack === 'string' ? thrown.stack : inspect(thrown, { depth: 2 })
  } catch {
    return 'something that cannot be shown'
  }
}
