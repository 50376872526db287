// Attacks of a page of another origin against a server on this machine: every request is refused and changes nothing.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { endpoints, type OperationName } from '../../src/server/endpoints.ts'
import { createServer } from '../../src/server/server.ts'
import { requestFor, samples } from '../kit/server/sample-inputs.ts'
import { openServerApp, type ServerApp, tokenOf } from '../kit/server/server-app.ts'
import { storeDigest } from '../kit/server/store-digest.ts'

let app: ServerApp
beforeAll(async () => {
  app = await openServerApp({ server: { allowedOrigins: ['https://app.example.com'] } })
})
afterAll(() => app.close())

const token = tokenOf('acme', 'admin')
const bearer = { authorization: `Bearer ${token}` }
const cookie = { cookie: `pawl_token=${token}` }
const json = { 'content-type': 'application/json' }
const call = '/v1/sessions/chat-acme/calls'
const body = JSON.stringify({ name: 'lookup', input: { text: 'x' } })
const form = 'application/x-www-form-urlencoded'

interface Attack {
  readonly name: string
  readonly path?: string
  readonly method?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly status: number
}

const evilHosts = [
  'evil.example',
  'localhost.evil.example',
  '127.0.0.1.nip.io',
  '0.0.0.0',
  'localhost:80@evil',
  '[::]',
  '',
]
const evilOrigins = [
  'https://evil.example',
  'http://localhost:1',
  'http://localhost.evil.example',
  'https://app.example.com.evil.example',
  'https://app.example.com:444',
  'http://app.example.com',
  'file://',
  'chrome-extension://abc',
]
const attacks: readonly Attack[] = [
  ...evilHosts.map((host) => ({
    name: `Host '${host}', a DNS name that resolves to this machine`,
    headers: { ...bearer, ...json, host },
    status: 421,
  })),
  ...evilOrigins.map((origin) => ({ name: `Origin ${origin}`, headers: { ...cookie, ...json, origin }, status: 403 })),
  { name: 'Origin null with a token', headers: { ...bearer, ...json, origin: 'null' }, status: 403 },
  { name: 'Origin null with a cookie', headers: { ...cookie, ...json, origin: 'null' }, status: 403 },
  { name: 'Origin null with text', headers: { ...cookie, origin: 'null', 'content-type': 'text/plain' }, status: 403 },
  { name: 'text/plain with a cookie', headers: { ...cookie, 'content-type': 'text/plain' }, status: 415 },
  { name: 'text/plain with JSON in its type', headers: { ...cookie, 'content-type': 'text/plain; application/json' }, status: 415 }, // prettier-ignore
  { name: 'a posted form', headers: { ...cookie, 'content-type': form }, body: 'name=lookup', status: 415 },
  { name: 'a posted multipart form', headers: { ...cookie, 'content-type': 'multipart/form-data; boundary=x' }, status: 415 }, // prettier-ignore
  { name: 'no content type', headers: cookie, status: 415 },
  { name: 'a form of another site', headers: { ...cookie, origin: 'https://evil.example', 'content-type': form }, status: 403 }, // prettier-ignore
  { name: 'a preflight', method: 'OPTIONS', headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' }, status: 403 }, // prettier-ignore
  { name: 'a preflight of a sandboxed page', method: 'OPTIONS', headers: { origin: 'null', 'access-control-request-method': 'POST' }, status: 403 }, // prettier-ignore
  ...['cross-site', 'same-site'].flatMap((site) =>
    ['no-cors', 'cors', 'navigate'].map((mode) => ({
      name: `Sec-Fetch-Site ${site}, mode ${mode}`,
      headers: { ...cookie, ...json, 'sec-fetch-site': site, 'sec-fetch-mode': mode },
      status: 403,
    })),
  ),
  ...['no-cors', 'cors'].map((mode) => ({
    name: `an image or script of another site, mode ${mode}`,
    path: '/v1/inbox',
    method: 'GET',
    headers: { ...cookie, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': mode },
    status: 403,
  })),
  {
    name: 'an iframe of another site',
    path: '/',
    method: 'GET',
    headers: { ...cookie, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
    status: 403,
  },
  {
    name: 'an event stream of another origin',
    path: '/v1/events',
    method: 'GET',
    headers: { ...cookie, origin: 'https://evil.example', accept: 'text/event-stream' },
    status: 403,
  },
  { name: 'a logout by a form', path: '/logout', headers: { ...cookie, origin: 'https://evil.example' }, status: 403 },
  {
    name: 'a GET that would change something',
    path: `${call}?name=lookup`,
    method: 'PATCH',
    headers: cookie,
    status: 405,
  },
  { name: 'an upload of another origin', path: '/v1/sessions/chat-acme/files/a.txt', method: 'PUT', headers: { ...cookie, origin: 'https://evil.example' }, status: 403 }, // prettier-ignore
  { name: 'an upload as a form sends it', path: '/v1/sessions/chat-acme/files/a.txt', method: 'POST', headers: { ...cookie, 'content-type': form }, status: 405 }, // prettier-ignore
]

const send = (attack: Attack): Promise<Response> => {
  const { path = call, method = 'POST', headers, body: given = body } = attack
  const mayHaveBody = method !== 'GET' && method !== 'OPTIONS'
  return app.server.fetch(
    new Request(`http://localhost${path}`, { method, headers, ...(mayHaveBody ? { body: given } : {}) }),
  )
}

test('DOOR-1: there are at least 30 requests as pages of other origins send them', () => {
  expect(attacks.length).toBeGreaterThanOrEqual(30)
})

test.each(attacks)('DOOR-1: refused, and nothing changes: $name', async (attack) => {
  const before = [await storeDigest(app.store), app.ledger.length]
  const response = await send(attack)
  expect(response.status, await response.clone().text()).toBe(attack.status)
  expect(response.headers.get('access-control-allow-origin')).toBeNull()
  expect(response.headers.get('access-control-allow-credentials')).toBeNull()
  expect([await storeDigest(app.store), app.ledger.length]).toEqual(before)
})

test('DOOR-1: the own page may use its cookie, and a page of an allowed origin a token', async () => {
  const own = { ...cookie, ...json, origin: 'http://localhost', 'sec-fetch-site': 'same-origin' }
  expect((await send({ name: '', headers: own, status: 200 })).status).toBe(200)
  const origin = 'https://app.example.com'
  const allowed = await send({
    name: '',
    headers: { ...bearer, ...json, origin, 'sec-fetch-site': 'cross-site' },
    status: 200,
  })
  expect(allowed.status).toBe(200)
  expect(allowed.headers.get('access-control-allow-origin')).toBe(origin)
  expect(allowed.headers.get('access-control-allow-credentials')).toBeNull()
  expect(allowed.headers.get('vary')).toBe('origin')
  const preflight = await send({
    name: '',
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
    status: 204,
  })
  expect(preflight.status).toBe(204)
  expect(preflight.headers.get('access-control-allow-headers')).toContain('authorization')
  const link = { ...cookie, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
  expect((await send({ name: '', path: '/', method: 'GET', headers: link, status: 200 })).status).toBe(200)
})

test('DOOR-1: the cookie of a browser does not work from an allowed origin', async () => {
  const headers = { ...cookie, ...json, origin: 'https://app.example.com', 'sec-fetch-site': 'cross-site' }
  const response = await send({ name: '', headers, status: 401 })
  expect(response.status).toBe(401)
})

const expected = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
}
function expectSecurityHeaders(response: Response, about: string): void {
  // A browser names the origin of a form only to its own server.
  const isPage = response.headers.get('content-type')?.startsWith('text/html') === true
  for (const [name, value] of Object.entries({ ...expected, ...(isPage ? { 'referrer-policy': 'same-origin' } : {}) }))
    expect(response.headers.get(name), `${name} of ${about}`).toBe(value)
  const policy = response.headers.get('content-security-policy') ?? ''
  expect(policy, about).toContain("default-src 'none'")
  expect(policy, about).not.toMatch(/unsafe|\*|data:|http:/)
  if (response.headers.get('content-disposition') === null) expect(policy, about).toContain("frame-ancestors 'none'")
  expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
}

test('DOOR-1: every operation has the security headers, with and without a token', async () => {
  for (const name of Object.keys(endpoints) as OperationName[]) {
    const fields = await samples[name].fields(app.data.acme)
    for (const headers of [bearer, {}]) {
      const response = await app.server.fetch(requestFor(name, fields, samples[name].bytes, { headers }))
      await response.body?.cancel()
      expectSecurityHeaders(response, `${name} ${response.status}`)
    }
  }
})

test('DOOR-1: pages, refused requests and errors have the security headers', async () => {
  const paths = [
    '/',
    '/docs',
    '/openapi.json',
    '/healthz',
    '/readyz',
    '/metrics',
    '/login?code=x',
    '/decide/x',
    '/none',
    '//',
  ]
  for (const path of paths)
    for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS']) {
      const response = await app.server.fetch(new Request(`http://localhost${path}`, { method }))
      expectSecurityHeaders(response, `${method} ${path}`)
      if (response.headers.get('content-type')?.startsWith('text/html'))
        expect(await response.text()).not.toMatch(/<script|<iframe|<object|\son\w+=|javascript:/i)
    }
  for (const attack of attacks) expectSecurityHeaders(await send(attack), attack.name)
  const failing = (target: typeof app.runtime, name: string | symbol): unknown => {
    if (name === 'observe') return target.observe
    throw new Error('planted')
  }
  const broken = createServer(new Proxy(app.runtime, { get: failing }))
  const failed = await broken.fetch(new Request('http://localhost/v1/me', { headers: bearer }))
  expect(failed.status).toBe(500)
  expect(await failed.text()).not.toContain('planted')
  expectSecurityHeaders(failed, 'an internal error')
  broken.close()
})
