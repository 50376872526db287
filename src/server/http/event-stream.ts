// A feed as server-sent events: ids on recorded events, heartbeats, and an explicit reset where a cursor does not work.

import type { Clock } from '../../core/clock.ts'
import { PawlError } from '../../core/errors.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import { encode } from '../../core/tool-value.ts'
import type { FeedEvent, LiveEvent } from '../../index.ts'
import type { StreamEnd, StreamLease } from './open-streams.ts'

type Feed = AsyncIterable<FeedEvent | LiveEvent>

interface EventStreamTerms {
  /** Opens the feed after a cursor; undefined: from the beginning. */
  open(after: string | undefined, signal: AbortSignal): MaybePromise<Feed>
  readonly after: string | undefined
  /** The client does not know `after`, so it is sent as the id of nothing. */
  readonly sendsCursor: boolean
  readonly lease: StreamLease
  readonly heartbeatMs: number
  readonly clock: Clock
  /** Receives errors that the client sees only by their code. */
  onError(error: unknown): void
}

export const eventStreamHeaders = {
  'content-type': 'text/event-stream',
  // Proxies that buffer responses would hold the events back.
  'x-accel-buffering': 'no',
}

/** The time after which clients connect again. */
const retryMs = 2_000

const encoder = new TextEncoder()
const heartbeat = encoder.encode(': heartbeat\n\n')

/** Readers of one session get the same events, so each is encoded once. */
const encoded = new WeakMap<FeedEvent | LiveEvent, Uint8Array>()

function formatEvent(event: FeedEvent | LiveEvent): Uint8Array {
  const known = encoded.get(event)
  if (known) return known
  // Live events are not recorded, so a client continues after the last recorded event.
  const id = event.live ? '' : `id: ${event.cursor}\n`
  const chunk = encoder.encode(`${id}event: ${event.type}\ndata: ${encode(event)}\n\n`)
  encoded.set(event, chunk)
  return chunk
}

const formatNotice = (event: 'reset' | 'bye', code: string, message: string): Uint8Array =>
  // The empty id makes a client that connects again start from the beginning.
  encoder.encode(`${event === 'reset' ? 'id\n' : ''}event: ${event}\ndata: ${JSON.stringify({ code, message })}\n\n`)

const byeTexts: Readonly<Record<StreamEnd, string>> = {
  server_closing: 'The server is shutting down. Connect again in a moment.',
  unauthorized: 'The token is not valid any more.',
}

/** Events are read from the feed only as fast as the client takes them: the feed cuts off a reader that is too slow. */
export function eventStream(terms: EventStreamTerms): ReadableStream<Uint8Array> {
  const { lease, heartbeatMs, clock, after, sendsCursor } = terms
  const stop = new AbortController()
  const end = (): void => stop.abort()
  lease.signal.addEventListener('abort', end, { once: true })
  if (lease.signal.aborted) end()
  const chunks = new Chunks(terms, stop.signal)
  let isFirst = true
  let isWaiting = false
  let stopHeartbeat = (): void => {}
  const close = async (): Promise<void> => {
    stopHeartbeat()
    lease.signal.removeEventListener('abort', end)
    lease.release()
    end()
    await chunks.close()
  }
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        // Only while the client waits: to one that does not read, more bytes are of no use.
        stopHeartbeat = clock.every(heartbeatMs, () => isWaiting && controller.enqueue(heartbeat))
      },
      async pull(controller) {
        if (isFirst) {
          isFirst = false
          return controller.enqueue(encoder.encode(`retry: ${retryMs}\n${sendsCursor ? `id: ${after}\n` : ''}\n`))
        }
        isWaiting = true
        const chunk = await chunks.next()
        isWaiting = false
        if (chunk) return controller.enqueue(chunk)
        await close()
        controller.close()
      },
      cancel: close,
    },
    { highWaterMark: 0 },
  )
}

/** The chunks of one stream, made as they are asked for. */
class Chunks {
  readonly #terms: EventStreamTerms
  readonly #signal: AbortSignal
  #from: string | undefined
  #events: AsyncIterator<FeedEvent | LiveEvent> | null = null
  #isOver = false

  constructor(terms: EventStreamTerms, signal: AbortSignal) {
    this.#terms = terms
    this.#signal = signal
    this.#from = terms.after
  }

  /** Null at the end. */
  async next(): Promise<Uint8Array | null> {
    if (this.#isOver) return null
    try {
      this.#events ??= (await this.#terms.open(this.#from, this.#signal))[Symbol.asyncIterator]()
      const { done, value } = await this.#events.next()
      if (!done) return formatEvent(value)
    } catch (error) {
      return this.#afterError(error)
    }
    this.#isOver = true
    const { lease } = this.#terms
    const why = lease.signal.aborted ? (lease.signal.reason as StreamEnd) : null
    if (why !== null) return formatNotice('bye', why, byeTexts[why])
    return this.#signal.aborted ? null : formatNotice('bye', 'server_closing', byeTexts.server_closing)
  }

  #afterError(error: unknown): Uint8Array {
    this.#events = null
    const code = error instanceof PawlError ? error.code : null
    if (code === 'cursor_expired' || code === 'cursor_invalid') {
      this.#from = undefined
      return formatNotice('reset', code, (error as PawlError).message)
    }
    this.#isOver = true
    if (code === 'reader_too_slow' || code === 'runtime_closed')
      return formatNotice('bye', code, (error as PawlError).message)
    this.#terms.onError(error)
    return formatNotice('bye', 'internal', 'The stream failed. Connect again.')
  }

  async close(): Promise<void> {
    this.#isOver = true
    await this.#events?.return?.()
  }
}

/** Passes a stream on until its lease ends. */
export function leasedStream(body: ReadableStream<Uint8Array>, lease: StreamLease): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  const ended = new Promise<null>((resolve) => {
    lease.signal.addEventListener('abort', () => resolve(null), { once: true })
    if (lease.signal.aborted) resolve(null)
  })
  const close = async (): Promise<void> => {
    lease.release()
    await reader.cancel()
  }
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await Promise.race([reader.read(), ended])
        if (next && !next.done) return controller.enqueue(next.value)
        await close()
        controller.close()
      },
      cancel: close,
    },
    { highWaterMark: 0 },
  )
}
