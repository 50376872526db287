// Opens runtimes with MCP servers as providers; everything is closed and removed after each test.

import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createRuntime, type Logger, type Provider, type Runtime, type RuntimeOptions } from 'pawl'
import { type McpProvider, mcpProvider, type McpServerConfig } from 'pawl/mcp'
import { afterEach } from 'vitest'
import { HostileServer, type HostileScript } from './hostile-server.ts'

export const allowAll = { rules: [{ tool: '*', then: 'allow' }] } as const

/** Waits that only end a broken test. */
export const safetyNet = { timeout: 30_000, interval: 10 }

const closers: (() => unknown)[] = []
export const logged: string[] = []
const log = (message: string): void => void logged.push(message)
export const logger: Logger = { debug() {}, info() {}, warn: log, error: log }

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
  logged.length = 0
})

export const atEnd = (close: () => unknown): void => void closers.push(close)

export function freshFolder(): string {
  const made = realpathSync(mkdtempSync(join(tmpdir(), 'pawl-mcp-')))
  atEnd(() => rmSync(made, { recursive: true, force: true }))
  return made
}

export async function openWith(
  providers: Provider | readonly Provider[],
  options: Partial<RuntimeOptions> = {},
): Promise<Runtime> {
  const runtime = await createRuntime({
    store: 'memory:',
    keys: { secret: 'k'.repeat(40) },
    logger,
    policy: allowAll,
    providers: [providers].flat(),
    ...options,
  })
  atEnd(() => runtime.close({ grace: 0 }))
  return runtime
}

export interface Opened {
  readonly server: HostileServer
  readonly provider: McpProvider
  readonly runtime: Runtime
}

/** A runtime with a hostile server under the name `h`. */
export async function openHostile(
  script: HostileScript,
  config: McpServerConfig = {},
  options: Partial<RuntimeOptions> = {},
): Promise<Opened> {
  const server = new HostileServer(script)
  atEnd(() => server.remove())
  const provider = mcpProvider('h', server.config(config), { logger })
  return { server, provider, runtime: await openWith(provider, options) }
}

/** The definition of a tool without arguments. */
export const plainTool = (name: string, more: object = {}): object => ({
  name,
  description: `Does ${name}`,
  inputSchema: { type: 'object' },
  ...more,
})

/** Runs one call and returns its outcome. */
export async function callOne(
  runtime: Runtime,
  name: string,
  input: unknown = {},
  session = 's',
): Promise<Record<string, unknown>> {
  const [outcome] = await runtime.session(session).run([{ id: `${name}-${++calls}`, name, input }])
  return outcome as unknown as Record<string, unknown>
}
let calls = 0
