// The code of docs/guide/server.md. test/project/guide.test.ts runs it.
// oxlint-disable oxc/no-async-endpoint-handlers -- Express 5 handles rejected promises

import assert from 'node:assert/strict'
import { createServer as createHttpServer } from 'node:http'
import { mkdtempSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

process.chdir(mkdtempSync(join(tmpdir(), 'pawl-server-')))
process.env.PORT = '0'

// #region start
import { createRuntime, tool } from 'pawl'
import { startServer } from 'pawl/server'

const refund = tool({
  name: 'refund',
  description: 'Refund an order',
  input: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
  hints: { destructive: true }, // asks a person first
  execute: () => 'You get 42 €.',
})
const runtime = await createRuntime({ store: 'sqlite:agent.db', tools: [refund] })
const server = await startServer({ runtime, port: Number(process.env.PORT ?? 7717) })
console.log(server.url, server.token)
console.log('In a browser:', server.loginUrl)
process.once('SIGTERM', () => void server.close())
// #endregion

const headers = { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' }
const post = async (path: string, body: unknown, more: Record<string, string> = {}): Promise<Response> =>
  fetch(`${server.url}${path}`, { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify(body) })

const asked = await post('/v1/sessions/chat-42/calls', { name: 'refund', input: { order: 'A1' } })
assert.equal(asked.status, 202)
assert.deepEqual(((await asked.json()) as { for: string }).for, 'approval')
const inbox = (await (await fetch(`${server.url}/v1/inbox`, { headers })).json()) as {
  id: string
  fingerprint: string
}[]
const [item] = inbox as [{ id: string; fingerprint: string }]
const stale = await post(`/v1/inbox/${item.id}/decision`, { approve: true }, { 'if-match': '"another"' })
assert.equal(stale.status, 412)

// A signed link for one person.
// #region link
const link = await runtime.links.sign({ item: item.id, by: 'user:bea' })
const page = `${server.url}/decide/${link}`
// #endregion
assert.match(await (await fetch(page)).text(), /Approve/)
assert.equal((await fetch(page, { method: 'POST', body: new URLSearchParams({ decision: 'approve' }) })).status, 200)

async function tokens() {
  // #region tokens
  const { token } = await runtime.tokens.create({
    name: 'billing',
    roles: ['caller'],
    tenant: 'acme',
    principal: 'service:billing',
    expiresIn: '90d',
  })
  // #endregion
  assert.match(token, /^pawl_/)
}

async function embed() {
  const { Hono } = await import('hono')
  const app = new Hono()
  const userOf = (_request: Request) => ({ id: 'ada', isSupport: false }) as { id: string; isSupport: boolean } | null
  // #region embed
  const { createServer } = await import('pawl/server')
  const pawl = createServer(runtime, {
    basePath: '/pawl',
    allowedHosts: ['app.example.com'],
    authenticate(request) {
      const user = userOf(request) // your login
      return user && { principal: `user:${user.id}`, roles: user.isSupport ? ['caller', 'approver'] : ['caller'] }
    },
  })
  app.all('/pawl/*', (c) => pawl.fetch(c.req.raw))
  // #endregion
  const response = await app.request('http://app.example.com/pawl/v1/me')
  assert.deepEqual(((await response.json()) as { principal: string }).principal, 'user:ada')
  pawl.close()
}

async function oauth() {
  const { createServer } = await import('pawl/server')
  const verifyOAuthToken = () => null
  // #region oauth
  const server = createServer(runtime, {
    authenticate: verifyOAuthToken,
    mcp: { authorizationServers: ['https://login.example.com'], resource: 'https://agents.example.com/mcp' },
  })
  // #endregion
  const refused = await server.fetch(new Request('http://localhost/mcp', { method: 'POST' }))
  assert.equal(refused.status, 401)
  const metadata = 'https://agents.example.com/.well-known/oauth-protected-resource/mcp'
  assert.ok(refused.headers.get('www-authenticate')?.includes(`resource_metadata="${metadata}"`))
  server.close()
}

async function embedInExpress() {
  const [{ default: express }, { Readable }, { pipeline }, { createServer }] = await Promise.all([
    import('express'),
    import('node:stream'),
    import('node:stream/promises'),
    import('pawl/server'),
  ])
  const authenticate = () => ({ principal: 'user:ada', roles: ['caller'] as const })
  const pawl = createServer(runtime, { basePath: '/pawl', authenticate })
  const app = express()
  // #region express
  app.all('/pawl/{*path}', async (req, res) => {
    const hasBody = req.method !== 'GET' && req.method !== 'HEAD'
    const request = new Request(new URL(req.originalUrl, `${req.protocol}://${req.headers.host}`), {
      method: req.method,
      headers: new Headers(req.headers as Record<string, string>),
      ...(hasBody ? { body: Readable.toWeb(req), duplex: 'half' } : {}),
    })
    const response = await pawl.fetch(request, { address: req.ip })
    res.status(response.status).setHeaders(response.headers)
    if (response.body) await pipeline(Readable.fromWeb(response.body), res).catch(() => res.destroy())
    else res.end()
  })
  // #endregion
  const listening = app.listen(0, '127.0.0.1')
  await new Promise((resolve) => listening.once('listening', resolve))
  const base = `http://127.0.0.1:${(listening.address() as AddressInfo).port}/pawl`
  assert.equal((await fetch(`${base}/`)).status, 200)
  const call = { name: 'refund', input: { order: 'A3' } }
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(call) }
  assert.equal((await fetch(`${base}/v1/sessions/express/calls`, init)).status, 202)
  pawl.close()
  listening.close()
  listening.closeAllConnections()
}

async function webhooks() {
  const received: { message: unknown }[] = []
  const receiver = createHttpServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      // #region verify
      const message = verifyWebhook({ body, headers: request.headers, secret: 'a secret of at least 16 bytes' })
      if (!message) return response.writeHead(401).end()
      if (message.about === 'person') console.log(`${message.preview.summary} ${message.links?.decide}`)
      response.writeHead(204).end()
      // #endregion
      received.push({ message })
    })
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`
  // #region webhook
  const { verifyWebhook, webhook } = await import('pawl/server')
  const announcing = await createRuntime({
    store: 'sqlite:announcing.db',
    tools: [refund],
    announce: webhook({
      url,
      secret: 'a secret of at least 16 bytes',
      allowPrivateAddresses: true, // only because this receiver is on the same machine
      link: { runtime: () => announcing, baseUrl: 'https://pawl.example.com', by: 'user:bea' },
    }),
  })
  // #endregion
  await announcing.session('s').run([{ id: 'c1', name: 'refund', input: { order: 'A2' } }], { until: 'waiting' })
  while (received.length === 0) await new Promise((resolve) => setImmediate(resolve))
  assert.ok(received[0]?.message)
  await announcing.close()
  receiver.close()
  receiver.closeAllConnections()
}

await tokens()
await embed()
await oauth()
await embedInExpress()
await webhooks()
await server.close()
