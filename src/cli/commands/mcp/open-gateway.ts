// Opens the gateway for the commands of `pawl mcp`: the servers file, a provider per server, a runtime on the store.

import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { systemClock } from '../../../core/clock.ts'
import { PawlError } from '../../../core/errors.ts'
import type { Runtime } from '../../../index.ts'
import type { McpProvider } from '../../../mcp/client/mcp-provider.ts'
import type { Gateway } from '../../../mcp/gateway/gateway.ts'
import { maxServersFileBytes, readServersFile, type ServersFile } from '../../../mcp/gateway/servers-file.ts'
import type { Cli } from '../../cli.ts'
import { CliError, exitCodes } from '../../exit-codes.ts'
import { yellow } from '../../output/output.ts'
import { pause } from '../worker.ts'
import { loadRuntimeOptions, type Settings } from '../../settings.ts'

/** A first download takes that long. */
const maxStartMs = 120_000

export interface ServersFlags {
  readonly servers?: string
}

/** Where the servers file is without --config, in the folder of the project. */
export const serversFileNames = [join('.pawl', 'servers.json'), 'mcp-servers.json'] as const

export function findServersFile({ file }: Settings, { servers }: ServersFlags): string {
  if (servers !== undefined) return resolve(servers)
  const folder = file === null ? process.cwd() : dirname(file)
  const found = serversFileNames.map((name) => join(folder, name)).filter((path) => existsSync(path))
  if (found.length > 1)
    throw new CliError(
      exitCodes.usage,
      `There are two servers files, ${found.join(' and ')}. Name one with --config, or put their servers into one.`,
    )
  if (found[0] !== undefined) return found[0]
  throw new CliError(
    exitCodes.notFound,
    `There is no servers file ${join(folder, serversFileNames[0])}. \`pawl mcp import claude-code\` writes it with ` +
      'the servers of a host; `pawl mcp wrap -- <command>` runs one server without a file.',
  )
}

export function loadServersFile(file: string): ServersFile {
  if (!existsSync(file)) throw new CliError(exitCodes.notFound, `There is no servers file ${file}.`)
  const { size } = statSync(file)
  // A huge file is refused before it is read.
  if (size > maxServersFileBytes)
    throw new CliError(exitCodes.usage, `${file} has ${size} bytes; it is no servers file.`)
  return readServersFile(readFileSync(file, 'utf8'), file)
}

export interface OpenGateway {
  readonly runtime: Runtime
  readonly gateway: Gateway
}

interface OpenOptions {
  /** Run calls in this process. */
  readonly worker: boolean
  readonly commit?: 'power' | 'process'
  /** Wait for servers that `npx` has to download first. A host hears of their tools later. */
  readonly patient?: boolean
}

/** `source`: the file, for messages. */
export async function openGateway(
  cli: Cli,
  servers: ServersFile,
  source: string,
  { worker, commit, patient = false }: OpenOptions,
): Promise<OpenGateway> {
  const { output } = cli
  const { createGateway } = await import('../../../mcp/gateway/gateway.ts')
  const gateway = createGateway(servers, process.env, (problem) => output.note(yellow('! '), problem))
  for (const { name, state, message } of gateway.skipped)
    if (state === 'incomplete') output.note(yellow('! '), `Server '${name}' is not used: ${message}`)
  const { providers, policy } = gateway
  try {
    if (patient) await Promise.all(providers.map((provider) => waitForStart(cli, provider)))
    const options = await storeOptions(await cli.settings())
    const { runtime } = await cli.local(
      { worker, create: true },
      { ...options, providers, policy, toolSearch: false, ...(commit === undefined ? {} : { commit }) },
    )
    return { runtime, gateway }
  } catch (error) {
    await Promise.allSettled(providers.map(async (provider) => provider.close?.()))
    // The policy was checked by the runtime, which does not know the file.
    if (error instanceof PawlError && error.code === 'config_invalid' && error.message.includes('policy'))
      throw new PawlError('config_invalid', `${source}: ${error.message}`)
    throw error
  }
}

async function waitForStart({ signal }: Cli, provider: McpProvider): Promise<void> {
  const deadline = systemClock.monotonic() + maxStartMs
  while (!signal.aborted && systemClock.monotonic() < deadline) {
    try {
      await provider.list()
      return
    } catch (error) {
      if (!(error instanceof Error && error.message.includes('still starting'))) return
      await pause(200, signal)
    }
  }
}

/** Options of the project that say how its store is read and written; its tools are not part of the gateway. */
async function storeOptions(settings: Settings): Promise<object> {
  if (settings.runtime === undefined) return {}
  const { store, keys, secrets, encrypt, sizes, values, files, output, commit, limits, budgets, lease } =
    await loadRuntimeOptions(settings)
  const options = { store, keys, secrets, encrypt, sizes, values, files, output, commit, limits, budgets, lease }
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}
