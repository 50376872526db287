// Real MCP clients of both eras on the test server, over stdio and HTTP. They are closed after each test.

import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { createRuntime, type Duration, type Runtime, type RuntimeOptions } from 'pawl'
import { type RunningServer, startServer, type StartServerOptions } from 'pawl/server'
import { afterEach } from 'vitest'
import { quiet } from '../stores/fresh-store.ts'
import { mcpServerTools } from './server-tools.ts'

export type Era = 'modern' | 'legacy'
export type Way = 'stdio' | 'http'

const modernRevision = '2026-07-28'
const program = join(import.meta.dirname, 'child-server.ts')

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close().catch(() => {})
})

/** Runs when the test has ended, the latest first. */
export const atEnd = (close: () => Promise<unknown>): void => void closing.push(close)

export const freshFolder = (): string => mkdtempSync(join(tmpdir(), 'mcp-server-'))

export const tokenOf = (principal: string): string => `token-of-${principal}-0123456789`

/** A request of revision 2026-07-28 for a tool. */
export const toolRequest = (name: string, args: object, signal?: AbortSignal): Request =>
  new Request('http://localhost/mcp', {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': modernRevision,
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: {
        name,
        arguments: args,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': modernRevision,
          'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }),
    ...(signal ? { signal } : {}),
  })

export interface TestServer {
  readonly folder: string
  readonly runtime: Runtime
  readonly server: RunningServer
  /** The address of the endpoint. */
  readonly url: URL
}

/** A server on a port, with tokens for user:ada, user:bob, and user:eve of another tenant. */
export async function httpServer(
  options: Partial<StartServerOptions> = {},
  more: Partial<RuntimeOptions> = {},
  dedupe?: Duration,
): Promise<TestServer> {
  const folder = freshFolder()
  const runtime = await createRuntime({
    store: `sqlite:${join(folder, 'store.db')}`,
    commit: 'process',
    logger: quiet,
    tools: mcpServerTools(folder, dedupe),
    ...more,
  })
  const token = (principal: string, tenant = 'default') =>
    ({ token: tokenOf(principal), roles: ['operator'], tenant, principal }) as const
  const tokens = [token('user:ada'), token('user:bob'), token('user:eve', 'other')]
  const server = await startServer({ runtime, port: 0, grace: 0, tokens, ...options })
  atEnd(() => server.close())
  return { folder, runtime, server, url: new URL(`${server.url}/mcp`) }
}

/** The command of a server that is a child process. */
export const stdioOf = (folder: string, options: object) => ({
  command: process.execPath,
  args: ['--conditions=@pawl/source', program, folder, JSON.stringify(options)],
  env: process.env as Record<string, string>,
  stderr: 'inherit' as const,
})

const bearer = (principal: string) => ({ requestInit: { headers: { authorization: `Bearer ${tokenOf(principal)}` } } })

/** The common part of both client packages. */
export type AnyClient = Pick<Client, 'listTools' | 'callTool' | 'close'> & Client

/** Where a client connects: the folder of a server that is started for it, or a running server. */
export type Target =
  | { readonly folder: string; readonly options?: object }
  | { readonly url: URL; readonly principal?: string }

export async function connect(
  era: Era,
  target: Target,
  options: ClientOptions = {},
  prepare: (client: AnyClient) => void = () => {},
): Promise<AnyClient & { readonly pid?: number | null }> {
  const info = { name: 'test', version: '1' }
  if (era === 'legacy') {
    const client = new LegacyClient(info, options as never)
    prepare(client as never)
    const transport =
      'url' in target
        ? new LegacyHttp(target.url, bearer(target.principal ?? 'user:ada'))
        : new LegacyStdio(stdioOf(target.folder, target.options ?? {}))
    await client.connect(transport)
    atEnd(() => client.close())
    return Object.assign(client as never as AnyClient, { pid: (transport as Partial<LegacyStdio>).pid ?? null })
  }
  const client = new Client(info, { versionNegotiation: { mode: { pin: modernRevision } }, ...options }) as AnyClient
  prepare(client)
  const transport =
    'url' in target
      ? new StreamableHTTPClientTransport(target.url, bearer(target.principal ?? 'user:ada'))
      : new StdioClientTransport(stdioOf(target.folder, target.options ?? {}))
  await client.connect(transport)
  atEnd(() => client.close())
  return Object.assign(client, { pid: (transport as Partial<StdioClientTransport>).pid ?? null })
}
