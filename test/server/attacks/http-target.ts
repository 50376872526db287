// HTTP as a door for the attacks on approvals: each request carries a person and a tenant in its authentication, as a
// token does. Restarts, crashes, the clock and what has no route are the library's.

import type { CallAsk, DecideAnswer, InboxItem, InboxQuery, RememberedRule, Runtime } from 'pawl'
import { createServer, type Server } from 'pawl/server'
import type { Door, Who } from '../../approvals/attacks/attack-interface.ts'
import { type LibraryDoor, libraryDoor, type Place } from '../../approvals/attacks/library-target.ts'

type Json = Record<string, unknown>
interface Sent {
  readonly as?: { readonly by: string; readonly tenant: string }
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}
interface Got {
  readonly status: number
  readonly body: Json
}

/** A server whose authentication is two headers: who asks, in which tenant. */
export const serverWithPeople = (runtime: Runtime, place: Pick<Place, 'clock'>): Server =>
  createServer(runtime, {
    clock: place.clock,
    limits: { requestsPerSecond: 1e9, refusalsPerMinute: 1e9 },
    authenticate: ({ headers }) => {
      const by = headers.get('x-user')
      if (by === null) return null
      return {
        principal: decodeURIComponent(by),
        roles: ['operator'],
        tenant: decodeURIComponent(headers.get('x-tenant') ?? ''),
      }
    },
  })

export async function send(
  server: Server,
  method: string,
  path: string,
  { as, body, headers = {} }: Sent,
): Promise<Got> {
  const people = as ? { 'x-user': encodeURIComponent(as.by), 'x-tenant': encodeURIComponent(as.tenant) } : {}
  const text = body === undefined ? undefined : JSON.stringify(body)
  const response = await server.fetch(
    new Request(`http://localhost${path}`, {
      method,
      headers: { ...people, ...(text === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(text === undefined ? {} : { body: text }),
    }),
  )
  return { status: response.status, body: (await response.json()) as Json }
}

export interface HttpDoor extends LibraryDoor {
  readonly server: Server
}

/** `programAsks`: calls come from the host program, which may name no requester. A token always has a person. */
export function httpDoor(place: Place, programAsks = false): HttpDoor {
  const library = libraryDoor(place)
  const servers = new WeakMap<Runtime, Server>()
  const server = (): Server => {
    const made = servers.get(library.runtime) ?? serverWithPeople(library.runtime, place)
    servers.set(library.runtime, made)
    return made
  }
  const tenants = new Set(['acme'])
  const asked = ({ tenant = 'acme', principal = 'user:asker' }: Who = {}) => {
    tenants.add(tenant)
    return { as: { by: principal, tenant } }
  }
  const pathOf = ({ session = 'chat' }: Who = {}): string => `/v1/sessions/${encodeURIComponent(session)}`

  const ask: Door['ask'] = async (call: CallAsk, who = {}) => {
    // The policy of a session is set by the host.
    if (who.policy || programAsks) return library.ask(call, who)
    const [path, body] =
      who.batch === undefined
        ? [`${pathOf(who)}/calls`, { ...call, until: 'waiting' }]
        : [`${pathOf(who)}/batches`, { calls: [call], batch: who.batch, until: 'waiting' }]
    const got = await send(server(), 'POST', path, { ...asked(who), body })
    if (got.status === 409) return ((got.body.answer as Json).failure as Json).code as string
    if (got.status >= 400) throw new Error(JSON.stringify(got))
    const outcome = (who.batch === undefined ? got.body : (got.body.outcomes as Json[])[0]) as Json
    return outcome.status === 'failure' ? ((outcome.failure as Json).code as string) : (outcome.status as string)
  }

  const inboxOf = async (tenant: string, query: InboxQuery): Promise<InboxItem[]> => {
    const { tenant: _, ...rest } = query
    const search = new URLSearchParams({ limit: '1000', ...(rest as Record<string, string>) })
    const got = await send(server(), 'GET', `/v1/inbox?${search}`, { as: { by: 'user:reader', tenant } })
    return got.body as unknown as InboxItem[]
  }

  async function decide(id: string, decision: unknown): Promise<DecideAnswer> {
    // Only texts can be in a path, and only JSON in a body.
    if (typeof id !== 'string') return { answer: 'unknown' }
    let given: Json
    try {
      given = JSON.parse(JSON.stringify(decision) ?? 'null') as Json
      if (typeof given !== 'object' || given === null || Array.isArray(given)) given = { decision: given }
    } catch {
      return { answer: 'invalid', problems: ['It is not JSON.'] }
    }
    const { by, tenant = 'acme', session, ...rest } = given
    if (
      session !== undefined &&
      !(await inboxOf('acme', { session: session as string })).some((item) => item.id === id)
    )
      return { answer: 'unknown' }
    const isSendable = typeof by === 'string' && by.isWellFormed() && typeof tenant === 'string'
    const terms = isSendable
      ? { as: { by, tenant }, body: rest }
      : { as: { by: 'user:bea', tenant: 'acme' }, body: given }
    // Without a person there is no token.
    const { as, ...anonymous } = terms
    const path = `/v1/inbox/${encodeURIComponent(id.toWellFormed())}/decision`
    const got = await send(server(), 'POST', path, by === undefined ? anonymous : { as, ...anonymous })
    return answerOf(got)
  }

  return {
    ran: library.ran,
    secret: library.secret,
    start: library.start,
    rest: library.rest,
    crash: library.crash,
    close: library.close,
    supersede: library.supersede,
    advance: library.advance,
    stolen: library.stolen,
    get runtime() {
      return library.runtime
    },
    get server() {
      return server()
    },
    ask,
    decide,
    submit: (call, who = {}) => (who.policy ? library.submit(call, who) : void ask(call, who).catch(() => {})),
    async inbox(query = {}) {
      if (query.tenant !== undefined) return inboxOf(query.tenant, query)
      const found = await Promise.all([...tenants].map((tenant) => inboxOf(tenant, query)))
      return found.flat().toSorted((a, b) => (a.id < b.id ? -1 : 1))
    },
    async cancel(who = {}) {
      const body = { reason: 'never mind' }
      return (await send(server(), 'POST', `${pathOf(who)}/cancel`, { ...asked(who), body })).body.cancelled as number
    },
    async answer(callId, answer, who = {}) {
      const path = `${pathOf(who)}/client-calls/${encodeURIComponent(callId)}/answer`
      return resolutionOf(await send(server(), 'POST', path, { ...asked(who), body: answer }))
    },
    resolve: async (key, answer) =>
      resolutionOf(await send(server(), 'POST', '/v1/waits/resolve', { body: { key, ...answer } })),
    rules: async (tenant = 'acme') =>
      (await send(server(), 'GET', '/v1/rules', { as: { by: 'user:reader', tenant } }))
        .body as unknown as RememberedRule[],
    revoke: async (rule, by, tenant = 'acme') =>
      (await send(server(), 'DELETE', `/v1/rules/${rule}`, { as: { by, tenant } })).body.changed as boolean,
  }
}

/** The answer of decide() in a response. */
export function answerOf({ status, body }: Got): DecideAnswer {
  if (status === 200) return body as unknown as DecideAnswer
  if (body.answer !== undefined) return body.answer as DecideAnswer
  const problems = (body.problems ?? []) as { path: string; message: string }[]
  // A text that cannot be an id names nothing.
  if (status === 404 || problems.some(({ path }) => path === 'item')) return { answer: 'unknown' }
  if (status === 400 || status === 401 || status === 413)
    return { answer: 'invalid', problems: [body.detail as string] }
  throw new Error(JSON.stringify({ status, body }))
}

function resolutionOf({ status, body }: Got): string {
  if (status === 200) return body.answer as string
  if (status === 404) return 'unknown_or_revoked'
  if (status === 400) return 'invalid'
  return (body.answer as Json).answer as string
}
