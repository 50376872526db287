// `pawl serve`: the HTTP server with a worker, until it is stopped.

import type { Cli, LocalStore, Run } from '../cli.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { count } from '../output/format.ts'
import { maskedStore } from '../output/masked-url.ts'
import { bold, cyan, dim, green, type Output, yellow } from '../output/output.ts'
import { readDuration } from '../read-arguments.ts'
import type { LogFormat } from '../open-store.ts'
import { noToolsHint, portOf, type Settings } from '../settings.ts'
import { pause } from './worker.ts'

interface ServeFlags {
  readonly port?: string
  readonly host?: string
  readonly grace?: string
  /** False with `--no-worker`. */
  readonly worker?: boolean
  readonly demo?: boolean
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
  return cli.local(needs, await deskOptions(storeOf(settings, flags)))
}

function showFirstCommands(output: Output, url: string, token: string): void {
  output.line(dim(`  curl -H 'Authorization: Bearer ${token}' ${url}/v1/inbox`))
  output.line(dim(`  PAWL_URL=${url} PAWL_TOKEN=${token} pawl inbox`))
  output.line()
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
  const { url, token, loginUrl } = server
  const tools = count(runtime.tools.list().length, 'tool')
  if (output.format === 'human') {
    output.line(green('▶'), ' Pawl is running on ', bold(maskedStore(storeOf(settings, flags))), dim(`  ${tools}`))
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
    if (flags.demo !== true) showFirstCommands(output, url, token ?? '<token>')
    if (token === null)
      output.note(
        dim('The tokens of the store are valid. A new one, without PAWL_URL: pawl tokens create me --role admin'),
      )
    if (runtime.tools.list().length === 0) output.note(yellow('! '), noToolsHint)
    if (flags.worker === false) output.note(yellow('! '), 'Without a worker; other processes must run the calls.')
    output.note(dim('Ctrl-C stops it.'))
  } else output.json({ url, token, loginUrl, pid: process.pid })
  if (flags.demo === true) {
    const { runDesk } = await import('../demo/serve-desk.ts')
    await runDesk(runtime, output, server, signal)
  }
  while (!signal.aborted) await pause(60_000, signal)
  output.note(dim(`Stopping: running calls may finish within ${grace}. Ctrl-C again ends at once.`))
  await server.close()
  output.note(dim('Stopped. What was not finished continues on the next worker.'))
  return exitCodes.ok
}
