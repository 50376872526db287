// Handles a request for an operation of the route table: authenticate, check the right, validate, run, respond.

import { type FeedEvent, type LiveEvent, type Runtime, withTraceparent } from '../index.ts'
import type { OperationName } from './endpoints.ts'
import { type Authenticated, authenticate, callerOf } from './http/authenticate.ts'
import { eventStream, eventStreamHeaders, leasedStream } from './http/event-stream.ts'
import type { RouteMatch } from './http/match-route.ts'
import type { OpenStreams, StreamLease } from './http/open-streams.ts'
import { problem, type Problem } from './http/problem.ts'
import type { KnownCredentials } from './http/known-credentials.ts'
import type { RateLimit } from './http/rate-limits.ts'
import { isProblem } from './http/read-body.ts'
import type { Reply } from './http/reply.ts'
import { readInput } from './http/read-input.ts'
import { downloadResponse, jsonReply } from './http/respond.ts'
import type { Download, OperationContext } from './operations/context.ts'
import { runOperation } from './operations/operations.ts'
import type { ServerSettings } from './options.ts'
import type { Caller } from './permissions.ts'
import type { Route } from './routes/route.ts'
import { routes } from './routes/routes.ts'

export interface ServerParts {
  readonly runtime: Runtime
  readonly settings: ServerSettings
  readonly streams: OpenStreams
  readonly requests: RateLimit
  /** Limits requests without a valid token, per address. */
  readonly refusals: RateLimit
  readonly known: KnownCredentials
}

/** The host did not say where a request comes from. */
export const unknownAddress = 'unknown'

/** A request with what is known about it before it is read. */
export interface Incoming {
  readonly request: Request
  readonly url: URL
  /** The address of the client, as far as the host knows it. */
  readonly address: string
}

/** A problem becomes a reply once the id of the request is known. */
export type Answered = Response | Reply | Problem
type Handled = Promise<Answered>

const tooMany = (seconds: number): Problem =>
  problem('too_many_requests', undefined, { headers: { 'retry-after': String(seconds) } })

/**
 * A wrong guess costs the address one of its refusals. Without any left, only credentials that worked before are looked
 * at, so that guesses do not lock out the other clients behind the same proxy.
 */
export async function identify(
  { runtime, settings, refusals, requests, known }: ServerParts,
  { request, address }: Incoming,
): Promise<Authenticated | Problem> {
  // Without credentials nothing is guessed.
  const isGuess = request.headers.has('authorization') || request.headers.has('cookie')
  if (isGuess && refusals.isEmpty(address) && !known.has(request)) return tooMany(1)
  const identity = await authenticate({ ...settings, runtime }, request)
  if (identity) known.add(request)
  else {
    known.delete(request)
    // Without addresses, one client could use up the refusals of all.
    const wait = !isGuess || address === unknownAddress ? 0 : refusals.take(address)
    if (wait > 0) return tooMany(wait)
    return problem('unauthorized', undefined, { headers: { 'www-authenticate': 'Bearer realm="pawl"' } })
  }
  const wait = requests.take(identity.holder)
  return wait > 0 ? tooMany(wait) : identity
}

/** Stands for a request whose body carries a secret of its own. */
const anyone: Omit<Authenticated, 'holder' | 'credential'> = {
  principal: 'anyone',
  roles: [],
  tenant: 'default',
  verify: async () => true,
}

async function identifyFor(parts: ServerParts, incoming: Incoming, route: Route): Promise<Authenticated | Problem> {
  if (route.needs !== 'anyone') return identify(parts, incoming)
  const wait = parts.requests.take(incoming.address)
  return wait > 0 ? tooMany(wait) : { ...anyone, holder: incoming.address, credential: incoming.address }
}

function checkRight(caller: Caller, { needs, wholeStore }: Route): Problem | null {
  if (needs !== 'anyone' && !caller.permissions.has(needs))
    return problem('forbidden', `It lacks the right \`${needs}\`.`)
  if (wholeStore && !caller.wholeStore)
    return problem(
      'forbidden',
      'This is about the whole store, and the token is limited to one tenant; it needs a token for all tenants.',
    )
  return null
}

/**
 * A page may name the caller that it was opened for, as `<tenant>/<principal>` with percent encoding: the cookie of a
 * browser may be that of another person by now, who would act under the wrong name.
 */
function checkNamedCaller({ tenant, principal }: Caller, request: Request): Problem | null {
  const named = request.headers.get('x-pawl-caller')
  if (named === null || named === [tenant, principal].map((part) => encodeURIComponent(part.toWellFormed())).join('/'))
    return null
  return problem('precondition_failed', 'Another person is signed in by now.')
}

export async function handleOperation(parts: ServerParts, incoming: Incoming, match: RouteMatch): Handled {
  const { settings } = parts
  const { request, url } = incoming
  const route: Route = routes[match.name]
  const identity = await identifyFor(parts, incoming, route)
  if (isProblem(identity)) return identity
  const caller = callerOf(identity, route.needs === 'anyone' ? null : url.searchParams.get('tenant'), 'http')
  const refused = (route.needs === 'anyone' ? null : checkNamedCaller(caller, request)) ?? checkRight(caller, route)
  if (refused) return refused
  const { jsonBytes: json, uploadBytes: upload } = settings.limits
  const read = await readInput(request, url, match, route, { json, upload })
  if (isProblem(read)) return read
  const context = { ...parts, ...settings, caller, signal: request.signal }
  if (route.kind === 'events') return streamEvents(parts, context, identity, match.name, read.input, request)
  // The calls that the operation requests belong to the trace of the request.
  const traceparent = request.headers.get('traceparent')
  const result = await withTraceparent(traceparent, () => runOperation(match.name, context, read.input))
  if (route.kind === 'download') return downloadResponse(result as Download)
  if (route.kind === 'chat') return leaseBody(parts, identity, result as Response)
  return jsonReply(match.name, result)
}

/** Null: the holder has too many streams open. */
const openLease = ({ streams }: ServerParts, identity: Authenticated): StreamLease | null => streams.open(identity)

async function streamEvents(
  parts: ServerParts,
  context: OperationContext,
  identity: Authenticated,
  name: OperationName,
  input: Readonly<Record<string, unknown>>,
  request: Request,
): Handled {
  const { heartbeatMs, clock, logger } = parts.settings
  const { after: given, ...options } = input
  const lastEventId = request.headers.get('last-event-id')
  const wanted = lastEventId === null || lastEventId === '' ? (given as string | undefined) : lastEventId
  // A client that is cut off before the first event continues here and misses nothing.
  const after = wanted === 'now' ? await parts.runtime.cursor() : wanted
  const lease = openLease(parts, identity)
  if (!lease) return tooMany(5)
  const body = eventStream({
    async open(from, signal) {
      const query = { ...options, ...(from === undefined ? {} : { after: from }) }
      return (await runOperation(name, { ...context, signal }, query)) as AsyncIterable<FeedEvent | LiveEvent>
    },
    after,
    sendsCursor: wanted === 'now',
    lease,
    heartbeatMs,
    clock,
    onError: (error) => logger.error('A stream of events failed', { error }),
  })
  return new Response(body, { headers: eventStreamHeaders })
}

/** A chat stream counts as a stream of its token, and ends with it. */
async function leaseBody(parts: ServerParts, identity: Authenticated, response: Response): Handled {
  if (!response.ok) return refusalOfChat(response.status, await response.text())
  if (!response.body) return response
  const lease = openLease(parts, identity)
  if (lease) {
    response.headers.set('cache-control', 'no-store')
    return new Response(leasedStream(response.body, lease), { headers: response.headers })
  }
  await response.body.cancel()
  return tooMany(5)
}

/** The chat adapter refuses in plain text, because `useChat` shows it. */
function refusalOfChat(status: number, text: string): Problem {
  if (status === 404) return problem('not_found', text)
  if (status === 409) return problem('request_conflict', text)
  return status === 503 ? problem('server_closing') : problem('request_invalid', text)
}
