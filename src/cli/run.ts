// One run of `pawl`: parses the command line, runs the command, and turns its end into an exit code. Called by main.ts.

import type { OutputConfiguration } from 'commander'
import { systemClock } from '../core/clock.ts'
import { PawlError } from '../core/errors.ts'
import { Cli } from './cli.ts'
import { CliError, type ExitCode, exitCodeOfError, exitCodes } from './exit-codes.ts'
import { dim, Output, red } from './output/output.ts'
import { safeBlock } from './output/terminal-safe.ts'
import { packageVersion } from './package-version.ts'
import { buildProgram, everyCommand, isCommanderError } from './program.ts'
import { type GlobalFlags, readSettings } from './settings.ts'

export async function runCli(argv: readonly string[]): Promise<void> {
  ignoreClosedPipes()
  const { signal, exitCode: interruptedAs } = listenToSignals()
  let code: ExitCode = exitCodes.ok
  const program = buildProgram(async (run, args, flags) => {
    code = await runCommand(flags, signal, (cli) => run(cli, args, flags as never))
  }, packageVersion())
  const commanderOutput: OutputConfiguration = {
    writeOut: (text) => void process.stdout.write(safeBlock(text)),
    writeErr: (text) => void process.stderr.write(safeBlock(text)),
    // As the errors of commands begin.
    outputError: (text, write) => write(text.replace(/^error: /, 'error ')),
  }
  // A command has its own copy of the output settings.
  for (const command of [program, ...everyCommand(program)]) command.configureOutput(commanderOutput)
  try {
    if (argv[0] === 'complete') code = await (await import('./commands/completion.ts')).suggest(program, argv.slice(1))
    else if (argv.length === 0) program.outputHelp()
    else await program.parseAsync([...argv], { from: 'user' })
  } catch (error) {
    if (!isCommanderError(error)) throw error
    code = error.exitCode === 0 ? exitCodes.ok : exitCodes.usage
  }
  await exit(code === exitCodes.interrupted ? interruptedAs() : code)
}

async function runCommand(
  flags: GlobalFlags,
  signal: AbortSignal,
  run: (cli: Cli) => Promise<ExitCode | void>,
): Promise<ExitCode> {
  if (flags.color === false) {
    process.env.NO_COLOR = '1'
    delete process.env.FORCE_COLOR
  }
  const format = flags.json ? 'json' : flags.jsonl ? 'jsonl' : 'human'
  const output = new Output({ format, quiet: flags.quiet ?? flags.log === 'json' })
  const { stdin, stderr, env } = process
  const isCI = env.CI !== undefined && env.CI !== '' && env.CI !== 'false'
  const interactive = stdin.isTTY && stderr.isTTY && !isCI && format === 'human'
  let settings: ReturnType<typeof readSettings> | null = null
  const cli = new Cli({ output, settings: () => (settings ??= readSettings(flags)), signal, interactive })
  // Something must keep the process alive until the command has ended; without it a wait could end the process.
  const release = systemClock.hold()
  try {
    return (await run(cli)) ?? (signal.aborted ? exitCodes.interrupted : exitCodes.ok)
  } catch (error) {
    output.endStream()
    if (signal.aborted) return exitCodes.interrupted
    const code = exitCodeOfError(error)
    if (code !== exitCodes.interrupted) show(error, output)
    return code
  } finally {
    await cli.close().catch((error: unknown) => show(error, output))
    release()
  }
}

function show(error: unknown, output: Output): void {
  const message = error instanceof Error ? error.message : String(error)
  const [first = '', ...rest] = message.split('\n')
  output.problem(red('error'), ' ', first)
  for (const line of rest) output.problem('      ', line)
  const { cause } = error as { readonly cause?: unknown }
  if (!(error instanceof CliError || error instanceof PawlError) && cause instanceof Error)
    output.problem('      ', cause.message)
  if (process.env.PAWL_DEBUG && error instanceof Error)
    for (const line of (error.stack ?? '').split('\n')) output.problem(dim(line))
}

/** The first signal asks the command to end, the second ends the process. */
function listenToSignals(): { readonly signal: AbortSignal; readonly exitCode: () => ExitCode } {
  const controller = new AbortController()
  let code: ExitCode = exitCodes.interrupted
  const listen = (name: NodeJS.Signals, exitCode: ExitCode): void => {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(exitCode)
      code = exitCode
      controller.abort()
    })
  }
  listen('SIGINT', exitCodes.interrupted)
  listen('SIGTERM', exitCodes.terminated)
  return { signal: controller.signal, exitCode: () => code }
}

/** `pawl tail | head -1` ends without a message. */
function ignoreClosedPipes(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(exitCodes.ok)
      throw error
    })
}

/** Ends the process, after everything is written. A handle that is still open must not keep it alive. */
async function exit(code: ExitCode): Promise<void> {
  const flushed = [process.stdout, process.stderr].map(
    (stream) => new Promise<void>((resolve) => void stream.write('', () => resolve())),
  )
  await Promise.all(flushed)
  process.exit(code)
}
