// createServer(): the handler of a server, without a socket. It checks where a request comes from, finds its page or
// operation, and makes every failure a response.

import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Runtime } from '../index.ts'
import { ConsoleFiles } from './console/console-files.ts'
import {
  type Answered,
  handleOperation,
  identify,
  type Incoming,
  type ServerParts,
  unknownAddress,
} from './handle-operation.ts'
import { type Authenticated, browserTokenName, callerOf, cookieName, presentedToken } from './http/authenticate.ts'
import { KnownCredentials } from './http/known-credentials.ts'
import { matchRoute } from './http/match-route.ts'
import { OpenStreams } from './http/open-streams.ts'
import { problem, type Problem, problemOf, problemReply } from './http/problem.ts'
import { RateLimit } from './http/rate-limits.ts'
import { isProblem, readBytes } from './http/read-body.ts'
import { type Reply, replyOf, toResponse } from './http/reply.ts'
import { type AllowedHosts, isAllowedHost, isAllowedOrigin, withSecurityHeaders } from './http/security-headers.ts'
import { loginCookie, LoginCodes } from './login-codes.ts'
import { McpEndpoint } from './mcp-endpoint.ts'
import { Metrics } from './metrics/metrics.ts'
import { readServerOptions, type ServerOptions, type ServerSettings } from './options.ts'
import { permissionsOfRoles } from './permissions.ts'

/** Facts that the host knows about a request, besides the request itself. */
export interface RequestInfo {
  /** The address of the client. Wrong tokens are counted per address. */
  readonly address?: string | undefined
}

/** A server without a socket: pass its `fetch` to Hono, Express, Next.js or any other host. */
export interface Server {
  /**
   * Answers a request. It never rejects: every failure is a response.
   *
   * @example
   * const app = new Hono()
   * app.all('/pawl/*', (c) => server.fetch(c.req.raw))
   */
  fetch(request: Request, info?: RequestInfo): Promise<Response>
  /**
   * Makes a code that logs a browser in once, at `/login?code=…`, with the rights of a token for all tenants. It works
   * for five minutes.
   */
  loginCode(identity: { readonly principal: string; readonly roles: Authenticated['roles'] }): string
  /** Refuses new requests and ends all streams. Requests that are being answered go on. */
  close(): void
}

const version = (): string =>
  (JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }).version

/** A server whose replies need not be made responses. startServer() uses it. */
export interface ReplyingServer extends Server {
  reply(request: Request, info?: RequestInfo): Promise<Reply>
}

/**
 * Makes a handler for HTTP requests on a runtime. Tokens come from `runtime.tokens`, the options, or the host's own
 * authentication.
 *
 * @example
 * const server = createServer(runtime, { allowedHosts: ['agents.example.com'] })
 * export default { fetch: server.fetch }
 */
export function createServer(runtime: Runtime, options?: ServerOptions): Server {
  const { fetch, loginCode, close } = openServer(runtime, options)
  return { fetch, loginCode, close }
}

export function openServer(
  runtime: Runtime,
  options: ServerOptions | undefined,
  defaultHosts?: AllowedHosts,
): ReplyingServer {
  const settings = readServerOptions(options, defaultHosts)
  const { clock, limits, heartbeatMs } = settings
  const streams = new OpenStreams(limits.streams, heartbeatMs, clock)
  const parts: ServerParts = {
    runtime,
    settings,
    streams,
    requests: new RateLimit(limits.requestsPerSecond, limits.requestsPerSecond * 2, clock),
    known: new KnownCredentials(),
    refusals: new RateLimit(limits.refusalsPerMinute / 60, limits.refusalsPerMinute, clock),
  }
  const mcp = new McpEndpoint(parts)
  const metrics = new Metrics(runtime, clock)
  const logins = new LoginCodes(clock)
  const console = settings.console && ConsoleFiles.open(settings.console.folder)
  let isClosing = false

  /** Pages and documents that are no operations, by path. */
  const pages: Readonly<Record<string, (incoming: Incoming) => Response | Problem | Promise<Response | Problem>>> = {
    '/': (incoming) => start(parts, incoming),
    '/healthz': () => textResponse('ok\n'),
    '/readyz': () => readiness(runtime, isClosing),
    '/openapi.json': async () => {
      const { openApiDocument } = await import('./openapi.ts')
      return Response.json(openApiDocument(version()))
    },
    '/docs': async () => (await import('./pages/docs-page.ts')).docsPage(),
    '/metrics': (incoming) => renderMetrics(parts, metrics, incoming),
    '/login': (incoming) => login(parts, incoming, logins),
    '/logout': (incoming) => logout(runtime, incoming, settings.basePath),
  }

  async function answer(incoming: Incoming): Promise<{ operation: string; answered: Answered }> {
    const { request, url } = incoming
    const { basePath } = settings
    // The metadata of a resource is at the root of its host.
    const metadata = url.pathname.startsWith('/.well-known/') ? mcp.handlerOf('', url.pathname) : undefined
    if (metadata) return { operation: '/mcp', answered: await metadata(incoming) }
    const isInside = basePath === '' || url.pathname === basePath || url.pathname.startsWith(`${basePath}/`)
    if (!isInside) return { operation: 'none', answered: problem('not_found', 'There is no such path.') }
    const path = url.pathname.slice(basePath.length) || '/'
    if (console && !isClosing && isRead(request)) {
      const response = await console.respond(request, path, basePath)
      if (response) return { operation: 'console', answered: response }
    }
    const page = pages[path]
    if (page && Object.hasOwn(pages, path)) {
      if (isClosing && path !== '/healthz' && path !== '/readyz') return { operation: path, answered: closing() }
      const mayRun = isRead(request) || path === '/logout' || path === '/login'
      return { operation: path, answered: mayRun ? await page(incoming) : methodNotAllowed(['GET', 'HEAD']) }
    }
    if (isClosing) return { operation: 'closing', answered: closing() }
    const serveMcp = mcp.handlerOf(path, url.pathname)
    if (serveMcp) return { operation: '/mcp', answered: await serveMcp(incoming) }
    if (path.startsWith('/decide/'))
      return { operation: '/decide', answered: await decision(parts, incoming, path, console ? basePath : null) }
    const match = matchRoute(request.method, path)
    if (!match) return { operation: 'none', answered: problem('not_found', 'There is no such path.') }
    if ('allow' in match) return { operation: 'none', answered: methodNotAllowed(match.allow) }
    return { operation: match.name, answered: await handleOperation(parts, incoming, match) }
  }

  async function reply(request: Request, info: RequestInfo = {}): Promise<Reply> {
    const startedAt = clock.monotonic()
    const requestId = randomUUID()
    let operation = 'none'
    let answered: Answered
    try {
      // A name such as 999.1.1.1 makes no URL.
      const url = URL.parse(request.url)
      const incoming = url && { request, url, address: info.address ?? unknownAddress }
      const refused = incoming && checkHostAndOrigin(settings, incoming)
      if (!incoming || refused) answered = refused ?? problem('host_refused')
      else ({ operation, answered } = await answer(incoming))
    } catch (error) {
      answered = problemOf(error) ?? problem('internal')
      if (answered.status >= 500) settings.logger.error('A request failed', { requestId, operation, error })
    }
    const replied = isProblem(answered)
      ? problemReply(answered, requestId)
      : 'ok' in answered
        ? replyOf(answered)
        : answered
    metrics.record(operation, replied.status, (clock.monotonic() - startedAt) / 1_000)
    // Otherwise a stream without a reader would stay open.
    if (request.method === 'HEAD' && replied.body instanceof ReadableStream) void replied.body.cancel()
    const shown = request.method === 'HEAD' ? { ...replied, body: null } : replied
    return withSecurityHeaders(withCors(shown, request, settings), requestId)
  }

  return {
    reply,
    fetch: async (request, info) => toResponse(await reply(request, info)),
    loginCode: (identity) => logins.create({ ...identity, tenant: null }),
    close() {
      isClosing = true
      streams.close()
      mcp.close()
      metrics.close()
    },
  }
}

const textResponse = (text: string, status = 200): Response =>
  new Response(text, { status, headers: { 'content-type': 'text/plain; charset=utf-8' } })

const closing = (): Problem =>
  problem('server_closing', undefined, { headers: { 'retry-after': '1', connection: 'close' } })

const methodNotAllowed = (allow: readonly string[]): Problem =>
  problem('method_not_allowed', undefined, { headers: { allow: allow.join(', ') } })

const isRead = ({ method }: Request): boolean => method === 'GET' || method === 'HEAD'

/** Ready: the store answers, and the server is not closing. */
async function readiness(runtime: Runtime, isClosing: boolean): Promise<Response> {
  if (isClosing) return textResponse('closing\n', 503)
  try {
    await runtime.sessions.list({ limit: 1 })
    return textResponse('ready\n')
  } catch {
    return textResponse('the store does not answer\n', 503)
  }
}

function checkHostAndOrigin(
  { allowedHosts, allowedOrigins }: ServerSettings,
  { request, url }: Incoming,
): Problem | null {
  const host = request.headers.get('host') ?? url.host
  if (!isAllowedHost(host, allowedHosts)) return problem('host_refused')
  return isAllowedOrigin(request, host, allowedOrigins) ? null : problem('host_refused', undefined, { status: 403 })
}

/** Pages of allowed origins may read responses. They send tokens, never the cookie. */
function withCors(reply: Reply, request: Request, { allowedOrigins }: ServerSettings): Reply {
  const origin = request.headers.get('origin')
  if (origin === null || !allowedOrigins.includes(origin)) return reply
  const headers = {
    ...reply.headers,
    'access-control-allow-origin': origin,
    vary: 'origin',
    'cross-origin-resource-policy': 'cross-origin',
    'access-control-expose-headers': 'etag, retry-after, www-authenticate, x-request-id',
  }
  if (request.method !== 'OPTIONS') return { ...reply, headers }
  const preflight = {
    'access-control-allow-methods': 'GET, POST, PUT, DELETE',
    'access-control-allow-headers':
      'authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id, mcp-protocol-version, mcp-method, mcp-name',
    'access-control-max-age': '600',
  }
  return { status: 204, headers: { ...headers, ...preflight }, body: null }
}

async function renderMetrics(parts: ServerParts, metrics: Metrics, incoming: Incoming): Promise<Response | Problem> {
  const identity = await identify(parts, incoming)
  if (isProblem(identity)) return identity
  if (identity.tenant !== null || !permissionsOfRoles(identity.roles).has('operate'))
    return problem('forbidden', 'Metrics are about the whole store and need the right `operate` for all tenants.')
  const text = await metrics.render(parts.streams.size)
  return new Response(text, { headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' } })
}

/** Without a login the page says how to get one. */
async function start(parts: ServerParts, incoming: Incoming): Promise<Response | Problem> {
  const { settings, runtime } = parts
  const { startPage, loginNeeded } = await import('./pages/start-page.ts')
  const identity = await identify(parts, incoming)
  if (isProblem(identity)) return identity.code === 'unauthorized' ? loginNeeded(settings.basePath) : identity
  return startPage(runtime, callerOf(identity, incoming.url.searchParams.get('tenant'), 'http'), settings.basePath)
}

/** The longest form that the decision page posts. */
const maxFormBytes = 64 * 1024

/** `console`: the path under which the console is served; null if it is not. */
async function decision(
  parts: ServerParts,
  { request, address }: Incoming,
  path: string,
  console: string | null,
): Promise<Response | Problem> {
  const wait = parts.requests.take(address)
  if (wait > 0) return problem('too_many_requests', undefined, { headers: { 'retry-after': String(wait) } })
  const { showDecision, postDecision } = await import('./pages/decision-page.ts')
  const link = path.slice('/decide/'.length)
  if (request.method === 'GET' || request.method === 'HEAD') return showDecision(parts.runtime, link, console)
  if (request.method !== 'POST') return methodNotAllowed(['GET', 'HEAD', 'POST'])
  const bytes = await readBytes(request, maxFormBytes)
  if (isProblem(bytes)) return bytes
  return postDecision(parts.runtime, link, new URLSearchParams(new TextDecoder().decode(bytes)))
}

/** GET: with a code of the start. POST: with a token, which becomes the cookie, so that it works until it is revoked. */
async function login(parts: ServerParts, incoming: Incoming, logins: LoginCodes): Promise<Response | Problem> {
  const { url, request } = incoming
  const { basePath } = parts.settings
  if (isRead(request)) return logins.use(parts.runtime, url, request, basePath)
  if (request.method !== 'POST') return methodNotAllowed(['GET', 'HEAD', 'POST'])
  // Otherwise the cookie would be the proof, and a page could renew it for ever.
  if (!request.headers.has('authorization')) return problem('unauthorized')
  const identity = await identify(parts, incoming)
  if (isProblem(identity)) return identity
  const token = presentedToken(request) ?? ''
  // The host's own authentication may accept requests whose token is no token.
  if (!/^[^;]+$/.test(token)) return problem('unauthorized')
  const cookie = loginCookie(token, url, basePath)
  return new Response(null, { status: 204, headers: { 'set-cookie': cookie } })
}

/** Also the token ends, so that a copy of the cookie is of no use. */
async function logout(runtime: Runtime, { request }: Incoming, basePath: string): Promise<Response | Problem> {
  if (request.method !== 'POST') return methodNotAllowed(['POST'])
  const token = await runtime.tokens.verify(presentedToken(request) ?? '')
  if (token?.name === browserTokenName) await runtime.tokens.revoke(token.id, { by: token.principal })
  const cookie = `${cookieName}=; Path=${basePath === '' ? '/' : basePath}; Max-Age=0; HttpOnly; SameSite=Strict`
  return new Response(null, { status: 204, headers: { 'set-cookie': cookie } })
}
