// The error of every method of the client, and how it is read from a response.

/** Facts of an error besides its message. */
interface HttpErrorFacts {
  readonly code: string
  readonly status?: number
  readonly details?: Readonly<Record<string, unknown>> | undefined
  readonly requestId?: string | undefined
  readonly cause?: unknown
}

/** A request failed. `code` says how, with the codes of the error reference; the message says what to do next. */
export class PawlHttpError extends Error {
  override readonly name = 'PawlHttpError'
  /**
   * A code of the error reference, such as `not_found`. Of the client itself: `unavailable` (no server answered),
   * `timeout`, `response_invalid` (the answer is not from a Pawl server), `config_invalid`, and `request_invalid` with
   * status 0 for a request that was not sent.
   */
  readonly code: string
  /** The HTTP status; 0 if there was no response. */
  readonly status: number
  /** Further facts of some codes, such as the `problems` of a malformed request. */
  readonly details: Readonly<Record<string, unknown>> | undefined
  /** Names the request in the log of the server. */
  readonly requestId: string | undefined

  constructor(message: string, { code, status = 0, details, requestId, cause }: HttpErrorFacts) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.status = status
    this.details = details
    this.requestId = requestId
  }
}

/** The body of an error response; null if it is not `application/problem+json`. */
export type Problem = Readonly<Record<string, unknown>> | null

export const mediaTypeOf = (response: Response): string =>
  (response.headers.get('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''

/** Reads the body of an error response. A body that cannot be read says no less than the status. */
export async function readProblem(response: Response): Promise<Problem> {
  if (mediaTypeOf(response) !== 'application/problem+json') {
    // Not awaited: the body of a cloned response ends only with its twin.
    response.body?.cancel().catch(() => {})
    return null
  }
  const problem: unknown = await response.json().catch(() => null)
  return typeof problem === 'object' ? (problem as Problem) : null
}

/** Members of every problem; the others are further facts. */
const standard = new Set(['type', 'title', 'status', 'detail', 'instance', 'code', 'requestId'])

function detailsOf(problem: NonNullable<Problem>): Readonly<Record<string, unknown>> | undefined {
  const facts = Object.entries(problem).filter(([name]) => !standard.has(name))
  return facts.length === 0 ? undefined : Object.fromEntries(facts)
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** Statuses that come from proxies and servers that are starting or stopping. */
const temporary = new Set([408, 429, 502, 503, 504])

export const isTemporaryStatus = (status: number): boolean => temporary.has(status)

/** The error of a response. `request` names the request in the message, without its query. */
export function errorOf(response: Response, problem: Problem, request: string): PawlHttpError {
  const { status } = response
  const requestId = textOf(problem?.requestId) ?? response.headers.get('x-request-id') ?? undefined
  const code = textOf(problem?.code)
  if (problem && code !== undefined) {
    const message = textOf(problem.detail) ?? textOf(problem.title) ?? `${request} failed with status ${status}.`
    return new PawlHttpError(message, { code, status, details: detailsOf(problem), requestId })
  }
  return isTemporaryStatus(status)
    ? new PawlHttpError(`${request} was answered with status ${status}. Try again in a moment.`, {
        code: 'unavailable',
        status,
        requestId,
      })
    : new PawlHttpError(
        `${request} was answered with status ${status}, but not by a Pawl server. Check the \`url\` of the client.`,
        { code: 'response_invalid', status, requestId },
      )
}
