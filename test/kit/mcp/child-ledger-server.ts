// An MCP server on stdio for tests of the gateway. Its tool `append` adds a line to a file, and returns when the file
// `<ledger>.go` exists. Its definitions are read from `<ledger>.tools.json`, if there is such a file.

import { appendFileSync, existsSync, readFileSync, watch } from 'node:fs'
import { basename, dirname } from 'node:path'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'

const [ledger = ''] = process.argv.slice(2)
const inputSchema = { type: 'object', properties: { line: { type: 'string' } }, required: ['line'] } as const
const definitions = [
  { name: 'append', description: 'Adds a line.', inputSchema },
  { name: 'peek', description: 'Reads nothing.', inputSchema, annotations: { readOnlyHint: true } },
]
const server = new Server({ name: 'ledger', version: '1' }, { capabilities: { tools: {} } })
server.setRequestHandler(ListToolsRequestSchema, () => {
  const file = `${ledger}.tools.json`
  return { tools: existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as typeof definitions) : definitions }
})
server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
  if (params.name === 'append') {
    appendFileSync(ledger, `${String(params.arguments?.line)} ${process.pid}\n`)
    await exists(`${ledger}.go`)
  }
  return { content: [{ type: 'text', text: `${params.name} done` }] }
})
await server.connect(new StdioServerTransport())

function exists(file: string): Promise<void> {
  return new Promise((resolve) => {
    const watcher = watch(dirname(file), (_, name) => {
      if (name === basename(file)) end()
    })
    const end = (): void => {
      watcher.close()
      resolve()
    }
    if (existsSync(file)) end()
  })
}
