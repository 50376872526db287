// A host of the gateway: `pawl mcp …` as a child process, with a real MCP client of either era on its pipes.

import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { vi } from 'vitest'
import { environment, main, node } from '../run-pawl.ts'
import { type AnyClient, atEnd, type Era } from './server-clients.ts'

const root = join(import.meta.dirname, '../../..')
export const serverBin = (name: string): string =>
  join(root, 'node_modules/@modelcontextprotocol', `server-${name}`, 'dist/index.js')

/** A project without a configuration. */
export function gatewayFolder(servers?: object, more: object = {}): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'pawl-gateway-')))
  mkdirSync(join(folder, '.git'))
  if (servers) writeFileSync(join(folder, 'servers.json'), JSON.stringify({ mcpServers: servers, ...more }))
  return folder
}

export interface FormShown {
  readonly message: string
}

export interface FormAnswer {
  readonly action: 'accept' | 'decline' | 'cancel'
  readonly content?: Record<string, string>
}

export interface HostOptions {
  readonly era?: Era
  readonly env?: Record<string, string>
  /** Answers a form. Without it the host cannot show forms. */
  readonly onForm?: (form: FormShown) => FormAnswer | Promise<FormAnswer>
}

export interface Host {
  readonly client: AnyClient
  readonly pid: number
  /** Text that the gateway printed for people. */
  stderr(): string
}

export async function startHost(cwd: string, args: readonly string[], options: HostOptions = {}): Promise<Host> {
  const { era = 'modern', env = {}, onForm } = options
  const parameters = {
    command: node,
    args: ['--conditions=@pawl/source', main, 'mcp', ...args],
    cwd,
    env: environment(env),
    stderr: 'pipe' as const,
  }
  const capabilities = onForm ? { elicitation: { form: {} } } : {}
  const info = { name: 'host', version: '1' }
  const legacy = era === 'legacy'
  const client = legacy
    ? new LegacyClient(info, { capabilities })
    : new Client(info, { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } })
  if (onForm && client instanceof LegacyClient)
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => onForm(params) as never)
  else if (onForm)
    (client as Client).setRequestHandler('elicitation/create', ({ params }) => onForm(params as FormShown) as never)
  const transport = legacy ? new LegacyStdio(parameters) : new StdioClientTransport(parameters)
  let shown = ''
  transport.stderr?.on('data', (chunk: Buffer) => (shown += chunk.toString()))
  await client.connect(transport)
  atEnd(() => client.close())
  return { client: client as AnyClient, pid: transport.pid ?? 0, stderr: () => shown }
}

/** Waits for something outside; the deadline is a safety net. */
export const until = <T>(look: () => T | Promise<T>): Promise<NonNullable<Awaited<T>>> =>
  vi.waitUntil(async () => (await look()) as never, { timeout: 60_000, interval: 50 })

export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** The text of a result. */
export const textOf = (result: unknown): string =>
  (result as { content: { text?: string }[] }).content.map(({ text = '' }) => text).join('\n')
