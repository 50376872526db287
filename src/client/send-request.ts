// Sends the requests of the client: timeout, retries and errors. Used by build-client.ts and event-stream.ts.

import type { OperationName } from '../server/endpoints.ts'
import type { BuiltRequest } from './build-request.ts'
import type { ClientSettings } from './client-options.ts'
import { errorOf, PawlHttpError, type Problem, readProblem } from './http-error.ts'

/**
 * The field that makes a POST request idempotent: with it the request may be sent again. The route table of the server
 * has the same names; it is not imported, because it would load all schemas.
 */
export const idempotencyFields: Partial<Readonly<Record<OperationName, string>>> = {
  'calls.run': 'idempotencyKey',
  'batches.run': 'batch',
  'turns.start': 'id',
  'messages.send': 'id',
  'tasks.start': 'id',
  'tasks.signal': 'key',
  'tasks.message': 'key',
  'schedules.create': 'id',
  'triggers.subscribe': 'id',
  'triggers.emit': 'key',
}

/** When a request may be sent again: never, only if it was refused, or also if its answer was lost. */
export type Repeat = 'never' | 'if_refused' | 'always'

/** A conditional write whose answer was lost must not be repeated: the server would report a conflict with itself. */
export function repeatOf(
  { endpoint: { name, method } }: BuiltRequest,
  input: Readonly<Record<string, unknown>>,
): Repeat {
  if (method === 'POST') {
    const field = idempotencyFields[name]
    return field !== undefined && typeof input[field] === 'string' ? 'always' : 'never'
  }
  return input.ifRevision !== undefined || input.ifHash !== undefined ? 'if_refused' : 'always'
}

/** A server that asks for a longer pause than this is not waited for. */
const maxPauseMs = 30_000
const firstPauseMs = 250

/** An error response, with its body. */
export interface ErrorResponse {
  readonly error: PawlHttpError
  readonly problem: Problem
  /** How long the server wants to be left alone. */
  readonly retryAfterMs: number | undefined
}

/** Names a request in errors. The query is left out, because it may contain data. */
export const describeRequest = ({ base }: ClientSettings, { endpoint, path }: BuiltRequest): string =>
  `${endpoint.method} ${base}${path}`

/** Sends a request once. Throws `unavailable` if there is no response, and the signal's reason if it aborts. */
export async function fetchOnce(
  settings: ClientSettings,
  request: BuiltRequest,
  signal: AbortSignal | undefined,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const { base, tenant, credentials, fetch } = settings
  const { endpoint, path, query, body } = request
  const parameters = [query, tenant === undefined ? '' : `tenant=${encodeURIComponent(tenant)}`].filter((each) => each)
  try {
    return await fetch(`${base}${path}${parameters.length > 0 ? '?' : ''}${parameters.join('&')}`, {
      method: endpoint.method,
      headers: { ...settings.headers, ...request.headers, ...headers },
      ...(body === undefined ? {} : { body }),
      ...(credentials === undefined ? {} : { credentials }),
      ...(signal === undefined ? {} : { signal }),
    })
  } catch (error) {
    throw networkError(settings, request, signal, error)
  }
}

/** The message of a network error may be anything, so it is only the cause. */
function networkError(
  settings: ClientSettings,
  request: BuiltRequest,
  signal: AbortSignal | undefined,
  cause: unknown,
): unknown {
  if (signal?.aborted) return signal.reason
  const doubt = request.endpoint.method === 'GET' ? '' : ' It is not known whether the server has received the request.'
  return new PawlHttpError(
    `No answer to ${describeRequest(settings, request)}. Check that the server runs and can be reached.${doubt}`,
    { code: 'unavailable', cause },
  )
}

export async function readErrorResponse(
  settings: ClientSettings,
  request: BuiltRequest,
  response: Response,
): Promise<ErrorResponse> {
  const problem = await readProblem(response)
  return {
    error: errorOf(response, problem, describeRequest(settings, request)),
    problem,
    retryAfterMs: retryAfterOf(response, settings.clock.now()),
  }
}

/** `Retry-After` is a number of seconds or a date. */
function retryAfterOf(response: Response, now: number): number | undefined {
  const text = response.headers.get('retry-after')?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000
  const date = text === '' ? Number.NaN : Date.parse(text)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

/** Half to whole of the delay, so that many clients do not return at the same instant. */
export const withJitter = (ms: number, random: () => number): number => ms * (0.5 + random() / 2)

/** Waits. Keeps the process alive meanwhile, because no socket does. Returns early if the signal aborts. */
export function pause({ clock }: ClientSettings, ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const release = clock.hold()
    const end = (): void => {
      stopTimer()
      release()
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const stopTimer = clock.timer(ms, end)
    signal?.addEventListener('abort', end)
  })
}

interface SendOptions<T> {
  readonly repeat: Repeat
  readonly signal: AbortSignal | undefined
  /** Reads a response with a status below 400. */
  read(response: Response): Promise<T>
  /** The result that an error response contains, if any. */
  fromProblem(problem: Problem): T | undefined
}

/** Sends a request until it is answered, or until it may not be sent again. */
export async function sendRequest<T>(
  settings: ClientSettings,
  request: BuiltRequest,
  { repeat, signal, read, fromProblem }: SendOptions<T>,
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    let delay = firstPauseMs * 2 ** attempt
    const isLast = attempt >= settings.retries
    try {
      const response = await fetchOnce(settings, request, signal)
      if (response.status < 400) return await readBody(settings, request, signal, () => read(response))
      const { error, problem, retryAfterMs } = await readErrorResponse(settings, request, response)
      const result = fromProblem(problem)
      if (result !== undefined) return result
      delay = Math.max(delay, retryAfterMs ?? 0)
      const wasRefused = error.status === 429 || error.status === 503
      if (!wasRefused || repeat === 'never' || isLast || delay > maxPauseMs) throw error
    } catch (error) {
      const isNetworkError = error instanceof PawlHttpError && error.code === 'unavailable' && error.status === 0
      if (!isNetworkError || repeat !== 'always' || isLast) throw error
    }
    // A pause that the server asks for is not shortened.
    await pause(settings, delay * (1 + settings.random() / 2), signal)
    if (signal?.aborted) throw signal.reason
  }
}

/** A connection that breaks in the middle of a body is a network error too. */
async function readBody<T>(
  settings: ClientSettings,
  request: BuiltRequest,
  signal: AbortSignal | undefined,
  read: () => Promise<T>,
): Promise<T> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof PawlHttpError) throw error
    throw networkError(settings, request, signal, error)
  }
}

/** Runs `send` with a signal that aborts with the caller's signal, or when the time is over. */
export async function withTimeout<T>(
  settings: ClientSettings,
  request: BuiltRequest,
  signal: AbortSignal | undefined,
  send: (signal: AbortSignal | undefined) => Promise<T>,
): Promise<T> {
  const { timeoutMs, clock } = settings
  signal?.throwIfAborted()
  if (timeoutMs === undefined) return send(signal)
  const timeout = new AbortController()
  const stopTimer = clock.timer(timeoutMs, () => {
    const message = `${describeRequest(settings, request)} took longer than ${timeoutMs} ms. What it started may go on.`
    timeout.abort(new PawlHttpError(message, { code: 'timeout' }))
  })
  try {
    return await send(signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal)
  } finally {
    stopTimer()
  }
}
