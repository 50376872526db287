// Streams end with their token, decision links decide once and only by POST, and login codes work once.

import { createRuntime, type InboxItem, type Role, type Runtime } from 'pawl'
import { createServer, type Server } from 'pawl/server'
import { type ManualClock, manualClock, memoryStore, scriptedModel } from 'pawl/testing'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Store } from '../../src/store/store.ts'
import { hang } from '../kit/simple-tools.ts'
import { quiet } from '../kit/stores/fresh-store.ts'
import { storeDigest } from '../kit/server/store-digest.ts'
import { serverTools, type ToolLedger } from '../kit/server/server-tools.ts'

let clock: ManualClock
let store: Store
let runtime: Runtime
let server: Server
let ledger: ToolLedger
const admin = 'admin-token-0123456789'

beforeEach(async () => {
  clock = manualClock()
  store = memoryStore({ clock })
  ledger = { entries: [], keys: new Map() }
  runtime = await createRuntime({
    store,
    clock,
    logger: quiet,
    lease: '30d',
    tools: serverTools(ledger),
    models: [scriptedModel(['late'], { name: 'slow', wait: hang })],
  })
  server = createServer(runtime, {
    clock,
    turn: { model: 'slow' },
    heartbeat: '15s',
    tokens: [{ token: admin, roles: ['admin'], tenant: 'acme', principal: 'user:root' }],
  })
})
afterEach(async () => {
  server.close()
  await runtime.close({ grace: 0 })
})

const send = (method: string, path: string, token?: string, body?: object, headers: object = {}): Promise<Response> =>
  server.fetch(
    new Request(`http://localhost${path}`, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    }),
  )
const newToken = (more: { expiresIn?: string; roles?: readonly Role[] } = {}) =>
  runtime.tokens.create({ name: 'browser', roles: ['caller'], tenant: 'acme', ...more } as never)

interface OpenStream {
  readonly name: string
  /** The text so far. */
  text: string
  ended: boolean
}

async function openStream(name: string, response: Response): Promise<OpenStream> {
  expect(response.status, name).toBe(200)
  const stream: OpenStream = { name, text: '', ended: false }
  const reader = (response.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader()
  void (async () => {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      stream.text += value
    }
    stream.ended = true
  })()
  await vi.waitUntil(() => stream.text !== '', { interval: 1, timeout: 10_000 })
  return stream
}

/** One stream of every kind. */
async function openAll(token: string): Promise<OpenStream[]> {
  const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }
  const chat = await openStream(
    'chat.send',
    await send('POST', '/v1/sessions/s/chat', token, { id: 's', trigger: 'submit-message', messages: [message] }),
  )
  const { turn } = (await (await send('GET', '/v1/sessions/s/turns/open', token)).json()) as { turn: string }
  return [
    chat,
    await openStream('events.stream', await send('GET', '/v1/events', token)),
    await openStream('sessions.events', await send('GET', '/v1/sessions/s/events?live=true', token)),
    await openStream('turns.stream', await send('GET', `/v1/sessions/s/turns/${turn}/stream`, token)),
    await openStream('chat.resume', await send('GET', '/v1/sessions/s/chat/s/stream', token)),
  ]
}
const allEnd = (streams: readonly OpenStream[]): Promise<unknown> =>
  vi.waitUntil(() => streams.every(({ ended }) => ended), { interval: 1, timeout: 10_000 })

test('DOOR-1: a revoked token closes its event and chat streams within one heartbeat', async () => {
  const { token, id } = await newToken()
  const other = await newToken()
  const streams = await openAll(token)
  const stays = await openStream('events.stream', await send('GET', '/v1/events', other.token))
  await clock.advance('15s')
  expect(streams.filter(({ ended }) => ended)).toEqual([])
  expect((await send('DELETE', `/v1/tokens/${id}`, admin)).status).toBe(200)
  expect((await send('GET', '/v1/me', token)).status).toBe(401)
  await clock.advance('15s')
  await allEnd(streams)
  for (const { name, text } of streams)
    if (name.endsWith('events') || name.startsWith('events'))
      expect(text, name).toMatch(/event: bye\ndata: .*unauthorized/)
  expect(stays.ended).toBe(false)
  // Their places are free again.
  const metrics = await runtime.tokens.create({ name: 'm', roles: ['operator'], tenant: null })
  expect(await (await send('GET', '/metrics', metrics.token)).text()).toContain('pawl_http_streams_open 1')
})

test('DOOR-1: an expired token closes its streams within one heartbeat', async () => {
  const { token } = await newToken({ expiresIn: '20s' })
  const streams = await openAll(token)
  await clock.advance('15s')
  expect(streams.filter(({ ended }) => ended)).toEqual([])
  await clock.advance('15s')
  await allEnd(streams)
  expect((await send('GET', '/v1/me', token)).status).toBe(401)
})

test('DOOR-1: a token of a viewer cannot chat, call or make tokens', async () => {
  const { token } = await newToken({ roles: ['viewer'] })
  expect((await send('POST', '/v1/sessions/s/chat', token, { messages: [] })).status).toBe(403)
  expect((await send('POST', '/v1/sessions/s/calls', token, { name: 'lookup' })).status).toBe(403)
  expect((await send('POST', '/v1/tokens', token, { name: 'x', roles: ['admin'] })).status).toBe(403)
  expect(ledger.entries).toEqual([])
})

test('DOOR-1: a token of one tenant cannot make one for all tenants or for another', async () => {
  const made = { name: 'x', roles: ['admin'] }
  expect((await send('POST', '/v1/tokens', admin, { ...made, allTenants: true })).status).toBe(403)
  expect((await send('POST', '/v1/tokens', admin, { ...made, tenant: 'rival' })).status).toBe(400)
  const { tenant } = (await (await send('POST', '/v1/tokens', admin, made)).json()) as { tenant: string }
  expect(tenant).toBe('acme')
  const rivals = await runtime.tokens.create({ name: 'r', roles: ['viewer'], tenant: 'rival' })
  const all = await runtime.tokens.create({ name: 'a', roles: ['viewer'], tenant: null })
  for (const { id } of [rivals, all])
    expect(await (await send('DELETE', `/v1/tokens/${id}`, admin)).json()).toEqual({ changed: false })
  const listed = await (await send('GET', '/v1/tokens', admin)).text()
  for (const { id, token } of [rivals, all]) for (const text of [id, token]) expect(listed).not.toContain(text)
})

async function request(order = 'A1'): Promise<InboxItem> {
  const session = runtime.session('s', { tenant: 'acme', principal: 'user:ada' })
  const id = `refund-${order}`
  await session.run([{ id, name: 'refund', input: { order, cents: 100 } }], { until: 'waiting' })
  return (await runtime.inbox({ tenant: 'acme' })).find(({ callId }) => callId === id) as InboxItem
}
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const post = (link: string, fields: string, headers: object = form): Promise<Response> =>
  server.fetch(
    new Request(`http://localhost/decide/${link}`, { method: 'POST', headers: headers as never, body: fields }),
  )

test('DOOR-5: 100 GETs and HEADs of a link consume nothing; POST decides once', async () => {
  const item = await request('<img src=x onerror=alert(1)>')
  const link = await runtime.links.sign({ item: item.id, by: 'user:bea' })
  const before = await storeDigest(store)
  for (const method of ['GET', 'HEAD'])
    for (let n = 0; n < 100; n++) {
      const response = await send(method, `/decide/${link}`)
      expect(response.status).toBe(200)
      const text = await response.text()
      expect(text).not.toContain('<img')
      if (method === 'GET') expect(text).toContain('&lt;img src=x')
    }
  for (const query of ['?decision=approve', '?approve=true', `?decision=deny&_method=POST`])
    expect((await send('GET', `/decide/${link}${query}`)).status).toBe(200)
  for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS'])
    expect((await send(method, `/decide/${link}`)).status).toBe(405)
  expect(await storeDigest(store)).toBe(before)
  const answers = await Promise.all(Array.from({ length: 100 }, () => post(link, 'decision=approve')))
  const statuses = answers.map(({ status }) => status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(1)
  expect(new Set(statuses)).toSatisfy((seen: Set<number>) =>
    [...seen].every((status) => [200, 404, 409].includes(status)),
  )
  await vi.waitUntil(() => ledger.entries.length > 0, { interval: 1, timeout: 10_000 })
  expect(ledger.entries).toHaveLength(1)
  expect((await send('GET', `/decide/${link}`)).status).toBe(404)
  expect((await post(link, 'decision=deny')).status).toBe(404)
})

test('DOOR-5: the page of a link says once what the tool may do, and what a decision leads to', async () => {
  const item = await request('A7')
  const page = await (
    await send('GET', `/decide/${await runtime.links.sign({ item: item.id, by: 'user:bea' })}`)
  ).text()
  expect(page.match(/can have effects that cannot be undone/g)).toHaveLength(1)
  expect(page).toContain('If you approve, the tool runs with exactly these arguments. If you deny, it does not run.')
})

test('DOOR-5: a link of another origin, an expired, forged or stale one decides nothing', async () => {
  const item = await request()
  const link = await runtime.links.sign({ item: item.id, by: 'user:bea', expiresIn: '10m' })
  const before = await storeDigest(store)
  for (const origin of ['https://evil.example', 'null'])
    expect((await post(link, 'decision=approve', { ...form, origin })).status).toBe(403)
  const sites = { ...form, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
  expect((await post(link, 'decision=approve', sites)).status).toBe(403)
  for (const fields of ['', 'decision=', 'decision=maybe', 'approve=true', '{"decision":"approve"}'])
    expect((await post(link, fields)).status, fields).toBe(400)
  expect((await post(link, `decision=approve&reason=${'x'.repeat(70_000)}`)).status).toBe(413)
  const [signed = '', signature = ''] = link.split('.')
  const fields = JSON.parse(Buffer.from(signed, 'base64url').toString()) as unknown[]
  const other = Buffer.from(JSON.stringify(fields.with(3, 'user:eve'))).toString('base64url')
  for (const forged of [
    `${other}.${signature}`,
    `${signed}.${'A'.repeat(43)}`,
    signed,
    `${link}A`,
    link.toUpperCase(),
    'x',
    '%00',
  ])
    for (const response of [await send('GET', `/decide/${forged}`), await post(forged, 'decision=approve')])
      expect(response.status, forged).toBe(404)
  expect(await storeDigest(store)).toBe(before)
  expect((await send('GET', `/decide/${link}`)).status).toBe(200)
  await clock.advance('10m')
  expect((await send('GET', `/decide/${link}`)).status).toBe(404)
  expect((await post(link, 'decision=approve')).status).toBe(404)
  expect(ledger.entries).toEqual([])
  expect((await runtime.inbox({ tenant: 'acme' })).length).toBe(1)
})

test('DOOR-1: a login code works once and within five minutes, and its cookie ends with a logout', async () => {
  const code = server.loginCode({ principal: 'user:local', roles: ['admin'] })
  for (let n = 0; n < 10; n++) expect((await send('HEAD', `/login?code=${code}`)).status).toBe(204)
  for (const wrong of ['', 'x', code.toLowerCase(), `${code}A`])
    expect((await send('GET', `/login?code=${wrong}`)).status).toBe(401)
  const used = await Promise.all(Array.from({ length: 20 }, () => send('GET', `/login?code=${code}`)))
  expect(used.filter(({ status }) => status === 303)).toHaveLength(1)
  const cookie = used.find(({ status }) => status === 303)?.headers.get('set-cookie') as string
  expect(cookie).toMatch(/^pawl_token=pawl_[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict$/)
  expect((await send('GET', '/v1/me', undefined, undefined, { cookie: cookie.split(';')[0] })).status).toBe(200)
  const own = { cookie: cookie.split(';')[0] }
  expect((await send('GET', '/logout', undefined, undefined, own)).status).toBe(405)
  expect((await send('POST', '/logout', undefined, undefined, { ...own, origin: 'https://evil.example' })).status).toBe(
    403,
  )
  expect((await send('GET', '/v1/me', undefined, undefined, own)).status).toBe(200)
  const out = await send('POST', '/logout', undefined, undefined, own)
  expect(out.headers.get('set-cookie')).toContain('Max-Age=0')
  expect((await send('GET', '/v1/me', undefined, undefined, own)).status).toBe(401)
  const late = server.loginCode({ principal: 'user:local', roles: ['admin'] })
  await clock.advance(5 * 60_000 + 1)
  expect((await send('GET', `/login?code=${late}`)).status).toBe(401)
})

test('DOOR-1: a HEAD request of a stream opens none', async () => {
  const { token } = await newToken()
  for (let n = 0; n < 150; n++) expect((await send('HEAD', '/v1/events', token)).status).toBe(200)
  const stream = await openStream('events.stream', await send('GET', '/v1/events', token))
  expect(stream.ended).toBe(false)
})

test('DOOR-1: with the authentication of a host, each of its sessions ends its own streams', async () => {
  const valid = new Map([
    ['one', 'acme'],
    ['two', 'acme'],
    ['three', 'rival'],
  ])
  const hosted = createServer(runtime, {
    clock,
    limits: { streams: 3 },
    authenticate: ({ headers }) => {
      const tenant = valid.get(headers.get('x-session') ?? '')
      return tenant === undefined ? null : { principal: 'user:ada', roles: ['viewer'], tenant }
    },
  })
  const get = (session: string): Promise<Response> =>
    hosted.fetch(new Request('http://localhost/v1/events', { headers: { 'x-session': session } }))
  const streams = new Map<string, OpenStream>()
  for (const session of ['one', 'two', 'three']) streams.set(session, await openStream(session, await get(session)))
  const again = await openStream('one', await get('one'))
  // The limit is that of the person in the tenant.
  expect((await get('two')).status).toBe(429)
  const rival = await openStream('three', await get('three'))
  const ended = (): string[] => [...streams.values(), again, rival].filter((each) => each.ended).map(({ name }) => name)
  valid.delete('two')
  await clock.advance('15s')
  await vi.waitUntil(() => ended().length > 0, { interval: 1, timeout: 10_000 })
  expect(ended()).toEqual(['two'])
  // The same session now stands for another tenant.
  valid.set('three', 'acme')
  await clock.advance('15s')
  await vi.waitUntil(() => ended().length > 2, { interval: 1, timeout: 10_000 })
  expect(ended()).toEqual(['two', 'three', 'three'])
  hosted.close()
})
