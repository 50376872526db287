// Server-sent events as an async iterable that survives disconnects: it continues after the last recorded event it has
// received. Used by build-client.ts.

import { createParser } from 'eventsource-parser'
import type { BuiltRequest } from './build-request.ts'
import type { ClientSettings } from './client-options.ts'
import type { StreamEvent } from './client-types.ts'
import { isTemporaryStatus, mediaTypeOf, PawlHttpError } from './http-error.ts'
import { describeRequest, fetchOnce, pause, readErrorResponse, withJitter } from './send-request.ts'

/** The server sends a heartbeat every 15 s. Without a byte for this long the connection is dead. */
const silenceMs = 45_000
const defaultRetryMs = 1_000
const longestRetryMs = 30_000
const shortestRetryMs = 50
/** One event, in characters. It only prevents a broken server from filling the memory. */
const maxEventSize = 64 * 1024 * 1024

/** Builds the request of a connection: `after` is the cursor in its query. */
type RequestAfter = (after: string | undefined) => BuiltRequest

/**
 * A connection is opened when the first event is requested. Nothing is read from it while the consumer handles an
 * event, so a slow consumer slows the server down.
 */
export function streamEvents(
  settings: ClientSettings,
  requestAfter: RequestAfter,
  after: string | undefined,
  signal: AbortSignal | undefined,
): AsyncIterableIterator<StreamEvent> {
  const stop = new AbortController()
  const events = new EventStream(settings, requestAfter, after, stop.signal).read(signal, stop)
  return {
    next: () => events.next(),
    // A generator would wait for the pending `next()` first, which may take until the next event.
    return() {
      stop.abort()
      return events.return(undefined)
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

class EventStream {
  readonly #settings: ClientSettings
  readonly #requestAfter: RequestAfter
  readonly #stop: AbortSignal
  /** Where the caller wants to start. Not used any more once the server has named a position. */
  #after: string | undefined
  /** The id of the last recorded event. */
  #lastId: string | undefined
  #retryMs = defaultRetryMs
  /** Attempts to connect since something was received. */
  #failures = 0
  #hasConnected = false

  constructor(settings: ClientSettings, requestAfter: RequestAfter, after: string | undefined, stop: AbortSignal) {
    this.#settings = settings
    this.#requestAfter = requestAfter
    this.#after = after
    this.#stop = stop
  }

  async *read(signal: AbortSignal | undefined, stop: AbortController): AsyncGenerator<StreamEvent, void> {
    const abort = (): void => stop.abort()
    signal?.addEventListener('abort', abort)
    if (signal?.aborted) abort()
    try {
      while (!this.#stop.aborted) {
        const connection = new Connection(this.#settings, this.#stop)
        try {
          const pauseMs = await this.#connect(connection)
          if (connection.response) yield* this.#receive(connection)
          if (this.#stop.aborted) return
          this.#failures++
          await pause(this.#settings, Math.max(pauseMs, this.#backoff()), this.#stop)
        } finally {
          connection.close()
        }
      }
    } finally {
      signal?.removeEventListener('abort', abort)
      stop.abort()
    }
  }

  #backoff(): number {
    const ms = Math.min(this.#retryMs * 2 ** (this.#failures - 1), Math.max(longestRetryMs, this.#retryMs))
    return withJitter(ms, this.#settings.random)
  }

  /** Opens the connection, or returns how long the server wants to be left alone. Throws if it is of no use to retry. */
  async #connect(connection: Connection): Promise<number> {
    const request = this.#requestAfter(this.#after)
    try {
      const response = await connection.within(
        fetchOnce(this.#settings, request, connection.signal, {
          accept: 'text/event-stream',
          ...(this.#lastId === undefined ? {} : { 'last-event-id': this.#lastId }),
        }),
      )
      if (!response) throw this.#silent(request)
      if (response.ok && mediaTypeOf(response) === 'text/event-stream') {
        connection.response = response
        this.#hasConnected = true
        return 0
      }
      return await this.#refused(request, response)
    } catch (error) {
      if (this.#stop.aborted) return 0
      if (!isTemporary(error) || this.#givesUp) throw error
      return 0
    }
  }

  /** A server that was never reached is reported; one that was comes back. */
  get #givesUp(): boolean {
    return !this.#hasConnected && this.#failures >= this.#settings.retries
  }

  async #refused(request: BuiltRequest, response: Response): Promise<number> {
    if (response.ok) {
      const message = `${describeRequest(this.#settings, request)} is not a stream of events. Check the \`url\` of the client.`
      throw new PawlHttpError(message, { code: 'response_invalid', status: response.status })
    }
    const { error, retryAfterMs = 0 } = await readErrorResponse(this.#settings, request, response)
    if (!isTemporary(error) || this.#givesUp) throw error
    return Math.min(retryAfterMs, longestRetryMs)
  }

  #silent(request: BuiltRequest): PawlHttpError {
    const message = `No answer to ${describeRequest(this.#settings, request)} within ${silenceMs / 1_000} s.`
    return new PawlHttpError(message, { code: 'unavailable' })
  }

  /** The events of one connection, until it ends or breaks. */
  async *#receive(connection: Connection): AsyncGenerator<StreamEvent, void> {
    const queue: StreamEvent[] = []
    let failed: PawlHttpError | undefined
    let isOver = false
    const parser = createParser({
      maxBufferSize: maxEventSize,
      onId: (id) => this.#moveTo(id),
      onRetry: (ms) => void (this.#retryMs = Math.min(Math.max(ms, shortestRetryMs), longestRetryMs)),
      onError: (error) => {
        if (error.type === 'max-buffer-size-exceeded') failed = brokenEvent(error)
      },
      onEvent: ({ event, data, id }) => {
        if (event === 'bye') isOver = true
        else if (event === 'reset') {
          this.#moveTo(id ?? '')
          queue.push({ type: 'reset', reset: true, code: parse<{ code: string }>(data).code })
        } else queue.push(parse<StreamEvent>(data))
      },
    })
    for await (const text of connection.chunks()) {
      this.#failures = 0
      parser.feed(text)
      for (const event of queue.splice(0)) {
        if (this.#stop.aborted) return
        yield event
      }
      if (failed) throw failed
      if (isOver) return
    }
  }

  #moveTo(id: string): void {
    this.#lastId = id === '' ? undefined : id
    this.#after = undefined
  }
}

const isTemporary = (error: unknown): error is PawlHttpError =>
  error instanceof PawlHttpError &&
  (error.code === 'unavailable' || isTemporaryStatus(error.status) || error.status >= 500)

const brokenEvent = (cause: unknown): PawlHttpError =>
  new PawlHttpError('The server sent an event that cannot be read.', { code: 'response_invalid', cause })

function parse<T>(data: string): T {
  try {
    return JSON.parse(data) as T
  } catch (error) {
    throw brokenEvent(error)
  }
}

/** One request, which ends with the stream or after a long silence. */
class Connection {
  response: Response | undefined
  readonly #settings: ClientSettings
  readonly #controller = new AbortController()
  readonly #stop: AbortSignal
  readonly #abort = (): void => {
    this.#controller.abort()
    this.#endWait()
  }
  /** Ends the wait that is under way. */
  #endWait = (): void => {}

  constructor(settings: ClientSettings, stop: AbortSignal) {
    this.#settings = settings
    this.#stop = stop
    stop.addEventListener('abort', this.#abort)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  close(): void {
    this.#stop.removeEventListener('abort', this.#abort)
    this.#abort()
  }

  /** The result, or undefined if the connection is silent for too long or the stream ends. */
  async within<T>(result: Promise<T>): Promise<T | undefined> {
    // Not Promise.race() with one promise for the whole stream: it would keep a reaction for every chunk.
    const { promise, resolve, reject } = Promise.withResolvers<T | undefined>()
    const stopTimer = this.#settings.clock.timer(silenceMs, this.#abort)
    this.#endWait = () => resolve(undefined)
    if (this.signal.aborted) resolve(undefined)
    // The result is ignored when the connection is aborted, also if it fails later.
    result.then(resolve, reject)
    try {
      return await promise
    } finally {
      stopTimer()
    }
  }

  /** Time passes only while a chunk is awaited: a consumer may take longer than the server may be silent. */
  async *chunks(): AsyncGenerator<string, void> {
    const reader = this.response?.body?.getReader()
    if (!reader) return
    const decoder = new TextDecoder()
    try {
      for (;;) {
        const chunk = await this.within(reader.read().catch(() => undefined))
        if (!chunk || chunk.done) return
        yield decoder.decode(chunk.value, { stream: true })
      }
    } finally {
      this.#abort()
      reader.cancel().catch(() => {})
    }
  }
}
