// Replies as Node's server writes them, beside those that `fetch` gives to other hosts.

import { request } from 'node:http'
import { createServer, startServer } from 'pawl/server'
import { expect, test } from 'vitest'
import { opening } from '../kit/open-runtime.ts'
import { simpleTool } from '../kit/simple-tools.ts'

const open = opening()
const token = 'pawl_a-token-of-this-test'
const tokens = [{ token, roles: ['admin'], principal: 'user:test' }] as const

interface Got {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string
}

const overSocket = (url: string, method: string, headers: Record<string, string>, body?: string): Promise<Got> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => (text += part))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }))
    })
    sent.on('error', reject).end(body)
  })

/** Without what differs between two requests, and what only a socket has. */
function comparable({ status, headers, body }: Got): Got {
  const { 'x-request-id': id, 'content-length': length, ...others } = headers
  const ofSocket = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding'])
  const rest = Object.fromEntries(Object.entries(others).filter(([name]) => !ofSocket.has(name)))
  expect(id).toEqual(expect.any(String))
  if (length !== undefined) expect(length).toBe(String(Buffer.byteLength(body)))
  return { status, headers: rest, body: body.replaceAll(String(id), 'id') }
}

test('DOOR-1: Node writes the same replies that fetch returns', async () => {
  const { runtime, clock } = await open({ tools: [simpleTool('echo', (input) => input)] })
  const options = { clock, tokens, limits: { requestsPerSecond: 1e9 }, allowedOrigins: ['https://app.example.com'] }
  const running = await startServer({ runtime, port: 0, ...options })
  const server = createServer(runtime, options)
  const auth = { authorization: `Bearer ${token}` }
  const json = { ...auth, 'content-type': 'application/json' }
  const call = JSON.stringify({ id: 'c', name: 'echo', input: { text: 'grün 🌱' } })
  const requests: [string, string, Record<string, string>, string?][] = [
    ['POST', '/v1/sessions/s/calls', json, call],
    ['POST', '/v1/sessions/s/calls', json, '{'],
    ['GET', '/v1/sessions/s', auth],
    ['HEAD', '/v1/tools', auth],
    ['GET', '/v1/tools', {}],
    ['GET', '/v1/nothing', auth],
    ['DELETE', '/v1/tools', auth],
    ['OPTIONS', '/v1/tools', { origin: 'https://app.example.com' }],
    ['GET', '/v1/tools', { ...auth, origin: 'https://app.example.com' }],
    ['GET', '/v1/sessions/s/export', auth],
    ['GET', '/healthz', {}],
    ['GET', '/docs', {}],
    ['POST', '/logout', auth],
  ]
  try {
    for (const [method, path, headers, body] of requests) {
      const response = await server.fetch(
        new Request(`http://localhost${path}`, { method, headers, ...(body === undefined ? {} : { body }) }),
      )
      const expected: Got = {
        status: response.status,
        headers: Object.fromEntries(response.headers),
        body: await response.text(),
      }
      const { 'set-cookie': cookie, ...others } = expected.headers
      if (cookie !== undefined) Object.assign(others, { 'set-cookie': [cookie] })
      expect(comparable(await overSocket(running.url + path, method, headers, body)), `${method} ${path}`).toEqual(
        comparable({ ...expected, headers: others }),
      )
    }
  } finally {
    server.close()
    await running.close()
  }
})
