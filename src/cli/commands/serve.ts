// `pawl serve`: the HTTP server with a worker, until it is stopped.

import type { Cli, LocalStore, Run } from '../cli.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { count } from '../output/format.ts'
import { maskedStore } from '../output/masked-url.ts'
import { bold, cyan, dim, green, type Output, yellow } from '../output/output.ts'
import { readDuration } from '../read-arguments.ts'
import type { LogFormat } from '../open-store.ts'
import { openBrowser } from '../open-browser.ts'
import type { Supervisor } from '../demo/supervise-workers.ts'
import { noToolsHint, portOf, type Settings } from '../settings.ts'
import { pause } from './worker.ts'

interface ServeFlags {
  readonly port?: string
  readonly host?: string
  readonly grace?: string
  /** False with `--no-worker`. */
  readonly worker?: boolean
  readonly demo?: boolean
  /** False with `--no-open`. */
  readonly open?: boolean
  readonly log?: LogFormat
}

/** Where the demo keeps its store, unless a store is named. */
const defaultDemoStore = 'sqlite:.pawl/demo.db'

const storeOf = ({ store }: Settings, { demo }: ServeFlags): string =>
  demo === true && store.source === 'default' ? defaultDemoStore : store.value

async function openStore(cli: Cli, settings: Settings, flags: ServeFlags): Promise<LocalStore> {
  const needs = { tools: true, worker: flags.worker !== false, create: true, log: flags.log }
  if (flags.demo !== true) return cli.local(needs)
  const { deskOptions } = await import('../demo/serve-desk.ts')
  // The worker of the demo is a process of its own, because it is killed.
  return cli.local({ ...needs, worker: false }, await deskOptions(storeOf(settings, flags)))
}

function showFirstCommands(output: Output, url: string, token: string): void {
  output.line(dim(`  curl -H 'Authorization: Bearer ${token}' ${url}/v1/inbox`))
  output.line(dim(`  PAWL_URL=${url} PAWL_TOKEN=${token} pawl inbox`))
  output.line()
}

interface Access {
  readonly url: string
  readonly token: string | null
  readonly loginUrl: string
}

function showAccess(output: Output, { url, token, loginUrl }: Access): void {
  output.line()
  output.fields(
    [
      ['url', cyan(url)],
      ['token', token],
      ['browser', cyan(loginUrl)],
      ['', dim('once, within 5 minutes')],
    ],
    '  ',
  )
  output.line()
}

/** One line and an address, which the browser opens if a person sits here. */
function showDemo(cli: Cli, { url, token, loginUrl }: Access, { open }: ServeFlags): void {
  const { output } = cli
  output.line(green('▶'), ' Pawl is running with a support desk. A refund is about to wait for you; approve it here:')
  output.line()
  output.line('  ', bold(cyan(loginUrl)))
  output.line()
  output.note(dim('The address signs in once, within 5 minutes. The browser then stays signed in at '), dim(url))
  if (token !== null) output.note(dim(`Another browser: the token ${token}, until the server stops.`))
  if (open !== false && cli.interactive && process.stdout.isTTY) openBrowser(loginUrl)
}

function showNotes(output: Output, token: string | null, { worker }: ServeFlags): void {
  if (token === null)
    output.note(
      dim('The tokens of the store are valid. A new one, without PAWL_URL: pawl tokens create me --role admin'),
    )
  if (worker === false) output.note(yellow('! '), 'Without a worker; other processes must run the calls.')
  output.note(dim('Ctrl-C stops it.'))
}

export const serve: Run<ServeFlags> = async (cli, _, flags): Promise<ExitCode> => {
  const { output, signal } = cli
  const settings = await cli.requireLocal('serve')
  const { allowedHosts, turn, grace: configured = '25s' } = settings.server
  const grace = flags.grace === undefined ? configured : readDuration(flags.grace, '--grace')
  const { runtime, turnDefaults } = await openStore(cli, settings, flags)
  const { jsonLogger } = await import('../../index.ts')
  const { startServer } = await import('../../server/entry.ts')
  const server = await startServer({
    runtime,
    port: flags.port === undefined ? settings.port.value : portOf(flags.port, '--port'),
    host: flags.host ?? settings.host.value,
    grace,
    turn: { ...turnDefaults, ...turn },
    ...(allowedHosts ? { allowedHosts } : {}),
    ...(flags.log === 'json' ? { logger: jsonLogger() } : {}),
  })
  const { url, token } = server
  if (output.format !== 'human') output.json({ url, token, loginUrl: server.loginUrl, pid: process.pid })
  else if (flags.demo === true) showDemo(cli, server, flags)
  else {
    const tools = count(runtime.tools.list().length, 'tool')
    output.line(green('▶'), ' Pawl is running on ', bold(maskedStore(storeOf(settings, flags))), dim(`  ${tools}`))
    showAccess(output, server)
    showFirstCommands(output, url, token ?? '<token>')
    if (runtime.tools.list().length === 0) output.note(yellow('! '), noToolsHint)
  }
  if (output.format === 'human') showNotes(output, token, flags)
  const worker = flags.demo === true ? await runDemoDesk() : null
  while (!signal.aborted) await pause(60_000, signal)
  output.note(dim(`Stopping: running calls may finish within ${grace}. Ctrl-C again ends at once.`))
  await Promise.all([server.close(), worker?.stop()])
  output.note(dim('Stopped. What was not finished continues on the next worker.'))
  return exitCodes.ok

  /** Returns when the command is to end, with the worker if this process started one. */
  async function runDemoDesk(): Promise<Supervisor | null> {
    const { runDesk, startDeskWorker } = await import('../demo/serve-desk.ts')
    const { keys } = settings
    const start = {
      store: storeOf(settings, flags),
      keys: keys?.value ?? null,
      grace,
      log: flags.log,
      quiet: output.quiet,
    }
    const supervisor = flags.worker === false ? null : startDeskWorker(output, start)
    await runDesk(runtime, output, server, signal)
    return supervisor
  }
}
