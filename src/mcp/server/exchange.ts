// The open requests of clients: which were cancelled, and when their results were delivered. The transports report both
// (stdio-transport.ts, http-exchange.ts), the handlers of tools ask.

import { ProtocolError, type RequestId } from '@modelcontextprotocol/server'
import type { ProgressReporter } from './progress-reporter.ts'

/** The sender of a request; the host has authenticated it. */
export interface McpCaller {
  /** The person or service. It is the principal of the calls, and no other principal can see them. */
  readonly principal: string
  /** Tenant of the calls. */
  readonly tenant: string
  /** Whether it may decide about its own calls when the client asks its user. Default: true. */
  readonly mayDecide?: boolean
}

/** One open request. */
export interface OpenRequest {
  readonly caller: McpCaller
  /** Aborts when the client cancels the request. A closed connection does not abort it. */
  readonly cancelled: AbortSignal
  /** Calls the listener once the response was written to the transport. */
  onDelivered(listener: () => void): void
  /**
   * The reporter of its progress. A handler that is entered again for the same request gets the same one, because
   * progress must increase. It stops with the request.
   */
  reporter(make: () => ProgressReporter): ProgressReporter
  /** The handler has returned. */
  close(): void
}

/** Opens the requests of one connection or of one HTTP request. */
export interface Exchange {
  readonly caller: McpCaller
  open(id: RequestId): OpenRequest
}

/** JSON-RPC error: too many requests are open. */
const tooManyRequests = -32_000

/** More open requests of one caller are refused. */
const maxOpen = 256

/** A registered request. */
export interface Ticket {
  readonly cancelled: AbortSignal
  readonly listeners: (() => void)[]
  reporter?: ProgressReporter
  close(): void
}

/** The requests of one caller that are being answered, by their JSON-RPC ids. */
export class OpenRequests {
  readonly #open = new Map<RequestId, Set<AbortController>>()
  #size = 0

  get isEmpty(): boolean {
    return this.#size === 0
  }

  /** Registers a request. Two clients of one caller may use equal ids. */
  add(id: RequestId): Ticket {
    if (this.#size >= maxOpen)
      throw new ProtocolError(
        tooManyRequests,
        `The limit of ${maxOpen} open requests is reached. Nothing was started. Wait for results, then try again.`,
      )
    const controller = new AbortController()
    const same = this.#open.get(id) ?? new Set()
    this.#open.set(id, same.add(controller))
    this.#size++
    const ticket: Ticket = {
      cancelled: controller.signal,
      listeners: [],
      close: () => {
        ticket.reporter?.stop()
        if (!same.delete(controller)) return
        this.#size--
        if (same.size === 0) this.#open.delete(id)
      },
    }
    return ticket
  }

  /** Requests with equal ids belong to different clients, and the notification does not say which one is meant. */
  cancel(id: unknown, reason: unknown): void {
    const found = this.#open.get(id as RequestId)
    if (found?.size !== 1) return
    for (const controller of found) controller.abort(typeof reason === 'string' ? reason : undefined)
  }
}

export const reporterOf = (ticket: Ticket, make: () => ProgressReporter): ProgressReporter =>
  (ticket.reporter ??= make())
