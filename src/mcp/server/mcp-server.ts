// Pawl as an MCP server: the tools of a runtime over stdio and streamable HTTP.

import { readFileSync } from 'node:fs'
import { createMcpHandler, type McpHttpHandler, type Server, type ServerEventBus } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { checkOptions, option, type OptionTable } from '../../core/check-options.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { type Duration, milliseconds } from '../../core/duration.ts'
import type { Logger, Runtime } from '../../index.ts'
import type { ContentSource } from '../content-source.ts'
import { CallIdentities } from './call-identity.ts'
import { ServerSecrets } from './caller-sessions.ts'
import { type McpCaller, OpenRequests } from './exchange.ts'
import { HttpExchange } from './http-exchange.ts'
import { ProgressFeed } from './progress-feed.ts'
import { makeServer } from './protocol-handlers.ts'
import { type JsonBody, readMessages } from './read-messages.ts'
import { OpenCalls, type ServerParts } from './server-parts.ts'
import { StdioTransport } from './stdio-transport.ts'

export type { McpCaller } from './exchange.ts'

/** Options of createMcpServer(). */
export interface McpServerOptions {
  /** Resources and prompts; the gateway passes those of its servers through. Default: none. */
  readonly content?: ContentSource
  /** Name of the server, for clients. Default: 'pawl'. */
  readonly name?: string
  /** Tells the model of the client how to use the tools. */
  readonly instructions?: string
  /** How long a request waits for its call before the client gets a pending result. Default: '55s'. */
  readonly patience?: Duration
  /** How often a waiting request reports progress, so that the client does not give up. Default: '12s'. */
  readonly heartbeat?: Duration
  /** A call that takes longer becomes a task, if the client supports tasks. Default: '1s'. */
  readonly taskAfter?: Duration
  /** Receives errors. Default: nothing. */
  readonly logger?: Logger
  /** Source of time, for tests. */
  readonly clock?: Clock
}

export const createMcpServerOptions = {
  content: option.object,
  name: option.nonEmptyString,
  instructions: option.string,
  patience: option.positiveDuration,
  heartbeat: option.positiveDuration,
  taskAfter: option.positiveDuration,
  logger: option.withMethods('debug', 'info', 'warn', 'error'),
  clock: option.withMethods('now', 'monotonic', 'timer', 'every', 'hold'),
} satisfies OptionTable<McpServerOptions>

/** The tools of a runtime for MCP clients; made by createMcpServer(). */
export interface McpServer {
  /** Answers a request of streamable HTTP. The host has authenticated the caller and checked host and origin. */
  fetch(request: Request, caller: McpCaller): Promise<Response>
  /** Serves one client on stdin and stdout until it closes them or the signal aborts. Nothing else may print there. */
  serveStdio(caller: McpCaller, signal?: AbortSignal): Promise<void>
  /** Ends all streams and connections. Calls continue. The runtime stays open. */
  close(): Promise<void>
}

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

const version = (): string =>
  (JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')) as { version: string }).version

/**
 * Makes an MCP server of the tools of a runtime.
 *
 * @example
 * const server = createMcpServer(runtime)
 * await server.serveStdio({ principal: 'user:ada', tenant: 'default' })
 */
export function createMcpServer(runtime: Runtime, options: McpServerOptions = {}): McpServer {
  checkOptions(options, createMcpServerOptions, 'createMcpServer()')
  const { content, name = 'pawl', instructions, logger = silent, clock = systemClock } = options
  const secrets = new ServerSecrets(runtime)
  const parts: ServerParts = {
    runtime,
    secrets,
    identities: new CallIdentities(runtime, secrets, () => clock.now(), logger),
    progress: new ProgressFeed(),
    openCalls: new OpenCalls(),
    clock,
    logger,
    patienceMs: milliseconds(options.patience ?? '55s', 'patience'),
    heartbeatMs: milliseconds(options.heartbeat ?? '12s', 'heartbeat'),
    taskAfterMs: milliseconds(options.taskAfter ?? '1s', 'taskAfter'),
  }
  const identity = { name, version: version(), ...(instructions === undefined ? {} : { instructions }) }
  const report = (error: Error): void => logger.debug('An MCP message was refused', { error })
  const http = new HttpEndpoint((exchange) => makeServer(parts, exchange, identity, content), report)
  const connections = new Set<{ readonly server: () => Server | undefined; close(): Promise<void> }>()
  const stopWatching = watchChanges(runtime, content, http.bus, clock, () =>
    [...connections].flatMap(({ server }) => server() ?? []),
  )
  return {
    fetch: (request, caller) => http.fetch(request, caller),
    async serveStdio(caller, signal) {
      const transport = new StdioTransport(caller)
      let server: Server | undefined
      const closed = new Promise<void>((resolve) => {
        transport.onclosed = resolve
      })
      const handle = serveStdio(() => (server = makeServer(parts, transport, identity, content)), {
        transport,
        onerror: report,
      })
      const connection = { server: () => server, close: () => handle.close() }
      connections.add(connection)
      const stop = (): void => void handle.close().catch(report)
      if (signal?.aborted) stop()
      else signal?.addEventListener('abort', stop, { once: true })
      await closed
      signal?.removeEventListener('abort', stop)
      connections.delete(connection)
    },
    async close() {
      stopWatching()
      await Promise.all([http.close(), ...[...connections].map((connection) => connection.close())])
      parts.progress.close()
    },
  }
}

/** Changes within this time are announced once. */
const announceAfterMs = 50

/** Announces changed lists: to streams of HTTP clients and to connections of stdio. */
function watchChanges(
  runtime: Runtime,
  content: ContentSource | undefined,
  bus: ServerEventBus,
  clock: Clock,
  servers: () => readonly Server[],
): () => void {
  type List = 'tools' | 'resources' | 'prompts'
  const changed = new Set<List>()
  const announce = (): void => {
    for (const what of changed) {
      bus.publish({ kind: `${what}_list_changed` })
      for (const server of servers())
        server.notification({ method: `notifications/${what}/list_changed` }).catch(() => {}) // the client has left
    }
    changed.clear()
  }
  let stopTimer = (): void => {}
  const notify = (what: List): void => {
    if (changed.size === 0) stopTimer = clock.timer(announceAfterMs, announce)
    changed.add(what)
  }
  const stopTools = runtime.tools.onChange(() => notify('tools'))
  const stopContent = content?.onChange?.(notify)
  return () => {
    stopTimer()
    stopTools()
    stopContent?.()
  }
}

/** With more callers, those without an open request are forgotten. */
const maxCallers = 10_000

/** Requests of streamable HTTP: each one is an exchange of its own. */
class HttpEndpoint {
  readonly #handler: McpHttpHandler
  /** Open requests by caller, because a cancellation comes in another HTTP request. */
  readonly #open = new Map<string, OpenRequests>()

  constructor(make: (exchange: HttpExchange) => Server, report: (error: Error) => void) {
    this.#handler = createMcpHandler(({ authInfo }) => make(authInfo?.extra?.exchange as HttpExchange), {
      onerror: report,
    })
  }

  get bus(): ServerEventBus {
    return this.#handler.bus
  }

  async fetch(request: Request, caller: McpCaller): Promise<Response> {
    const body: JsonBody = await readMessages(request)
    if (body instanceof Response) return body
    const name = JSON.stringify([caller.tenant, caller.principal])
    const requests = this.#open.get(name) ?? new OpenRequests()
    if (this.#open.size >= maxCallers) this.#forgetIdle()
    this.#open.set(name, requests)
    for (const { requestId, reason } of body?.cancelled ?? []) requests.cancel(requestId, reason)
    const exchange = new HttpExchange(caller, requests, request.signal)
    const authInfo = { token: '', clientId: caller.principal, scopes: [], extra: { exchange } }
    const parsed = body === null ? {} : { parsedBody: body.message }
    return exchange.track(await this.#handler.fetch(request, { authInfo, ...parsed }))
  }

  #forgetIdle(): void {
    for (const [name, requests] of this.#open) if (requests.isEmpty) this.#open.delete(name)
  }

  close(): Promise<void> {
    return this.#handler.close()
  }
}
