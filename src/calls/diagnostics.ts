// What went wrong inside, for operators alone (VAL-4): to their log, and into a field of the record that is always sealed. Everyone else reads
// one fixed sentence.

import { inspect } from 'node:util'
import type { Execution } from '../engine/engine.ts'
import { fits, startOf } from '../core/size-limits.ts'
import type { CallHost } from './ports.ts'

export interface Diagnostics {
  /** What happened, in a few words. */
  readonly what: string
  readonly tool: string
  readonly callId: string
  /** The uid of the call. */
  readonly call: string
  readonly attempt: number
  /** What was thrown and what caused it, each once, without secrets. */
  readonly causes: readonly string[]
}

/** Puts it on record with the outcome, and gives the causes for the log. */
export function recordDiagnostics(
  what: string,
  error: unknown,
  execution: Execution,
  { redact, sizes }: CallHost,
): string[] {
  const { uid, tool } = execution.request
  const about = { tool, callId: execution.callId, call: uid, attempt: execution.attempt }
  const causes = causesOf(error)
  const told: Diagnostics = { what, ...about, causes: causes.map((cause) => redact.text(cause).toWellFormed()) }
  execution.recordDiagnostics(within(told, sizes.trouble))
  return causes
}

/** Recorded form. Over the size each cause keeps its beginning: an escaped character has up to six bytes. */
function within(trouble: Diagnostics, most: number): string {
  const text = JSON.stringify(trouble)
  if (fits(text, most)) return text
  const each = Math.max(40, Math.floor((most - 2_048) / 6 / trouble.causes.length))
  return JSON.stringify({ ...trouble, causes: trouble.causes.map((cause) => `${startOf(cause, each)} […]`) })
}

/** The chain of causes, and of what an AggregateError gathers, each once. */
function causesOf(error: unknown): string[] {
  const queue = [error]
  const texts: string[] = []
  for (let at = 0; at < queue.length && texts.length < 16; at++) {
    const cause = queue[at]
    texts.push(textOf(cause))
    for (const next of under(cause)) if (next !== undefined && !queue.includes(next)) queue.push(next)
  }
  return texts
}

function under(thrown: unknown): readonly unknown[] {
  try {
    const { cause, errors } = (thrown ?? {}) as AggregateError
    return [cause, ...(thrown instanceof AggregateError && Array.isArray(errors) ? errors.slice(0, 16) : [])]
  } catch {
    return []
  }
}

/** What was thrown may be anything, an object that throws when looked at included. */
function textOf(thrown: unknown): string {
  try {
    return thrown instanceof Error && typeof thrown.stack === 'string' ? thrown.stack : inspect(thrown, { depth: 2 })
  } catch {
    return 'something that cannot be shown'
  }
}
