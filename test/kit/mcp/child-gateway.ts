// A process with a runtime whose provider is an MCP server; it makes one call and is killed in its middle.

import { createRuntime } from 'pawl'
import { mcpProvider, type McpServerConfig } from 'pawl/mcp'

const { store, config } = JSON.parse(process.argv[2] ?? '') as { store: string; config: McpServerConfig }
const runtime = await createRuntime({
  store,
  lease: '1s',
  providers: [mcpProvider('h', config)],
  policy: { rules: [{ tool: '*', then: 'allow' }] },
})
await runtime.session('s').run([{ id: 'p', name: 'h__pay', input: {} }], { batch: 'b' })
