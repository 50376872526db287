// Streams of identities that change while they are open: the host's own authentication, and tokens beside it.

import { afterEach, beforeEach, expect, test } from 'vitest'
import { createRuntime, type Runtime } from 'pawl'
import { createServer, type Identity, type Server } from 'pawl/server'
import { manualClock } from 'pawl/testing'

const clock = manualClock()
let runtime: Runtime
let server: Server
let identity: Identity | null | Promise<null>
beforeEach(async () => {
  runtime = await createRuntime({ store: 'memory:' })
  const authenticate = (request: Request) => (request.headers.has('authorization') ? null : identity)
  server = createServer(runtime, { authenticate, clock, allowedHosts: ['*'] })
})
afterEach(async () => {
  server.close()
  await runtime.close()
})

const open = (path: string, headers = {}): Promise<Response> =>
  server.fetch(new Request(`http://localhost${path}`, { headers }))

/** The text of the stream up to its end, or up to its second heartbeat. */
async function endOf(response: Response): Promise<string> {
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const decoder = new TextDecoder()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text
    text += decoder.decode(value)
    if (text.split(': heartbeat').length < 3) continue
    void reader.cancel()
    return text
  }
}

const ada: Identity = { principal: 'user:ada', roles: ['operator'], tenant: null }

test.for<[what: string, now: Identity | null]>([
  ['is signed out', null],
  ['is another person', { ...ada, principal: 'user:bob' }],
  ['has lost a role', { ...ada, roles: ['viewer'] }],
  ['has no role any more', { ...ada, roles: [] }],
  ['is limited to a tenant', { ...ada, tenant: 'acme' }],
  ['is limited to the default tenant', { principal: ada.principal, roles: ada.roles }],
])('DOOR-1: a stream ends within one heartbeat when its person %s', async ([, now]) => {
  identity = ada
  const ended = endOf(await open('/v1/events?tenant=rival'))
  identity = now
  await clock.advance('15s')
  await clock.advance('15s')
  expect(await ended).toContain('event: bye\ndata: {"code":"unauthorized"')
})

test('DOOR-1: a stream goes on when its person gets a further role', async () => {
  identity = ada
  const ended = endOf(await open('/v1/events'))
  identity = { ...ada, roles: ['operator', 'admin'] }
  await clock.advance('15s')
  await clock.advance('15s')
  expect(await ended).not.toContain('bye')
})

test('DOOR-1: an authentication that hangs does not keep the streams of revoked tokens open', async () => {
  const { token, id } = await runtime.tokens.create({ name: 'viewer', roles: ['viewer'] })
  identity = ada
  const hanging = await open('/v1/events')
  const ended = endOf(await open('/v1/events', { authorization: `Bearer ${token}` }))
  identity = new Promise<null>(() => {})
  await runtime.tokens.revoke(id, { by: 'user:ada' })
  await clock.advance('15s')
  await clock.advance('15s')
  expect(await ended).toContain('event: bye\ndata: {"code":"unauthorized"')
  await hanging.body?.cancel()
})
