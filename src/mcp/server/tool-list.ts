// tools/list: the tools that a caller may call, and the tools that continue a call.

import { ProtocolError, type ListToolsResult, type Tool as McpTool } from '@modelcontextprotocol/server'
import type { Session, Tool } from '../../index.ts'
import { toMcp } from '../../tools/convert-tool-formats.ts'
import { hasObjectOutput } from './tool-result.ts'

export const waitTool = 'pawl_wait'
export const cancelTool = 'pawl_cancel'

const callIdSchema = {
  type: 'object' as const,
  properties: { call: { type: 'string', description: 'Id of the call, such as call_1234.' } },
  required: ['call'],
  additionalProperties: false,
}

const builtIn: readonly McpTool[] = [
  {
    name: cancelTool,
    title: 'Cancel a call',
    description: 'Cancels a call whose result is pending.',
    inputSchema: callIdSchema,
    annotations: { title: 'Cancel a call', readOnlyHint: false, destructiveHint: false, idempotentHint: true },
  },
  {
    name: waitTool,
    title: 'Wait for a call',
    description:
      'Waits for the result of a call that is pending, and returns it. Call it again if it is still pending.',
    inputSchema: callIdSchema,
    annotations: { title: 'Wait for a call', readOnlyHint: true },
  },
]

export const isBuiltIn = (name: string): boolean => builtIn.some((each) => each.name === name)

const pageSize = 200
/** How long a client may use the list. A change is announced. */
const ttlMs = 60_000

/** The tools of the session that a host can call; `client` tools are run by the client of a session. */
const callable = (tools: readonly Tool[]): Tool[] =>
  tools.filter(({ client, internal, name }) => !client && !internal && !isBuiltIn(name))

export async function listTools(session: Session, cursor: string | undefined): Promise<ListToolsResult> {
  const tools = callable(await session.loadTools())
  const structured = new Set(tools.filter(hasObjectOutput).map(({ name }) => name))
  const listed = toMcp(tools).map(({ outputSchema, ...tool }) =>
    structured.has(tool.name) && outputSchema ? { ...tool, outputSchema } : tool,
  ) as McpTool[]
  const all = [...listed, ...builtIn].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const after = cursor === undefined ? '' : nameIn(cursor)
  const page = all.filter(({ name }) => name > after).slice(0, pageSize)
  const last = page.at(-1)
  const nextCursor = last && last !== all.at(-1) ? { nextCursor: Buffer.from(last.name).toString('base64url') } : {}
  const shown = page.map((tool) => ({ ...tool, inputSchema: withoutHeaders(tool.inputSchema) }))
  return { tools: shown, ...nextCursor, ttlMs, cacheScope: 'private' }
}

const headerAnnotation = 'x-mcp-header'

/**
 * A schema from a server behind the gateway may name headers in which clients repeat arguments. Pawl reads only the
 * arguments, and would have to refuse headers that differ: clients are not asked to send them.
 */
function withoutHeaders(schema: McpTool['inputSchema']): McpTool['inputSchema'] {
  const text = JSON.stringify(schema)
  if (!text.includes(`"${headerAnnotation}"`)) return schema
  // A parameter may have that name; its value is a schema.
  return JSON.parse(text, (key, value: unknown) =>
    key === headerAnnotation && typeof value === 'string' ? undefined : value,
  ) as McpTool['inputSchema']
}

function nameIn(cursor: string): string {
  const name = Buffer.from(cursor, 'base64url').toString()
  if (cursor !== '' && /^[\w-]{1,64}$/.test(name)) return name
  throw new ProtocolError(invalidParams, 'The cursor is invalid. Use `nextCursor` of the previous page.')
}

export const invalidParams = -32_602

/** The tool that a caller may call by this name. */
export async function findTool(session: Session, name: string): Promise<Tool | undefined> {
  const named = (tools: readonly Tool[]): Tool | undefined => callable(tools).find((each) => each.name === name)
  return named(session.tools) ?? named(await session.loadTools())
}
