// `pawl mcp import`, `pawl mcp restore` and `pawl mcp config`: point a host at the gateway, and back. Every change is
// shown before it is made, without secrets, and needs consent.

import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { HostFileError } from '../../../mcp/gateway/hosts/atomic-file.ts'
import { gatewayEntry, isTemporaryCopy } from '../../../mcp/gateway/hosts/gateway-entry.ts'
import { maskedEntry } from '../../../mcp/gateway/hosts/host-entries.ts'
import {
  type EditableHost,
  editableHosts,
  type HostFile,
  hostFile,
  type HostName,
  hostNames,
  serversFilesOf,
} from '../../../mcp/gateway/hosts/host-files.ts'
import { gatewayName, type ImportPlan, planImport } from '../../../mcp/gateway/hosts/import-servers.ts'
import { planRestore, type RestorePlan } from '../../../mcp/gateway/hosts/restore-host.ts'
import type { Cli, Run } from '../../cli.ts'
import { requireConfirmation } from '../../confirm.ts'
import { CliError, exitCodes } from '../../exit-codes.ts'
import { count } from '../../output/format.ts'
import { bold, dim, green, red, yellow } from '../../output/output.ts'
import { notFound } from '../../read-arguments.ts'

interface HostFlags {
  readonly user?: boolean
  readonly yes?: boolean
}

interface ConfigFlags extends HostFlags {
  readonly write?: boolean
}

export const importServers: Run<HostFlags> = async (cli, [name = ''], { user = false, yes }) => {
  const { output } = cli
  const host = hostFile(hostOf(name, editableHosts), user)
  const plan = planned(() => planImport({ ...targetOf(host), host, moveServers: true }))
  if (output.format === 'human') showImport(cli, host, plan)
  await requireConfirmation(
    cli,
    yes,
    `Move ${count(plan.moved.length, 'server')} and point ${host.host} at the gateway?`,
  )
  planned(() => plan.apply())
  const { file, serversFile, backup, moved, staying } = plan
  output.result({ file, serversFile, backup, moved: moved.map((each) => each.name), staying }, () => {
    output.line(green('✓'), ` ${host.host} uses the gateway. Start it again, so that it reads its configuration.`)
    output.line(dim('  backup  '), backup)
    output.line(dim('  undo    '), `pawl mcp restore ${commandFor(host)}`)
    noteStore(cli, host)
  })
}

export const restore: Run<HostFlags> = async (cli, [name = ''], { user = false, yes }) => {
  const { output } = cli
  const host = hostFile(hostOf(name, editableHosts), user)
  const plan = planned(() => planRestore(host))
  if (output.format === 'human') showRestore(cli, plan)
  await requireConfirmation(cli, yes, `Restore ${plan.file}?`)
  planned(() => plan.apply())
  const { apply: _, ...result } = plan
  output.result(result, () => output.line(green('✓'), ` ${host.host} is as before. Start it again.`))
}

export const hostConfig: Run<ConfigFlags> = async (cli, [name = ''], { write = false, user = false, yes }) => {
  const { output } = cli
  const host = hostFile(hostOf(name, hostNames), user)
  const target = targetOf(host)
  if (!write) {
    const snippet = { [host.key]: { [gatewayName]: target.gatewayEntry } }
    output.note(dim(`For ${host.file}:`))
    output.raw(`${JSON.stringify(snippet, null, 2)}\n`)
    noteTarget(cli, host, target.serversFile)
    return
  }
  if (!editableHosts.some((each) => each === host.host))
    throw new CliError(
      exitCodes.usage,
      `Pawl does not edit the file of ${host.host}. Without --write the command prints what to add to ${host.file}.`,
    )
  const plan = planned(() => planImport({ ...target, host, moveServers: false }))
  if (output.format === 'human') showImport(cli, host, plan)
  await requireConfirmation(cli, yes, `Add the gateway to ${host.file}?`)
  planned(() => plan.apply())
  output.result({ file: plan.file, serversFile: plan.serversFile, backup: plan.backup }, () => {
    output.line(green('✓'), ` ${host.host} uses the gateway, besides its own servers. Start it again.`)
    output.line(dim('  undo    '), `pawl mcp restore ${commandFor(host)}`)
    noteTarget(cli, host, target.serversFile)
  })
}

function hostOf<T extends HostName>(name: string, known: readonly T[]): T {
  const found = known.find((each) => each === name)
  if (found !== undefined) return found
  if (hostNames.some((each) => each === name))
    throw new CliError(
      exitCodes.usage,
      `Pawl does not edit the file of ${name}. \`pawl mcp config ${name}\` prints what to add to it.`,
    )
  throw notFound('host', name, known)
}

interface Target {
  readonly serversFile: string
  readonly serversMode: number
  readonly gatewayEntry: object
}

/** Beside a committed file the servers are committed too: the others of the project need them. */
function targetOf(host: HostFile): Target {
  const [hidden, committed] = serversFilesOf(host)
  const isShared = host.scope === 'project' && isCommitted(host.file)
  const serversFile = isShared || (existsSync(committed) && !existsSync(hidden)) ? committed : hidden
  return {
    serversFile,
    serversMode: serversFile === hidden ? 0o600 : 0o644,
    gatewayEntry: gatewayEntry(host, serversFile),
  }
}

function isCommitted(file: string): boolean {
  try {
    const args = ['ls-files', '--error-unmatch', '--', basename(file)]
    execFileSync('git', args, { cwd: dirname(file), stdio: 'ignore', timeout: 10_000 })
    return true
  } catch {
    return false // no repository, no git, or not committed
  }
}

/** A person has to change something: a conflict, not a fault of Pawl. */
function planned<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (error instanceof HostFileError) throw new CliError(exitCodes.conflict, error.message)
    if (isFileError(error)) throw new CliError(exitCodes.failed, `${error.message}. ${interrupted}`)
    throw error
  }
}

const interrupted = 'If it stopped while it wrote, `pawl mcp restore <host>` brings the original back.'

const isFileError = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && 'syscall' in error && 'code' in error

function showImport(cli: Cli, host: HostFile, { file, serversFile, moved, staying, added }: ImportPlan): void {
  const { output } = cli
  output.line(bold(file))
  for (const { name, config } of moved) showLines(cli, '-', name, maskedEntry(config))
  showLines(cli, '+', gatewayName, added)
  if (moved.length > 0) {
    output.line()
    output.line(bold(serversFile))
    for (const { name, config } of moved) showLines(cli, '+', name, maskedEntry(config))
  }
  output.line()
  for (const { name, why } of staying) output.note(yellow('! '), `'${name}' stays with ${host.host}: ${why}.`)
  if (host.scope === 'user' && isTemporaryCopy())
    output.note(yellow('! '), 'npx will delete this copy of Pawl. Install it first: npm install --global pawl')
}

function showLines({ output }: Cli, sign: '-' | '+', name: string, entry: object): void {
  const paint = sign === '-' ? red : green
  for (const line of `"${name}": ${JSON.stringify(entry, null, 2)}`.split('\n')) output.line(paint(`${sign}   ${line}`))
}

function showRestore({ output }: Cli, { file, serversFile, result, returned, kept }: RestorePlan): void {
  output.line(bold(file))
  if (result === 'unchanged') output.line(dim('  is as it was'))
  if (result === 'original') output.line(green('+   '), 'the original, byte for byte')
  if (result === 'merged') {
    output.line(dim('  was changed since the import; only the servers return'))
    output.line(red(`-   "${gatewayName}"`))
    for (const name of returned) output.line(green(`+   "${name}"`))
  }
  output.line(bold(serversFile))
  for (const name of returned) if (!kept.some((each) => each.name === name)) output.line(red(`-   "${name}"`))
  for (const { name, why } of kept) output.line(dim('    '), `"${name}" stays: ${why}`)
  output.line()
}

const commandFor = ({ host, scope }: HostFile): string =>
  scope === 'user' && host !== ('claude-desktop' satisfies EditableHost) ? `${host} --user` : host

function noteTarget({ output }: Cli, host: HostFile, serversFile: string): void {
  if (!existsSync(serversFile)) output.note(yellow('! '), `There is no ${serversFile} yet; the gateway needs it.`)
  if (host.scope === 'user' && isTemporaryCopy())
    output.note(yellow('! '), 'npx will delete this copy of Pawl. Install it first: npm install --global pawl')
}

/** People look for approvals in the folder of the store. */
function noteStore({ output }: Cli, { scope, folder }: HostFile): void {
  if (scope === 'user') output.line(dim('  inbox   '), `cd ${folder} && pawl inbox`)
}
