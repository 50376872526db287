// The code of docs/guide/mcp-server.md. test/project/guide.test.ts runs it.

import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

process.chdir(mkdtempSync(join(tmpdir(), 'pawl-mcp-server-')))

// #region start
import { createRuntime, tool } from 'pawl'
import { createMcpServer } from 'pawl/mcp'

const refund = tool({
  name: 'refund',
  description: 'Refund an order',
  input: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
  hints: { destructive: true }, // asks a person first
  execute: () => 'You get 42 €.',
})
const runtime = await createRuntime({ store: 'sqlite:agent.db', tools: [refund] })
const server = createMcpServer(runtime)
await server.serveStdio({ principal: 'user:ada', tenant: 'default' })
await server.close()
await runtime.close()
// #endregion

async function http() {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
  const { startServer } = await import('pawl/server')
  const search = tool({
    name: 'search',
    description: 'Search the orders',
    input: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    hints: { readOnly: true },
    execute: () => ['A1', 'A2'],
  })
  // #region dedupe
  const notify = tool({
    name: 'notify',
    description: 'Send the order mail to its customer',
    input: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
    dedupe: '10m', // the same mail is not sent again within ten minutes
    execute: () => 'sent',
  })
  // #endregion
  const durable = await createRuntime({ store: 'memory:', tools: [search, notify] })
  const listening = await startServer({ runtime: durable, port: 0 })
  const { url, token } = listening
  // #region client
  const client = new Client({ name: 'my-agent', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })
  const headers = { authorization: `Bearer ${token}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }))
  const { content } = await client.callTool({
    name: 'search',
    arguments: { text: 'shoes' },
    _meta: { 'dev.pawl/idempotencyKey': 'search-7' },
  })
  // #endregion
  assert.deepEqual(content, [{ type: 'text', text: '["A1","A2"]' }])
  for (let count = 0; count < 2; count++) {
    const sent = await client.callTool({ name: 'notify', arguments: { order: 'A1' } })
    assert.deepEqual(sent.content, [{ type: 'text', text: 'sent' }])
  }
  assert.equal((await durable.session('mcp:user:local').calls.list({ tool: 'notify' })).length, 1)
  await client.close()
  await listening.close()
}

async function ownHost() {
  const authenticate = async (_request: Request): Promise<string | null> => 'user:ada'
  const orders = await createRuntime({ store: 'memory:', tools: [] })
  // #region fetch
  const mcp = createMcpServer(orders, { patience: '30s' })
  const handler = async (request: Request): Promise<Response> => {
    const user = await authenticate(request)
    if (user === null) return new Response(null, { status: 401 })
    return mcp.fetch(request, { principal: user, tenant: 'default', mayDecide: false })
  }
  // #endregion
  assert.equal((await handler(new Request('http://localhost/mcp', { method: 'DELETE' }))).status, 405)
  await mcp.close()
  await orders.close()
}

await http()
await ownHost()
