// A host that calls `ledger__append` through the gateway of a folder and waits. The test kills it.

import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { environment, main, node } from '../run-pawl.ts'

const [folder = '.'] = process.argv.slice(2)
const client = new Client({ name: 'host', version: '1' })
const transport = new StdioClientTransport({
  command: node,
  args: ['--conditions=@pawl/source', main, 'mcp', '--config', 'servers.json'],
  cwd: folder,
  env: environment(),
  stderr: 'ignore',
})
await client.connect(transport)
await client.callTool({ name: 'ledger__append', arguments: { line: 'one' } }, { timeout: 600_000 })
