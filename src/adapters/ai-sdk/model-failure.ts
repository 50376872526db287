// Converts a provider error to a ModelFailure: whether it is transient, when to retry, and whether the input was too
// long. The provider's own text goes only to the log.

import { ModelFailure } from '../../index.ts'

/** Error types in a started stream that would occur again on a retry. */
const permanentErrors =
  /invalid|auth|permission|forbidden|billing|quota|not_found|too_large|context_length|policy|unsupported/

interface ProviderError {
  readonly name?: unknown
  readonly type?: unknown
  readonly code?: unknown
  readonly statusCode?: unknown
  readonly isRetryable?: unknown
  readonly responseHeaders?: Readonly<Record<string, string>>
  readonly message?: unknown
  readonly responseBody?: unknown
}

/** Classifies an error; the original error becomes the cause. */
export function failureOf(error: unknown, began: boolean, { aborted }: AbortSignal): ModelFailure {
  if (error instanceof ModelFailure) return error
  const fields = errorFields(error)
  const { statusCode, isRetryable } = fields
  if (aborted) return new ModelFailure('it was stopped', { cause: error })
  const status = typeof statusCode === 'number' ? statusCode : null
  const unreachable = isUnreachable(fields) || (isRetryable === true && status === null)
  const what = began
    ? 'its answer was cut off'
    : status !== null
      ? `HTTP ${status}`
      : unreachable
        ? 'it could not be reached'
        : 'it failed'
  if (isTooLong(fields))
    return new ModelFailure(`${tooLong}${status === null ? '' : ` (HTTP ${status})`}`, { tooLong: true, cause: error })
  const afterMs = retryAfterMs(fields)
  return new ModelFailure(what, {
    retryable: isTransient(fields, began),
    cause: error,
    ...(afterMs === null ? {} : { afterMs }),
  })
}

/** Fields of a thrown error, of a stream event (`{ type: 'error', error }`), or of a bare string. */
function errorFields(error: unknown): ProviderError {
  const { type, error: inner } = fieldsOf(error) as ProviderError & { readonly error?: unknown }
  return fieldsOf(type === 'error' && inner ? inner : error)
}

const fieldsOf = (error: unknown): ProviderError =>
  typeof error === 'object' && error !== null ? error : typeof error === 'string' ? { message: error } : {}

const tooLong = 'the input is longer than its context window'

/** Error codes and phrases of OpenAI, Anthropic and compatible providers. */
const tooLongPattern =
  /context_length_exceeded|prompt is too long|input is too long|maximum (context|prompt) length|exceeds? the (maximum number of tokens|context|available context)|exceed context limit|reduce the length of the (messages|prompt|input)|context (length|window|size)\b.{0,60}\bexceed/i

/** Rate limit errors mention tokens too, so the status decides first. */
function isTooLong({ statusCode, code, type, message, responseBody }: ProviderError): boolean {
  if (statusCode !== undefined && ![400, 413, 422].includes(Number(statusCode))) return false
  return tooLongPattern.test(
    [code, type, message, responseBody]
      .map((said) => (typeof said === 'string' ? said.slice(0, 4_000) : ''))
      .join('\n'),
  )
}

function isTransient({ statusCode, isRetryable, name, type, code }: ProviderError, began: boolean): boolean {
  if (typeof isRetryable === 'boolean') return isRetryable
  // An error in a stream may carry the HTTP status in its code.
  const status = typeof statusCode === 'number' ? statusCode : /^[45]\d\d$/.test(String(code)) ? Number(code) : null
  if (status !== null) return status === 408 || status === 409 || status === 429 || status >= 500
  return began ? !permanentErrors.test(`${String(type)} ${String(code)}`) : isUnreachable({ name, code })
}

/** The connection failed, timed out or was reset. */
const isUnreachable = ({ name, code }: ProviderError): boolean =>
  /^(TypeError|AbortError|TimeoutError|ResponseAborted)$/.test(String(name)) ||
  /^(ECONN\w+|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_AGAIN|UND_ERR_\w+)$/.test(String(code))

/** The retry delay from the headers: milliseconds, seconds, or a date by the provider's clock. */
function retryAfterMs({ responseHeaders: headers = {} }: ProviderError): number | null {
  const number = (text = ''): number => (text.trim() === '' ? Number.NaN : Number(text))
  const { 'retry-after-ms': ms, 'retry-after': after, date } = headers
  const delays = [number(ms), number(after) * 1000, Date.parse(after ?? '') - Date.parse(date ?? '')]
  return delays.find((late) => Number.isFinite(late) && late >= 0) ?? null
}
