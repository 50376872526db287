import type { Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAdaptorServer } from '@hono/node-server'
import { createRuntime } from 'pawl'
import { createMcpServer, type ContentSource, type McpPrompt } from 'pawl/mcp'
import { createServer } from 'pawl/server'
import { expect, test, vi } from 'vitest'
import { atEnd, connect, httpServer, tokenOf } from '../../kit/mcp/server-clients.ts'
import { quiet } from '../../kit/stores/fresh-store.ts'

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
}

const post = (url: URL | string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify(initialize),
  })

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

test('MCP-1: the endpoint checks token, right, host and origin before it reads a message', async () => {
  const { url } = await httpServer({
    tokens: [
      { token: tokenOf('user:ada'), roles: ['caller'], principal: 'user:ada' },
      { token: tokenOf('user:viewer'), roles: ['viewer'], principal: 'user:viewer' },
    ],
  })
  const statusOf = async (headers: Record<string, string>): Promise<number> => (await post(url, headers)).status
  expect(await statusOf({})).toBe(401)
  expect(await statusOf(bearer('pawl_wrong-wrong-wrong'))).toBe(401)
  expect(await statusOf(bearer(tokenOf('user:viewer')))).toBe(403)
  expect(await statusOf({ ...bearer(tokenOf('user:ada')), origin: 'https://evil.example' })).toBe(403)
  expect(await statusOf(bearer(tokenOf('user:ada')))).toBe(200)
  expect((await fetch(url, { headers: bearer(tokenOf('user:ada')) })).status).toBe(405)
}, 60_000)

test('MCP-1: OAuth clients find the authorization server from the refusal', async () => {
  const runtime = await createRuntime({ store: 'memory:', logger: quiet })
  atEnd(() => runtime.close({ grace: 0 }))
  const authorizationServers = ['https://login.example.com']
  const server = createServer(runtime, {
    basePath: '/pawl',
    mcp: { authorizationServers },
    allowedHosts: ['agents.example.com'],
  })
  const refused = await server.fetch(new Request('https://agents.example.com/pawl/mcp', { method: 'POST' }))
  expect(refused.status).toBe(401)
  const metadata = /resource_metadata="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '')?.[1] ?? ''
  expect(metadata).toBe('https://agents.example.com/.well-known/oauth-protected-resource/pawl/mcp')
  expect(await (await server.fetch(new Request(metadata))).json()).toMatchObject({
    resource: 'https://agents.example.com/pawl/mcp',
    authorization_servers: authorizationServers,
  })
  const elsewhere = new Request(metadata.replace('agents.', 'evil.'))
  expect((await server.fetch(elsewhere)).status).toBe(421)
  expect((await server.fetch(new Request('https://evil.example/pawl/mcp', { method: 'POST' }))).status).toBe(421)
  server.close()

  const plain = createServer(runtime, { mcp: false })
  expect((await plain.fetch(new Request('http://localhost/mcp', { method: 'POST' }))).status).toBe(404)
  expect((await plain.fetch(new Request('http://localhost/.well-known/oauth-protected-resource'))).status).toBe(404)
  plain.close()
})

test('MCP-1: resources and prompts of a content source are passed through, with their changes', async () => {
  let prompts: McpPrompt[] = [{ name: 'greet', description: 'Greets' }]
  let changed: ((what: 'resources' | 'prompts') => void) | undefined
  const content: ContentSource = {
    listResources: async () => Array.from({ length: 501 }, (_, at) => ({ uri: `note://${at}`, name: `note ${at}` })),
    listResourceTemplates: async () => [{ uriTemplate: 'note://{id}', name: 'note' }],
    readResource: async (uri) => {
      if (uri === 'note://broken') throw new Error('a path that no client may read: /etc/notes')
      if (uri === 'note://absent') throw Object.assign(new Error('There is no such note.'), { code: -32_602 })
      return { contents: [{ uri, text: `text of ${uri}` }] }
    },
    listPrompts: async () => prompts,
    getPrompt: async (name, { who = 'you' }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `${name} ${who}` } }],
    }),
    onChange: (listener) => {
      changed = listener
      return () => (changed = undefined)
    },
  }
  const runtime = await createRuntime({ store: 'memory:', logger: quiet })
  const mcp = createMcpServer(runtime, { content })
  atEnd(() => runtime.close({ grace: 0 }))
  const listening = createAdaptorServer({
    fetch: (request) => mcp.fetch(request, { principal: 'user:ada', tenant: 'default' }),
    overrideGlobalObjects: false,
  }) as HttpServer
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  atEnd(async () => {
    listening.closeAllConnections()
    listening.close()
  })
  const { port } = listening.address() as AddressInfo
  for (const era of ['modern', 'legacy'] as const) {
    const client = await connect(era, { url: new URL(`http://127.0.0.1:${port}/mcp`) })
    expect((await client.listResources()).resources.length).toBeGreaterThanOrEqual(500)
    expect((await client.listResourceTemplates()).resourceTemplates).toMatchObject([{ name: 'note' }])
    expect(await client.readResource({ uri: 'note://7' })).toMatchObject({ contents: [{ text: 'text of note://7' }] })
    const failed = client.readResource({ uri: 'note://broken' })
    await expect(failed).rejects.toMatchObject({ code: -32_603 })
    await expect(failed).rejects.not.toThrow('/etc/notes')
    const absent = client.readResource({ uri: 'note://absent' })
    await expect(absent).rejects.toMatchObject({ code: -32_602, message: expect.stringContaining('no such note') })
    expect((await client.listPrompts()).prompts).toMatchObject([{ name: 'greet' }])
    const { messages } = await client.getPrompt({ name: 'greet', arguments: { who: 'Ada' } })
    expect(messages).toMatchObject([{ content: { text: 'greet Ada' } }])
    if (era === 'legacy') continue
    const heard = vi.fn()
    client.setNotificationHandler('notifications/prompts/list_changed', heard)
    const listeningTo = await client.listen({ promptsListChanged: true })
    prompts = [...prompts]
    changed?.('prompts')
    await vi.waitUntil(() => heard.mock.calls.length > 0, { timeout: 30_000, interval: 10 })
    await listeningTo.close()
  }
  await mcp.close()
  expect(changed).toBeUndefined()
}, 60_000)

test('MCP-1: without content no resources and prompts are declared', async () => {
  const { url } = await httpServer()
  const client = await connect('modern', { url })
  expect(client.getServerCapabilities()).toMatchObject({ tools: { listChanged: true } })
  expect(client.getServerCapabilities()).not.toHaveProperty('resources')
  expect(client.getServerCapabilities()).not.toHaveProperty('prompts')
}, 60_000)

test('MCP-3: no route reads or writes the secrets and the bookkeeping of the MCP server', async () => {
  const { url } = await httpServer()
  const client = await connect('modern', { url })
  await client.callTool({ name: 'add', arguments: { a: 1, b: 2 } })
  const of = (path: string, method = 'GET', body?: string): Promise<Response> =>
    fetch(new URL(path, url), {
      method,
      headers: { ...bearer(tokenOf('user:ada')), 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body }),
    })
  const secret = '/v1/sessions/pawl:mcp-server/values/secret'
  expect((await of(secret)).status).toBe(404)
  expect((await of(secret, 'PUT', '{"value":"known"}')).status).toBe(404)
  expect((await of(secret, 'DELETE')).status).toBe(404)
  expect((await of('/v1/sessions/pawl:mcp-undelivered:user:ada:1/values')).status).toBe(404)
  expect((await of('/v1/sessions/pawl:mcp-server/export')).status).toBe(404)
  const sessions = await (await of('/v1/sessions')).text()
  expect(sessions).toContain('mcp:user:ada')
  expect(sessions).not.toContain('pawl:mcp')
  expect((await of('/v1/sessions/mcp:user:ada')).status).toBe(200)
}, 60_000)
