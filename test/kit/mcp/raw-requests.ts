// Raw JSON-RPC requests to an MCP server, without a client that would refuse to send them.

import type { McpCaller, McpServer } from 'pawl/mcp'

export const modern = '2026-07-28'
export const legacy = '2025-11-25'

export interface Answer {
  readonly status: number
  /** The JSON-RPC message with a result or an error; undefined if there is none. */
  readonly message: RpcMessage | undefined
  readonly text: string
}

export interface RpcMessage {
  readonly jsonrpc?: unknown
  readonly id?: unknown
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

interface RawRequest {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Sends bytes as they are. */
export async function send(server: McpServer, caller: McpCaller, request: RawRequest): Promise<Answer> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    ...request.headers,
  }
  const { method = 'POST', body } = request
  const response = await server.fetch(
    new Request('http://127.0.0.1/mcp', { method, headers, ...(body === undefined ? {} : { body }) }),
    caller,
  )
  const text = await response.text()
  return { status: response.status, message: answerIn(text), text }
}

/** The `_meta` of a request of the modern revision. */
export const metaOf = (capabilities: object = {}): object => ({
  'io.modelcontextprotocol/protocolVersion': modern,
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': capabilities,
})

interface RpcRequest {
  readonly id?: unknown
  readonly method: string
  readonly params?: Readonly<Record<string, unknown>>
  readonly capabilities?: object
}

/** Sends a request of the modern revision with the headers that it requires. */
export function request(server: McpServer, caller: McpCaller, rpc: RpcRequest): Promise<Answer> {
  const { id = 1, method, params = {}, capabilities } = rpc
  const name = params.name ?? params.uri ?? params.taskId
  return send(server, caller, {
    headers: {
      'mcp-protocol-version': modern,
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { _meta: metaOf(capabilities), ...params } }),
  })
}

/** The body is a message, or an event stream in which the answer comes last. */
function answerIn(text: string): RpcMessage | undefined {
  const bodies = text.startsWith('{')
    ? [text]
    : text
        .split('\n')
        .filter((line) => line.startsWith('data:'))
        .map((line) => line.slice('data:'.length))
  return bodies
    .filter((body) => body.trim() !== '')
    .map((body) => JSON.parse(body) as RpcMessage)
    .findLast((message) => 'result' in message || 'error' in message)
}
