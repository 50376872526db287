// Errors as `application/problem+json` (RFC 9457) with the stable codes of the error table.

import { asSentence, type ErrorCode, errorTable, PawlError } from '../../core/errors.ts'
import type { ErrorRow } from '../../core/error-rows/error-row.ts'
import type { Reply } from './reply.ts'

export interface Problem {
  readonly code: ErrorCode
  readonly status: number
  /** One or two sentences: what happened and what to do next. */
  readonly detail: string
  /** Further facts for programs. */
  readonly facts?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, string>>
}

/** Codes that a request causes here, although a program causes them when it uses the library. */
const causedByRequest: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'config_invalid',
  'tool_invalid',
  'value_invalid',
  'emit_invalid',
])

/** An error that a request ran into, or null if its cause is in the server: then only the log has it. */
export function problemOf(error: unknown): Problem | null {
  if (!(error instanceof PawlError)) return null
  const { http: status, summary, next, retry }: ErrorRow = errorTable[error.code]
  if (causedByRequest.has(error.code)) return { code: error.code, status: 400, detail: error.message }
  if (status < 500) return { code: error.code, status, detail: error.message }
  if (status !== 503) return null
  // The details of an unavailable store, such as its address, are for the log.
  const headers = retry ? { 'retry-after': '1' } : {}
  return { code: error.code, status, detail: `${summary} ${next}`, headers }
}

export const problem = (code: ErrorCode, detail?: string, more: Partial<Problem> = {}): Problem => {
  const { http: status, summary, next, detailOnly }: ErrorRow = errorTable[code]
  const text =
    detail === undefined ? `${summary} ${next}` : detailOnly ? detail : `${summary} ${asSentence(detail)} ${next}`
  return { code, status, detail: text, ...more }
}

export function problemReply({ code, status, detail, facts, headers = {} }: Problem, requestId: string): Reply {
  const { summary }: ErrorRow = errorTable[code]
  const type = `urn:pawl:error:${code}`
  const body = JSON.stringify({ type, title: summary, status, code, detail, requestId, ...facts })
  return { status, headers: { 'content-type': 'application/problem+json', ...headers }, body }
}
