// A streamable HTTP MCP server in this process whose behaviour a test sets per request. No SDK, so that it can break
// every rule.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface RpcRequest {
  readonly id?: number | string
  readonly method?: string
  readonly params?: Readonly<Record<string, unknown>>
}

/** Returns true if it has answered. */
type Hook = (request: RpcRequest, response: ServerResponse, http: IncomingMessage) => boolean

export class HostileHttp {
  hook: Hook = () => false
  tools: readonly unknown[] = []
  /** Names of the called tools. */
  readonly effects: string[] = []
  readonly headers: IncomingMessage['headers'][] = []
  #server: Server | undefined
  #port = 0

  get url(): string {
    return `http://127.0.0.1:${this.#port}/mcp`
  }

  async listen(): Promise<this> {
    const server = createServer((http, response) => void this.#handle(http, response))
    this.#server = server
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve))
    this.#port = (server.address() as AddressInfo).port
    return this
  }

  async close(): Promise<void> {
    const server = this.#server
    if (!server) return
    this.#server = undefined
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }

  async #handle(http: IncomingMessage, response: ServerResponse): Promise<void> {
    this.headers.push(http.headers)
    let body = ''
    http.setEncoding('utf8')
    for await (const chunk of http) body += chunk as string
    const request = (body === '' ? {} : JSON.parse(body)) as RpcRequest
    if (this.hook(request, response, http)) return
    if (http.method !== 'POST') return void response.writeHead(405).end()
    if (request.id === undefined) return void response.writeHead(202).end()
    const answer = this.#answer(request)
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id: request.id, ...answer }))
  }

  #answer({ method, params }: RpcRequest): object {
    if (method === 'initialize') {
      const serverInfo = { name: 'hostile', version: '1' }
      return { result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo } }
    }
    if (method === 'tools/list') return { result: { tools: this.tools } }
    if (method === 'tools/call') {
      this.effects.push(String(params?.name))
      return { result: { content: [{ type: 'text', text: 'done' }] } }
    }
    return { error: { code: -32_601, message: 'Method not found' } }
  }
}
