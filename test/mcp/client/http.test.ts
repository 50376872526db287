import { type ChildProcess, spawn } from 'node:child_process'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Runtime } from 'pawl'
import { mcpProvider, type McpServerConfig } from 'pawl/mcp'
import { expect, test, vi } from 'vitest'
import { HostileHttp } from '../../kit/mcp/hostile-http.ts'
import { atEnd, callOne, logged, logger, openWith, plainTool, safetyNet } from '../../kit/mcp/open-mcp.ts'

async function open(config: McpServerConfig = {}): Promise<{ server: HostileHttp; runtime: Runtime }> {
  const server = await new HostileHttp().listen()
  atEnd(() => server.close())
  server.tools = [plainTool('t', { annotations: { readOnlyHint: true } })]
  const runtime = await openWith(mcpProvider('web', { url: server.url, ...config }, { logger }))
  return { server, runtime }
}

test('MCP-2: a streamable HTTP server gets its headers, and their references are resolved', async () => {
  process.env.PAWL_TEST_TOKEN = 'tok-4f9a8b7c6d5e'
  atEnd(() => delete process.env.PAWL_TEST_TOKEN)
  const { server, runtime } = await open({ headers: { Authorization: 'Bearer ${PAWL_TEST_TOKEN}' } })
  expect(await callOne(runtime, 'web__t')).toMatchObject({ status: 'success', value: 'done' })
  expect(new Set(server.headers.map(({ authorization }) => authorization))).toEqual(
    new Set(['Bearer tok-4f9a8b7c6d5e']),
  )
})

test('MCP-2: a connection that breaks in mid-call is unknown, and the effect happens once', async () => {
  const { server, runtime } = await open()
  server.hook = ({ method }, response) => {
    if (method !== 'tools/call') return false
    server.effects.push('t')
    response.destroy()
    return true
  }
  expect(await callOne(runtime, 'web__t')).toMatchObject({ status: 'unknown', attempts: 1 })
  expect(server.effects).toEqual(['t'])
})

const beginStream = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'text/event-stream' })

test('MCP-2: a stream that ends without an answer is unknown at once', async () => {
  const { server, runtime } = await open()
  server.hook = ({ method }, response) => {
    if (method !== 'tools/call') return false
    beginStream(response).end(': nothing\n\n')
    return true
  }
  const started = performance.now()
  expect(await callOne(runtime, 'web__t')).toMatchObject({ status: 'unknown' })
  expect(performance.now() - started).toBeLessThan(15_000)
})

test('MCP-2: a trusted read-only tool is called again after a broken connection', async () => {
  const { server, runtime } = await open({ trusted: true })
  let broken = 0
  server.hook = ({ method }, response) => {
    if (method !== 'tools/call' || broken++ > 0) return false
    response.destroy()
    return true
  }
  expect(await callOne(runtime, 'web__t')).toMatchObject({ status: 'success', attempts: 2 })
})

test.each([
  [401, { failure: { class: 'permission_denied' } }],
  [400, { failure: { class: 'external' } }],
  [503, { status: 'unknown' }],
] as const)('MCP-2: HTTP status %i ends a call with %j', async (status, outcome) => {
  const { server, runtime } = await open()
  server.hook = ({ method }, response) => {
    if (method !== 'tools/call') return false
    response.writeHead(status).end('<html>'.repeat(100_000))
    return true
  }
  const ended = await callOne(runtime, 'web__t')
  expect(ended).toMatchObject(outcome)
  expect(JSON.stringify(ended).length).toBeLessThan(3_000)
})

test('MCP-2: a server that has forgotten the session is connected to again', async () => {
  const { server, runtime } = await open()
  let forgotten = 0
  server.hook = ({ method }, response) => {
    if (method !== 'tools/call' || forgotten++ > 0) return false
    response.writeHead(404).end()
    return true
  }
  expect(await callOne(runtime, 'web__t')).toMatchObject({ status: 'success', attempts: 2 })
  expect(server.effects).toEqual(['t'])
})

test('MCP-2: redirects to another origin are not followed, so headers do not leave', async () => {
  const seen: unknown[] = []
  const other = createServer((request, response) => {
    seen.push(request.headers.authorization)
    response.end()
  })
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  atEnd(() => other.close())
  const { server, runtime } = await open({ headers: { Authorization: 'Bearer abcdefghijk' } })
  const location = `http://127.0.0.1:${(other.address() as AddressInfo).port}/`
  server.hook = ({ method }, response) => {
    if (method !== 'tools/call') return false
    response.writeHead(307, { location }).end()
    return true
  }
  expect((await callOne(runtime, 'web__t')).status).not.toBe('success')
  expect(seen).toEqual([])
})

test.each(['application/json', 'text/event-stream'])(
  'MCP-2: an answer that is too large ends the call (%s)',
  async (type) => {
    const { server, runtime } = await open()
    server.hook = ({ method, id }, response) => {
      if (method !== 'tools/call') return false
      response.writeHead(200, { 'content-type': type })
      const text = 'x'.repeat(9_000_000)
      const message = JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } })
      response.end(type === 'application/json' ? message : `data: ${message}\n\n`)
      return true
    }
    expect(await callOne(runtime, 'web__t')).toMatchObject({ status: 'unknown' })
    server.hook = () => false
    expect(await callOne(runtime, 'web__t')).toMatchObject({ status: 'success' })
  },
)

test('MCP-2: a server that is down makes its tools unavailable until it is back', async () => {
  const { server, runtime } = await open()
  await server.close()
  const away = await callOne(runtime, 'web__t')
  expect(away).toMatchObject({ failure: { code: 'tool_unavailable' } })
  await server.listen()
  await expect.poll(async () => (await callOne(runtime, 'web__t')).status, safetyNet).toBe('success')
  expect(server.effects).toEqual(['t'])
})

test('MCP-2: a server that only speaks the old SSE transport is refused with an error that says so', async () => {
  const server = new HostileHttp()
  server.hook = (_, response, { method }) => {
    if (method === 'GET') beginStream(response).write('event: endpoint\ndata: /messages\n\n')
    else response.writeHead(405).end()
    return true
  }
  await server.listen()
  atEnd(() => server.close())
  await openWith(mcpProvider('old', { url: server.url }, { logger }))
  expect(logged.join('\n')).toContain('streamable HTTP')
})

test('MCP-2: the everything server works over streamable HTTP', async () => {
  const bin = join(import.meta.dirname, '../../../node_modules/.bin/mcp-server-everything')
  const free = await new HostileHttp().listen()
  const url = new URL(free.url)
  await free.close()
  const env = { ...process.env, PORT: url.port }
  const child: ChildProcess = spawn(bin, ['streamableHttp'], { env, stdio: 'ignore' })
  atEnd(() => child.kill('SIGKILL'))
  await vi.waitUntil(
    () =>
      fetch(url, { method: 'DELETE' })
        .then(() => true)
        .catch(() => false),
    safetyNet,
  )
  const runtime = await openWith(mcpProvider('all', { url: url.href }, { logger }))
  expect(await callOne(runtime, 'all__echo', { message: 'hi' })).toMatchObject({ value: 'Echo: hi' })
})
