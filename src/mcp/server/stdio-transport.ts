// The transport of stdio, which also reports what the client cancels and which responses were written. Wraps the one of
// the SDK.

import { type JSONRPCMessage, ProtocolError, type RequestId, type Transport } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { type Exchange, type McpCaller, OpenRequests, reporterOf, type Ticket } from './exchange.ts'

/** A longer message closes the connection. */
const maxMessageBytes = 10 * 1024 * 1024

const invalidRequest = -32_600

/** Methods whose handlers open their request. */
const handled = /^(?:tools|tasks|resources|prompts)\//

export class StdioTransport implements Transport, Exchange {
  readonly caller: McpCaller
  readonly #inner = new StdioServerTransport(undefined, undefined, { maxBufferSize: maxMessageBytes })
  readonly #requests = new OpenRequests()
  readonly #open = new Map<RequestId, Ticket>()
  /** Called when the connection is closed, after the SDK has heard of it. */
  onclosed?: () => void
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void

  constructor(caller: McpCaller) {
    this.caller = caller
  }

  async start(): Promise<void> {
    const onmessage = (message: JSONRPCMessage): void => {
      if (this.#admit(message)) this.onmessage?.(message)
    }
    const onclose = (): void => {
      for (const ticket of this.#open.values()) ticket.close()
      this.#open.clear()
      this.onclose?.()
      this.onclosed?.()
    }
    const onerror = (error: Error): void => this.onerror?.(error)
    Object.assign(this.#inner, { onmessage, onclose, onerror })
    await this.#inner.start()
  }

  /**
   * Registers requests when they arrive: a cancellation may be in the same piece of input, before the handler runs.
   * False: the message was answered here.
   */
  #admit(message: JSONRPCMessage): boolean {
    if (!('method' in message)) return true
    if ('id' in message) {
      if (!handled.test(message.method)) return true
      try {
        // The tickets would be mixed up: one never closes, and its progress goes on for ever.
        if (this.#open.has(message.id))
          throw new ProtocolError(invalidRequest, 'A request with this id is open. Nothing was started for the second.')
        this.#open.set(message.id, this.#requests.add(message.id))
        return true
      } catch (error) {
        const { code, message: text } = error as ProtocolError
        // Not as the answer of the open request with this id.
        this.#inner.send({ jsonrpc: '2.0', id: message.id, error: { code, message: text } }).catch(() => {}) // it has left
        return false
      }
    }
    if (message.method === 'notifications/cancelled') {
      const { requestId, reason } = (message.params ?? {}) as { requestId?: unknown; reason?: unknown }
      this.#requests.cancel(requestId, reason)
    }
    return true
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#inner.send(message)
    if ('method' in message || message.id === undefined) return
    const ticket = this.#open.get(message.id)
    this.#open.delete(message.id)
    ticket?.close()
    for (const listener of ticket?.listeners ?? []) listener()
  }

  open(id: RequestId): ReturnType<Exchange['open']> {
    const ticket = this.#open.get(id) ?? this.#requests.add(id)
    return {
      caller: this.caller,
      cancelled: ticket.cancelled,
      onDelivered: (listener) => void ticket.listeners.push(listener),
      reporter: (make) => reporterOf(ticket, make),
      close: () => {
        // A handler may be entered again: the request ends with its response. A cancelled one has none.
        if (!ticket.cancelled.aborted) return
        ticket.close()
        if (this.#open.get(id) === ticket) this.#open.delete(id)
      },
    }
  }

  close(): Promise<void> {
    return this.#inner.close()
  }
}
