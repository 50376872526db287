// The exchange of one HTTP request: its response counts as delivered when its last byte was taken by the connection.

import type { RequestId } from '@modelcontextprotocol/server'
import { type Exchange, type McpCaller, type OpenRequests, reporterOf } from './exchange.ts'

export class HttpExchange implements Exchange {
  readonly caller: McpCaller
  readonly #requests: OpenRequests
  readonly #connection: AbortSignal
  #listeners: (() => void)[] = []

  constructor(caller: McpCaller, requests: OpenRequests, connection: AbortSignal) {
    this.caller = caller
    this.#requests = requests
    this.#connection = connection
  }

  open(id: RequestId): ReturnType<Exchange['open']> {
    const ticket = this.#requests.add(id)
    return {
      caller: this.caller,
      cancelled: ticket.cancelled,
      onDelivered: (listener) => void this.#listeners.push(listener),
      reporter: (make) => reporterOf(ticket, make),
      close: ticket.close,
    }
  }

  /** The response, whose body reports that it was read to its end. */
  track(response: Response): Response {
    const { body, status, statusText, headers } = response
    if (!body) return response
    const reader = body.getReader()
    const tracked = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const { done, value } = await reader.read()
          if (!done) return controller.enqueue(value)
          controller.close()
          this.#delivered()
        },
        cancel: (reason) => reader.cancel(reason),
      },
      // The end is reached only when the connection asks for more after the last piece.
      { highWaterMark: 0 },
    )
    return new Response(tracked, { status, statusText, headers })
  }

  #delivered(): void {
    if (this.#connection.aborted) return
    const listeners = this.#listeners
    this.#listeners = []
    for (const listener of listeners) listener()
  }
}
