// `/mcp`: the tools of the runtime for MCP clients, with the tokens of the server. Also the metadata that OAuth clients
// read to find the authorization server.

import type { Runtime } from '../index.ts'
import type { McpServer } from '../mcp/mcp.ts'
import { type Answered, identify, type Incoming, type ServerParts } from './handle-operation.ts'
import { type Authenticated, callerOf } from './http/authenticate.ts'
import { leasedStream } from './http/event-stream.ts'
import { problem, type Problem } from './http/problem.ts'
import { isProblem } from './http/read-body.ts'
import type { ServerSettings } from './options.ts'

const mcpPath = '/mcp'
const metadataPath = '/.well-known/oauth-protected-resource'

export class McpEndpoint {
  readonly #parts: ServerParts
  #server: Promise<McpServer> | null = null

  constructor(parts: ServerParts) {
    this.#parts = parts
  }

  /** The handler of the path; undefined if it is none of MCP. `path` is the one inside the base path. */
  handlerOf(path: string, pathname: string): ((incoming: Incoming) => Promise<Answered>) | undefined {
    const { mcp, basePath } = this.#parts.settings
    if (mcp === false) return undefined
    if (path === mcpPath) return (incoming) => this.#serve(incoming)
    const hasMetadata = mcp.authorizationServers.length > 0
    if (hasMetadata && (path === metadataPath || pathname === `${metadataPath}${basePath}${mcpPath}`))
      return async (incoming) => this.#metadata(incoming)
    return undefined
  }

  async #serve(incoming: Incoming): Promise<Answered> {
    const { request, url } = incoming
    const identity = await identify(this.#parts, incoming)
    if (isProblem(identity)) return this.#challenge(identity, incoming)
    const { tenant, principal, permissions } = callerOf(identity, url.searchParams.get('tenant'), 'mcp')
    if (!permissions.has('call')) return problem('forbidden', 'It lacks the right `call`.')
    const server = await (this.#server ??= openMcp(this.#parts.runtime, this.#parts.settings))
    const response = await server.fetch(request, { tenant, principal, mayDecide: permissions.has('decide') })
    return this.#leased(identity, response)
  }

  /** A stream counts as a stream of its token, and ends with it. The calls continue. */
  async #leased(identity: Authenticated, response: Response): Promise<Answered> {
    if (!response.body || !response.headers.get('content-type')?.startsWith('text/event-stream')) return response
    const lease = this.#parts.streams.open(identity)
    if (lease) return new Response(leasedStream(response.body, lease), response)
    await response.body.cancel()
    return problem('too_many_requests', undefined, { headers: { 'retry-after': '5' } })
  }

  #challenge(refused: Problem, incoming: Incoming): Problem {
    const { mcp } = this.#parts.settings
    if (refused.code !== 'unauthorized' || mcp === false || mcp.authorizationServers.length === 0) return refused
    const { origin } = new URL(this.#resource(incoming))
    const address = `${origin}${metadataPath}${this.#parts.settings.basePath}${mcpPath}`
    const challenge = `Bearer realm="pawl", resource_metadata="${address}"`
    return { ...refused, headers: { ...refused.headers, 'www-authenticate': challenge } }
  }

  #metadata(incoming: Incoming): Response {
    const { mcp } = this.#parts.settings
    const servers = mcp === false ? [] : mcp.authorizationServers
    return Response.json({
      resource: this.#resource(incoming),
      authorization_servers: servers,
      bearer_methods_supported: ['header'],
      resource_name: 'Pawl',
    })
  }

  /** The address of this endpoint as clients know it. The host of the request was checked before. */
  #resource({ url, request }: Incoming): string {
    const { mcp, basePath } = this.#parts.settings
    if (mcp !== false && mcp.resource !== undefined) return mcp.resource
    return `${url.protocol}//${request.headers.get('host') ?? url.host}${basePath}${mcpPath}`
  }

  close(): void {
    this.#server?.then((server) => server.close()).catch(() => {}) // it could not be opened
  }
}

/** Loaded with the first request: most servers have no MCP clients. */
async function openMcp(runtime: Runtime, { mcp, logger, clock }: ServerSettings): Promise<McpServer> {
  const { createMcpServer } = await import('../mcp/mcp.ts')
  const content = mcp === false ? undefined : mcp.content
  return createMcpServer(runtime, { logger, clock, ...(content ? { content } : {}) })
}
