// A Pawl server on a loopback port with the tools, resources and prompts that the conformance suites expect.

import { createRuntime, jsonSchema, type Runtime, tool } from 'pawl'
import { startServer } from 'pawl/server'
import { quiet } from '../stores/fresh-store.ts'
import { conformanceContent } from './conformance-content.ts'
import { conformanceTools } from './conformance-tools.ts'

export interface ConformanceServer {
  readonly runtime: Runtime
  /** The address of the MCP endpoint. */
  readonly url: string
  close(): Promise<void>
}

export async function startConformanceServer(): Promise<ConformanceServer> {
  const { content, promptsChanged } = conformanceContent()
  let added = 0
  const runtime: Runtime = await createRuntime({
    store: 'memory:',
    logger: quiet,
    tools: conformanceTools({
      tools: () => runtime.tools.add(addedTool(++added)),
      prompts: promptsChanged,
    }),
    policy: { rules: [{ tool: '*', then: 'allow' }] },
  })
  // The suites send no token.
  const identity = { principal: 'user:suite', tenant: 'suite', roles: ['caller', 'approver'] } as const
  const server = await startServer({ runtime, port: 0, authenticate: () => identity, mcp: { content } })
  return { runtime, url: `${server.url}/mcp`, close: () => server.close() }
}

const addedTool = (index: number): ReturnType<typeof tool> =>
  tool({
    name: `added_${index}`,
    description: 'Added while the server runs',
    input: jsonSchema({ type: 'object', properties: {} }),
    execute: () => index,
  })
