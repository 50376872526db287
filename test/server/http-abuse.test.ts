// Abuse over real connections: malformed, oversized, slow and smuggled requests, many streams and wrong tokens. The
// server stays alive, answers other clients, and never answers with 5xx.

import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type RunningServer, startServer } from '../../src/server/listen.ts'
import { openServerApp, type ServerApp, tokenOf } from '../kit/server/server-app.ts'

const token = tokenOf('acme', 'admin')
const second = 'second-token-0123456789'
const jsonBytes = 64 * 1024
const refusalsPerMinute = 50

let app: ServerApp
let server: RunningServer
let port: number
const sockets: Socket[] = []
beforeAll(async () => {
  app = await openServerApp({ data: false })
  server = await startServer({
    runtime: app.runtime,
    port: 0,
    tokens: [
      { token, roles: ['admin'], tenant: 'acme', principal: 'user:one' },
      { token: second, roles: ['viewer'], tenant: 'acme', principal: 'user:two' },
    ],
    limits: { jsonBytes, uploadBytes: 4 * jsonBytes, streams: 1_000, refusalsPerMinute, requestsPerSecond: 100_000 },
  })
  port = Number(new URL(server.url).port)
})
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  await server.close()
  await app.store.close()
})

const head = (start: string, ...headers: string[]): string =>
  [start, `Host: 127.0.0.1:${port}`, `Authorization: Bearer ${token}`, ...headers, '', ''].join('\r\n')
const post = (...headers: string[]): string =>
  head('POST /v1/sessions/s/calls HTTP/1.1', 'Content-Type: application/json', ...headers)

function open(): Socket {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('error', () => {})
  sockets.push(socket)
  return socket
}

/** Writes the parts and reads until the server closes the connection, or until `enough`. */
async function exchange(parts: readonly (string | Uint8Array)[], enough?: (text: string) => boolean): Promise<string> {
  const socket = open()
  let text = ''
  const { promise: over, resolve } = Promise.withResolvers<void>()
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    if (enough?.(text)) resolve()
  })
  socket.on('close', () => resolve())
  for (const part of parts) if (!socket.destroyed) socket.write(part)
  if (!enough) socket.end()
  await over
  socket.destroy()
  return text
}
const statusOf = (text: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0)
const statusesIn = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status))

async function expectAlive(): Promise<void> {
  const response = await fetch(`${server.url}/v1/me`, { headers: { authorization: `Bearer ${token}` } })
  expect(response.status).toBe(200)
  await response.arrayBuffer()
}

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`
const big = 'x'.repeat(jsonBytes + 1)
const close = 'Connection: close'
const get = 'GET /v1/me HTTP/1.1'
const runs = '{"name":"lookup","input":{"text":"smuggled"}}'
const inner = `POST /v1/sessions/s/calls HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${runs.length}\r\n\r\n${runs}`

/** 0: the connection ends without an answer, or the request is never finished. */
const cases: readonly (readonly [
  name: string,
  parts: () => readonly (string | Uint8Array)[],
  status: readonly number[],
])[] = [
  ['headers of 20 KB', () => [head(get, `X-Big: ${'x'.repeat(20_000)}`)], [431]],
  ['1,500 headers', () => [head(get, ...Array.from({ length: 1_500 }, (_, n) => `X-${n}: 1234567`))], [431]],
  ['an address of 8 MB', () => [head(`GET /${'x'.repeat(8_000_000)} HTTP/1.1`)], [431, 0]],
  ['an address of 10 KB', () => [head(`GET /v1/sessions/${'x'.repeat(10_000)} HTTP/1.1`, close)], [400]],
  ['two different Content-Length', () => [post('Content-Length: 2', 'Content-Length: 5'), '{}'], [400]],
  ['two equal Content-Length', () => [post('Content-Length: 2', 'Content-Length: 2'), '{}'], [400]],
  ['a list of Content-Length', () => [post('Content-Length: 2, 2'), '{}'], [400]],
  ['a negative Content-Length', () => [post('Content-Length: -1'), '{}'], [400]],
  [
    'Content-Length and Transfer-Encoding',
    () => [post('Content-Length: 4', 'Transfer-Encoding: chunked'), `0\r\n\r\n${inner}`],
    [400],
  ],
  [
    'Transfer-Encoding with a space before the colon',
    () => [post('Transfer-Encoding : chunked'), `0\r\n\r\n${inner}`],
    [400],
  ],
  ['Transfer-Encoding xchunked', () => [post('Transfer-Encoding: xchunked'), `0\r\n\r\n${inner}`], [400]],
  [
    'Transfer-Encoding chunked twice',
    () => [post('Transfer-Encoding: chunked', 'Transfer-Encoding: identity'), `0\r\n\r\n${inner}`],
    [400],
  ],
  ['a chunk size that is no number', () => [post('Transfer-Encoding: chunked'), 'zz\r\n{}\r\n0\r\n\r\n'], [400]],
  [
    'a chunk size that overflows',
    () => [post('Transfer-Encoding: chunked'), 'fffffffffffffffff\r\n{}\r\n0\r\n\r\n'],
    [400],
  ],
  ['lines that end with LF alone', () => [head(get, close).replaceAll('\r\n', '\n')], [400]],
  ['a folded header', () => [head(get, 'X-A: 1', ' 2', close)], [400, 200]],
  ['a header with NUL', () => [head(get, 'X-A: a\0b')], [400]],
  ['a request line that is none', () => ['\x16\x03\x01\x02\x00\x01\x00\r\n\r\n'], [400]],
  ['an HTTP/2 preface', () => ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'], [400, 505]],
  ['no Host', () => ['GET /v1/me HTTP/1.1\r\nConnection: close\r\n\r\n'], [400]],
  ['two Hosts', () => [head(get, 'Host: evil.example', close)], [400, 421]],
  ['HTTP/1.0 without Host', () => ['GET /v1/me HTTP/1.0\r\n\r\n'], [400]],
  ['a Host with a path', () => [`GET /v1/me HTTP/1.1\r\nHost: 127.0.0.1/x?\r\n${close}\r\n\r\n`], [400, 421]],
  ['a Host with a space', () => [`GET /v1/me HTTP/1.1\r\nHost: 127.0.0.1 evil\r\n${close}\r\n\r\n`], [400, 421]],
  [
    'an absolute address of another host',
    () => [head('GET http://evil.example/v1/me HTTP/1.1', close)],
    [200, 400, 421],
  ],
  ['the path //', () => [head('GET // HTTP/1.1', close)], [404]],
  ['the path //v1/me', () => [head('GET //v1/me HTTP/1.1', close)], [404]],
  ['the path //evil.example/v1/me', () => [head('GET //evil.example/v1/me HTTP/1.1', close)], [404]],
  ['the path /v1/%2e%2e/%2e%2e/v1/none', () => [head('GET /v1/%2e%2e/%2e%2e/v1/none HTTP/1.1', close)], [404]],
  [
    'dots out of a session',
    () => [head('GET /v1/sessions/s/files/%2e%2e/%2e%2e/%2e%2e/etc/passwd HTTP/1.1', close)],
    [404],
  ],
  [
    'encoded slashes and dots',
    () => [head('GET /v1/sessions/s/files/..%2f..%2f..%2fetc%2fpasswd HTTP/1.1', close)],
    [400, 404],
  ],
  ['a path of bytes that are no UTF-8', () => [head('GET /v1/sessions/%ff%fe HTTP/1.1', close)], [404]],
  ['raw bytes in the path', () => [Buffer.from(head('GET /v1/\xff\xfe HTTP/1.1', close), 'latin1')], [400, 404]],
  ['the path *', () => [head('OPTIONS * HTTP/1.1', close)], [400, 404, 405]],
  ['a path without a slash', () => [head('GET v1/me HTTP/1.1', close)], [400, 404]],
  ['TRACE', () => [head('TRACE /v1/me HTTP/1.1', close)], [400, 405, 501]],
  ['CONNECT', () => [head('CONNECT evil.example:443 HTTP/1.1')], [0, 400, 405]],
  [
    'an upgrade to a web socket',
    () => [head(get, 'Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Key: eA==')],
    [200],
  ],
  ['a body of a GET', () => [head(get, 'Content-Length: 2', close), '{}'], [200]],
  ['a body over the limit', () => [post(`Content-Length: ${big.length}`, close), big], [413]],
  ['a chunked body over the limit', () => [post('Transfer-Encoding: chunked', close), chunk(big), '0\r\n\r\n'], [413]],
  ['an announced gigabyte', () => [post('Content-Length: 1000000000', close), '{}'], [413]],
  [
    'an upload over its limit',
    () => [
      head('PUT /v1/sessions/s/files/a HTTP/1.1', 'Transfer-Encoding: chunked', close),
      ...Array.from({ length: 5 }, () => chunk('x'.repeat(jsonBytes))),
      '0\r\n\r\n',
    ],
    [413],
  ],
  ['a body that ends early', () => [post('Content-Length: 100', close), '{"name":'], [0, 400]],
  ['a chunked body that ends early', () => [post('Transfer-Encoding: chunked', close), chunk('{"name":')], [0, 400]],
  [
    'a gzip bomb',
    () => {
      const bomb = gzipSync(Buffer.alloc(20_000_000, 'x'))
      return [post(`Content-Length: ${bomb.length}`, 'Content-Encoding: gzip', close), bomb]
    },
    [400],
  ],
  [
    'JSON that is nested 30,000 levels',
    () => {
      const deep = '['.repeat(30_000)
      return [post(`Content-Length: ${deep.length}`, close), deep]
    },
    [400],
  ],
]

test.each(cases)('DOOR-1: %s does no harm', async (_, parts, status) => {
  const text = await exchange(parts())
  expect(status, text.slice(0, 500)).toContain(statusOf(text))
  for (const each of statusesIn(text)) expect(each).toBeLessThan(500)
  expect(app.ledger).toEqual([])
  await expectAlive()
})

test('DOOR-1: a body may be nested 100 levels deep, not more', async () => {
  const nested = async (levels: number): Promise<Response> =>
    fetch(`${server.url}/v1/sessions/s/values/deep`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: `{"value":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`,
    })
  expect((await nested(100)).status).toBe(200)
  const refused = await nested(101)
  expect(refused.status).toBe(400)
  expect(await refused.text()).toContain('nested deeper than 100 levels')
})

test('DOOR-1: 200 pipelined requests are answered in order', async () => {
  const paths = Array.from({ length: 200 }, (_, n) => (n % 2 === 0 ? '/v1/me' : '/none'))
  const sent = paths.map((path, n) => head(`GET ${path} HTTP/1.1`, ...(n === 199 ? [close] : []))).join('')
  const statuses = statusesIn(await exchange([sent]))
  expect(statuses).toEqual(paths.map((path) => (path === '/v1/me' ? 200 : 404)))
})

test('DOOR-1: clients that send slowly or not at all do not delay others', async () => {
  const slow = Array.from({ length: 100 }, (_, n) => {
    const socket = open()
    socket.write(n % 2 === 0 ? `${get}\r\nHost: 127.0.0.1\r\nX-Slow` : `${post('Content-Length: 1000')}{`)
    return socket
  })
  for (let n = 0; n < 20; n++) await expectAlive()
  for (const socket of slow) socket.destroy()
  await expectAlive()
})

test('DOOR-1: a client that leaves in the middle of its body does no harm', async () => {
  for (let n = 0; n < 50; n++) {
    const socket = open()
    await new Promise((resolve) => socket.write(`${post('Content-Length: 1000')}{"name":`, resolve))
    socket.resetAndDestroy()
  }
  await expectAlive()
  expect(app.ledger).toEqual([])
})

test('DOOR-1: 1,000 idle streams cost less than 100 MB; the next is 429, and ended ones make room', async () => {
  const rss = (): number => process.memoryUsage.rss()
  const before = rss()
  const streams = await Promise.all(
    Array.from({ length: 1_000 }, async () => {
      const socket = open()
      const { promise, resolve } = Promise.withResolvers<string>()
      socket.once('data', (data: Buffer) => resolve(data.toString()))
      socket.write(head('GET /v1/sessions/idle/events?after=now HTTP/1.1'))
      return { socket, first: await promise }
    }),
  )
  expect(new Set(streams.map(({ first }) => statusOf(first)))).toEqual(new Set([200]))
  const grown = (rss() - before) / 1024 / 1024
  console.log(`1,000 idle streams: ${grown.toFixed(1)} MB`)
  expect(grown).toBeLessThan(100)
  const more = await fetch(`${server.url}/v1/events`, { headers: { authorization: `Bearer ${token}` } })
  expect(more.status).toBe(429)
  expect(more.headers.get('retry-after')).toMatch(/^\d+$/)
  await expectAlive()
  const other = new AbortController()
  const byOther = await fetch(`${server.url}/v1/events`, {
    headers: { authorization: `Bearer ${second}` },
    signal: other.signal,
  })
  expect(byOther.status).toBe(200)
  other.abort()
  for (const { socket } of streams) socket.destroy()
  await vi.waitUntil(
    async () => {
      const leave = new AbortController()
      const response = await fetch(`${server.url}/v1/events`, {
        headers: { authorization: `Bearer ${token}` },
        signal: leave.signal,
      })
      leave.abort()
      return response.status === 200
    },
    { interval: 50, timeout: 15_000 },
  )
})

test('DOOR-1: wrong tokens are 429 by address; tokens that worked before go on', async () => {
  const status = async (given: string, address: string): Promise<number> => {
    const request = new Request('http://localhost/v1/me', { headers: { authorization: `Bearer ${given}` } })
    return (await limited.server.fetch(request, { address })).status
  }
  const limited = await openServerApp({ data: false, server: { limits: { refusalsPerMinute } } })
  const fresh = await limited.runtime.tokens.create({ name: 'new', roles: ['viewer'], tenant: 'acme' })
  expect(await status(token, '10.0.0.1')).toBe(200)
  const guesses = await Promise.all(Array.from({ length: 10_000 }, (_, n) => status(`guess-${n}`, '10.0.0.1')))
  expect(guesses.filter((each) => each === 401).length).toBeLessThanOrEqual(refusalsPerMinute + 1)
  expect(guesses.filter((each) => each === 429).length).toBeGreaterThanOrEqual(10_000 - refusalsPerMinute - 1)
  expect(await status(token, '10.0.0.1')).toBe(200)
  // A token that this server has not seen waits until the address may be refused again.
  expect(await status(fresh.token, '10.0.0.1')).toBe(429)
  expect(await status(fresh.token, '10.0.0.2')).toBe(200)
  await limited.close()
})

test('DOOR-1: without addresses, wrong tokens lock nobody out', async () => {
  const limited = await openServerApp({ data: false, server: { limits: { refusalsPerMinute } } })
  const send = (given: string): Promise<Response> =>
    limited.server.fetch(new Request('http://localhost/v1/me', { headers: { authorization: `Bearer ${given}` } }))
  for (let n = 0; n < 200; n++) expect((await send(`guess-${n}`)).status).toBe(401)
  expect((await send(token)).status).toBe(200)
  await limited.close()
})
