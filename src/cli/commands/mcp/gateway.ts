// `pawl mcp`, `pawl mcp wrap` and `pawl mcp serve`: an MCP server on stdin and stdout. Only messages of MCP may be on
// stdout, so everything for people is on stderr.

import { problemLogger } from '../../../mcp/gateway/problem-logger.ts'
import { wrappedServer } from '../../../mcp/gateway/wrapped-server.ts'
import type { ContentSource } from '../../../mcp/content-source.ts'
import type { Runtime } from '../../../index.ts'
import type { Cli, Run } from '../../cli.ts'
import { CliError, type ExitCode, exitCodes } from '../../exit-codes.ts'
import { count } from '../../output/format.ts'
import { maskedStore } from '../../output/masked-url.ts'
import { bold, dim, green, yellow } from '../../output/output.ts'
import { noToolsHint } from '../../settings.ts'
import { findServersFile, loadServersFile, openGateway, type ServersFlags } from './open-gateway.ts'

interface GatewayFlags extends ServersFlags {
  readonly commit?: 'power' | 'process'
}

interface WrapFlags extends GatewayFlags {
  readonly name?: string
  readonly trust?: boolean
}

export const mcp: Run<GatewayFlags> = async (cli, _, flags): Promise<ExitCode> => {
  const settings = await cli.requireLocal('mcp')
  const file = findServersFile(settings, flags)
  const { runtime, gateway } = await openGateway(cli, loadServersFile(file), file, { worker: true, ...commitOf(flags) })
  const servers = count(gateway.providers.length, 'server')
  return serveOnStdio(cli, runtime, `Gateway to ${servers} of ${file}`, gateway.content)
}

export const wrap: Run<WrapFlags> = async (cli, command, flags): Promise<ExitCode> => {
  await cli.requireLocal('mcp wrap')
  if (command.length === 0)
    throw new CliError(exitCodes.usage, 'There is no command. Write: pawl mcp wrap -- npx -y some-mcp-server')
  const file = wrappedServer(command, flags.name, flags.trust === true)
  const [server] = file.servers
  const { checkServer } = await import('../../../mcp/gateway/servers-file.ts')
  if (server) checkServer(server.name, server.config, 'pawl mcp wrap')
  const { runtime, gateway } = await openGateway(cli, file, 'pawl mcp wrap', { worker: true, ...commitOf(flags) })
  return serveOnStdio(cli, runtime, `Gateway to '${server?.name ?? ''}'`, gateway.content)
}

export const serveTools: Run<GatewayFlags> = async (cli): Promise<ExitCode> => {
  await cli.requireLocal('mcp serve')
  const { runtime } = await cli.local({ tools: true, worker: true, create: true })
  if (runtime.tools.list().length === 0) cli.output.note(yellow('! '), noToolsHint)
  return serveOnStdio(cli, runtime, 'The tools of this project')
}

const commitOf = ({ commit }: GatewayFlags): { readonly commit?: 'power' | 'process' } =>
  commit === undefined ? {} : { commit }

/** Serves until the host closes stdin or ends the process. Calls that are open then continue at the next start. */
async function serveOnStdio(cli: Cli, runtime: Runtime, what: string, content?: ContentSource): Promise<ExitCode> {
  const { output, signal } = cli
  if (output.format !== 'human')
    throw new CliError(exitCodes.usage, 'stdout belongs to MCP here; leave out --json and --jsonl.')
  const { store, tenant, principal } = await cli.settings()
  const { createMcpServer } = await import('../../../mcp/server/mcp-server.ts')
  const logger = problemLogger((problem) => output.note(yellow('! '), problem))
  const server = createMcpServer(runtime, { logger, ...(content === undefined ? {} : { content }) })
  const tools = count(runtime.tools.list().filter(({ internal }) => !internal).length, 'tool')
  output.note(
    green('▶'),
    ` ${what} on stdin and stdout, with ${tools}. Store: `,
    bold(maskedStore(store.value)),
    process.stdin.isTTY ? dim('  A host starts this command: `pawl mcp config claude-code`. Ctrl-C ends it.') : '',
  )
  try {
    await server.serveStdio({ principal: principal.value, tenant: tenant.value }, signal)
  } finally {
    await server.close()
  }
  return signal.aborted ? exitCodes.interrupted : exitCodes.ok
}
