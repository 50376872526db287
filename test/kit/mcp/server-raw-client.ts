// Sends single JSON-RPC messages over HTTP and stdio: what the clients of the SDK do not send.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { vi } from 'vitest'
import { atEnd, stdioOf, tokenOf } from './server-clients.ts'

export interface RawAnswer {
  readonly status: number
  readonly result?: Record<string, unknown>
  readonly error?: { readonly code: number; readonly message: string }
}

export interface RawOptions {
  readonly principal?: string
  readonly capabilities?: object
  readonly signal?: AbortSignal
}

const revision = '2026-07-28'

export function rawClient(url: URL, { principal = 'user:ada', capabilities = {}, signal }: RawOptions = {}) {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': revision,
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  }
  let id = 0
  const headers = (method: string, params: { name?: unknown; taskId?: unknown }): Record<string, string> => ({
    authorization: `Bearer ${tokenOf(principal)}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': revision,
    'mcp-method': method,
    ...(typeof params.name === 'string' ? { 'mcp-name': params.name } : {}),
    ...(typeof params.taskId === 'string' ? { 'mcp-name': params.taskId } : {}),
  })
  const send = (method: string, params: Record<string, unknown>, more: Record<string, unknown> = {}) =>
    fetch(url, {
      method: 'POST',
      headers: headers(method, params),
      body: JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params: { ...params, _meta: { ...meta, ...more } } }),
      ...(signal ? { signal } : {}),
    })
  return {
    send,
    async request(
      method: string,
      params: Record<string, unknown>,
      more: Record<string, unknown> = {},
    ): Promise<RawAnswer> {
      const response = await send(method, params, more)
      const text = await response.text()
      const json = text.startsWith('{') ? text : (/^data: (\{.*"(?:result|error)".*\})$/m.exec(text)?.[1] ?? '{}')
      return { status: response.status, ...(JSON.parse(json) as Omit<RawAnswer, 'status'>) }
    },
  }
}

interface Message {
  readonly id?: number
  readonly result?: unknown
  readonly error?: unknown
}

/** A server in a child process. Messages of one `send` arrive together. */
export function childServer(folder: string, options: object = {}) {
  const { command, args, env } = stdioOf(folder, options)
  const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'inherit'] })
  const answers = new Map<number, Message>()
  createInterface({ input: child.stdout }).on('line', (line) => {
    const message = JSON.parse(line) as Message
    if (message.id !== undefined) answers.set(message.id, message)
  })
  atEnd(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  return {
    child,
    /** Sends texts as they are, and other values as JSON-RPC messages. */
    send(...messages: readonly (object | string)[]): void {
      const lines = messages.map((each) =>
        typeof each === 'string' ? each : JSON.stringify({ jsonrpc: '2.0', ...each }),
      )
      child.stdin.write(`${lines.join('\n')}\n`)
    },
    answerTo: (id: number): Promise<Message> => vi.waitUntil(() => answers.get(id), { timeout: 30_000, interval: 5 }),
  }
}
