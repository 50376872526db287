import { serve } from '@hono/node-server'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import type { AddressInfo } from 'node:net'
import { mcpProvider } from 'pawl/mcp'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { atEnd, callOne, logger, openWith } from '../../kit/mcp/open-mcp.ts'

test('MCP-2: a streamable HTTP server of revision 2026-07-28 gets the arguments it wants as headers', async () => {
  const seen: (string | null)[] = []
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'modern', version: '1' })
    const inputSchema = z.object({ region: z.string().meta({ 'x-mcp-header': 'Region' }) })
    server.registerTool('deploy', { description: 'Deploys', inputSchema }, ({ region }) => ({
      content: [{ type: 'text', text: `deployed to ${region}` }],
    }))
    return server
  })
  const http = serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request) {
      if (request.headers.get('mcp-method') === 'tools/call') seen.push(request.headers.get('mcp-param-region'))
      return handler.fetch(request)
    },
  })
  atEnd(() => http.close())
  await new Promise((resolve) => http.once('listening', resolve))
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`
  const runtime = await openWith(mcpProvider('m', { url }, { logger }))
  expect(await callOne(runtime, 'm__deploy', { region: 'eu' })).toMatchObject({ value: 'deployed to eu' })
  expect(seen).toEqual(['eu'])
})
