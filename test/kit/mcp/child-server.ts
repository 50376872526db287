// A child process that serves the test tools over stdio. Arguments: the folder, then options of the server as JSON.

import { createRuntime, type Duration } from 'pawl'
import { createMcpServer, type McpServerOptions } from 'pawl/mcp'
import { join } from 'node:path'
import { mcpServerTools } from './server-tools.ts'

const [folder = '.', options = '{}'] = process.argv.slice(2)
const {
  principal = 'user:ada',
  lease = '2s',
  ...server
} = JSON.parse(options) as McpServerOptions & {
  principal?: string
  lease?: Duration
}
const runtime = await createRuntime({
  store: `sqlite:${join(folder, 'store.db')}`,
  commit: 'process',
  lease,
  tools: mcpServerTools(folder),
  logger: { debug() {}, info() {}, warn() {}, error() {} },
})
const mcp = createMcpServer(runtime, server)
await mcp.serveStdio({ principal, tenant: 'default' })
await mcp.close()
await runtime.close({ grace: 0 })
