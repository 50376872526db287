// What a provider could not do, in the words of a model: whether it may pass, when to come back, and whether it was given more than it can read. What the
// provider wrote itself is for the log alone.

import { ModelFailure } from '../../index.ts'

/** In an answer that had begun: errors that come again if it is asked again. */
const final = /invalid|auth|permission|forbidden|billing|quota|not_found|too_large|context_length|policy|unsupported/

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

/** What may pass is said to be so; what a provider wrote is for the log alone. */
export function failureOf(error: unknown, began: boolean, { aborted }: AbortSignal): ModelFailure {
  if (error instanceof ModelFailure) return error
  const said = saidIn(error)
  const { statusCode, isRetryable } = said
  if (aborted) return new ModelFailure('it was stopped', { cause: error })
  const status = typeof statusCode === 'number' ? statusCode : null
  const unreachable = isUnreached(said) || (isRetryable === true && status === null)
  const what = began
    ? 'its answer broke off'
    : status !== null
      ? `HTTP ${status}`
      : unreachable
        ? 'it could not be reached'
        : 'it failed'
  if (isTooLong(said))
    return new ModelFailure(`${tooLong}${status === null ? '' : ` (HTTP ${status})`}`, { tooLong: true, cause: error })
  const afterMs = afterOf(said)
  return new ModelFailure(what, {
    retryable: mayPass(said, began),
    cause: error,
    ...(afterMs === null ? {} : { afterMs }),
  })
}

/** What was thrown, what an event of a stream carries (`{ type: 'error', error }`), or words alone. */
function saidIn(error: unknown): ProviderError {
  const { type, error: inner } = fieldsOf(error) as ProviderError & { readonly error?: unknown }
  return fieldsOf(type === 'error' && inner ? inner : error)
}

const fieldsOf = (error: unknown): ProviderError =>
  typeof error === 'object' && error !== null ? error : typeof error === 'string' ? { message: error } : {}

const tooLong = 'what it was given is longer than it can read'

/** How providers say so: OpenAI by its code, Anthropic by its words, others by words like theirs. */
const tooLongWords =
  /context_length_exceeded|prompt is too long|input is too long|maximum (context|prompt) length|exceeds? the (maximum number of tokens|context|available context)|exceed context limit|reduce the length of the (messages|prompt|input)|context (length|window|size)\b.{0,60}\bexceed/i

/** A rate is told in tokens, too; but of what is too long for now, and not for ever. */
function isTooLong({ statusCode, code, type, message, responseBody }: ProviderError): boolean {
  if (statusCode !== undefined && ![400, 413, 422].includes(Number(statusCode))) return false
  return tooLongWords.test(
    [code, type, message, responseBody]
      .map((said) => (typeof said === 'string' ? said.slice(0, 4_000) : ''))
      .join('\n'),
  )
}

function mayPass({ statusCode, isRetryable, name, type, code }: ProviderError, began: boolean): boolean {
  if (typeof isRetryable === 'boolean') return isRetryable
  // An error in a stream may have its status where others have words.
  const status = typeof statusCode === 'number' ? statusCode : /^[45]\d\d$/.test(String(code)) ? Number(code) : null
  if (status !== null) return status === 408 || status === 409 || status === 429 || status >= 500
  return began ? !final.test(`${String(type)} ${String(code)}`) : isUnreached({ name, code })
}

/** The connection could not be made, or was given up by something between us and the provider: a clock of its own, a reset. */
const isUnreached = ({ name, code }: ProviderError): boolean =>
  /^(TypeError|AbortError|TimeoutError|ResponseAborted)$/.test(String(name)) ||
  /^(ECONN\w+|ETIMEDOUT|EPIPE|ENOTFOUND|EAI_AGAIN|UND_ERR_\w+)$/.test(String(code))

/** When to come back: in milliseconds, in seconds, or as a date of the provider's own clock. */
function afterOf({ responseHeaders: headers = {} }: ProviderError): number | null {
  const number = (text = ''): number => (text.trim() === '' ? Number.NaN : Number(text))
  const { 'retry-after-ms': ms, 'retry-after': after, date } = headers
  const said = [number(ms), number(after) * 1000, Date.parse(after ?? '') - Date.parse(date ?? '')]
  return said.find((late) => Number.isFinite(late) && late >= 0) ?? null
}
