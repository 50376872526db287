// `pawl mcp servers`: the servers of the gateway, their tools and what is in quarantine. `pawl mcp accept`: accepts the
// changed definition of a tool.

import type { QuarantinedTool, ToolListing } from '../../../index.ts'
import { maskedEntry } from '../../../mcp/gateway/hosts/host-entries.ts'
import type { ConfiguredServer } from '../../../mcp/gateway/servers-file.ts'
import type { Cli, Run } from '../../cli.ts'
import { requireConfirmation } from '../../confirm.ts'
import { CliError, type ExitCode, exitCodes } from '../../exit-codes.ts'
import { count } from '../../output/format.ts'
import { bold, dim, green, type Piece, red, yellow } from '../../output/output.ts'
import { notFound } from '../../read-arguments.ts'
import { findServersFile, loadServersFile, openGateway, type OpenGateway, type ServersFlags } from './open-gateway.ts'

interface ServerRow {
  readonly name: string
  readonly state: 'connected' | 'unavailable' | 'disabled' | 'incomplete'
  readonly message: string | null
  readonly trusted: boolean
  readonly target: string
  readonly tools: readonly { readonly name: string; readonly state: ToolState }[]
  readonly quarantine: readonly QuarantinedTool[]
}

/** The effect that a trusted server declares for its tool, or the reason why it does not run. */
type ToolState = 'reads' | 'writes' | 'destructive' | 'unverified' | 'quarantined' | 'unavailable'

export const servers: Run<ServersFlags> = async (cli, _, flags): Promise<ExitCode> => {
  const { output } = cli
  const settings = await cli.requireLocal('mcp servers')
  const file = findServersFile(settings, flags)
  const configured = loadServersFile(file)
  const open = await openGateway(cli, configured, file, { worker: false, patient: true })
  // Resolves every tool, so that changed definitions are found.
  await open.runtime.session('pawl-mcp-servers', { tenant: settings.tenant.value }).loadTools()
  const quarantine = await open.runtime.quarantine.list()
  const rows = await Promise.all(configured.servers.map((server) => rowOf(server, open, quarantine)))
  output.list(rows, () => {
    output.line(dim('file   '), file)
    if (rows.length === 0) output.note(dim('It names no servers. `pawl mcp import <host>` moves those of a host here.'))
    for (const row of rows) showServer(cli, row)
  })
  return rows.some(({ state, quarantine: changed }) => state === 'unavailable' || changed.length > 0)
    ? exitCodes.failed
    : exitCodes.ok
}

function stateOfTool({ available, quarantined, hints }: ToolListing, trusted: boolean): ToolState {
  if (quarantined) return 'quarantined'
  if (!available) return 'unavailable'
  if (!trusted) return 'unverified'
  if (hints?.readOnly === true) return 'reads'
  return hints?.destructive === false ? 'writes' : 'destructive'
}

async function rowOf(
  { name, config }: ConfiguredServer,
  { gateway, runtime }: OpenGateway,
  quarantine: readonly QuarantinedTool[],
): Promise<ServerRow> {
  const { trusted = false } = config
  const { command, args = [], url } = maskedEntry(config)
  const target = url ?? [command, ...args].join(' ')
  const row = {
    name,
    trusted,
    target,
    tools: runtime.tools
      .list()
      .filter(({ provider }) => provider === name)
      .map((tool) => ({ name: tool.name, state: stateOfTool(tool, trusted) })),
    quarantine: quarantine.filter(({ provider }) => provider === name),
  }
  const skipped = gateway.skipped.find((each) => each.name === name)
  if (skipped) return { ...row, state: skipped.state, message: skipped.message }
  try {
    await gateway.providers.find((provider) => provider.name === name)?.list()
    return { ...row, state: 'connected', message: null }
  } catch (error) {
    const message = (error instanceof Error ? error.message : String(error)).slice(0, 2_000)
    return { ...row, state: 'unavailable', message }
  }
}

function showServer({ output }: Cli, { name, state, message, trusted, target, tools, quarantine }: ServerRow): void {
  output.line()
  output.fitted(bold(name), '  ', stateOf(state), trusted ? green('  trusted') : '', dim(`  ${target}`))
  if (message !== null) output.block(message, dim('  '))
  for (const tool of tools) output.line('  ', toolState(tool.state), '  ', tool.name)
  if (!trusted && tools.length > 0)
    output.line(
      dim('  What it says about its tools is not believed, so all of them ask. "trusted": true changes that.'),
    )
  for (const { tool, difference, now } of quarantine) {
    output.line()
    output.line(
      '  ',
      red('quarantined'),
      ` The definition of '${tool}' changed. It is not run until a person accepts it:`,
    )
    output.block(difference, dim('    │ '))
    output.line('  ', dim('accept it: '), `pawl mcp accept ${name} ${tool} --fingerprint ${now}`)
  }
}

function stateOf(state: ServerRow['state']): Piece {
  if (state === 'connected') return green(state)
  return state === 'unavailable' ? red(state) : yellow(state)
}

function toolState(state: ToolState): Piece {
  const text = state.padEnd(11)
  if (state === 'reads') return green(text)
  return state === 'quarantined' || state === 'unavailable' ? red(text) : yellow(text)
}

interface AcceptFlags {
  readonly fingerprint?: string
  readonly yes?: boolean
}

export const accept: Run<AcceptFlags> = async (cli, [provider = '', tool = ''], flags) => {
  const { output } = cli
  const client = await cli.client()
  const listed = await client.quarantine.list({})
  const found = listed.find((each) => each.provider === provider && each.tool === tool)
  if (!found) {
    const names = listed.map((each) => `${each.provider} ${each.tool}`)
    throw notFound('changed definition', `${provider} ${tool}`, names)
  }
  if (flags.fingerprint !== undefined && flags.fingerprint !== found.now)
    throw new CliError(
      exitCodes.conflict,
      `The definition changed again. Look at it: pawl mcp servers. Nothing was accepted.`,
    )
  if (output.format === 'human') output.block(found.difference, dim('│ '))
  await requireConfirmation(cli, flags.yes, `Accept this definition of '${tool}' of ${provider}?`)
  await client.quarantine.accept({ provider, tool, fingerprint: found.now })
  output.result({ provider, tool, accepted: found.now }, () =>
    output.line(green('✓'), ` Accepted. ${count(listed.length - 1, 'changed definition')} left.`),
  )
}
