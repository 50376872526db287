// A stdio MCP server of revision 2026-07-28, made with the SDK. Its tools: `echo` returns its argument and the metadata
// of the request, `ask` asks the client for input, `grow` adds a tool, `die` ends the process.

import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

serveStdio(() => {
  const server = new McpServer({ name: 'modern', version: '1' }, { capabilities: { tools: { listChanged: true } } })
  const empty = z.object({})
  server.registerTool(
    'echo',
    { description: 'Echo', inputSchema: z.object({ text: z.string() }) },
    ({ text }, ctx) => ({
      content: [{ type: 'text', text: JSON.stringify({ text, era: ctx.mcpReq.envelope !== undefined }) }],
    }),
  )
  server.registerTool(
    'ask',
    { description: 'Ask', inputSchema: empty },
    () =>
      ({
        resultType: 'input_required' as const,
        inputRequests: {
          q: {
            method: 'elicitation/create',
            params: { message: 'Name?', requestedSchema: { type: 'object', properties: {} } },
          },
        },
      }) as never,
  )
  server.registerTool('grow', { description: 'Grow', inputSchema: empty }, () => {
    server.registerTool('grown', { description: 'Grown', inputSchema: empty }, () => ({
      content: [{ type: 'text', text: 'I am new' }],
    }))
    return { content: [{ type: 'text', text: 'done' }] }
  })
  server.registerTool('die', { description: 'Die', inputSchema: empty }, () => process.exit(4))
  return server
})
