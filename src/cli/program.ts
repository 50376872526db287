// Builds the commander program from the command table. The help page of a command begins with its examples.

import { Command, CommanderError, Option } from 'commander'
import type { Run } from './cli.ts'
import type { CommandSpec, OptionSpec } from './command-spec.ts'
import { commandTable } from './table/command-table.ts'

/** Starts a command: the implementation, its arguments and its flags. */
export type Start = (run: Run<never>, args: readonly string[], flags: object) => Promise<void>

export const globalOptions: readonly OptionSpec[] = [
  ['--url <url>', 'work on this Pawl server [PAWL_URL]'],
  ['--token <token>', 'its token [PAWL_TOKEN]'],
  ['--store <store>', 'work on this local store [PAWL_STORE, DATABASE_URL]'],
  ['--tenant <tenant>', 'the tenant on a local store [PAWL_TENANT]'],
  ['--as <person>', 'who acts on a local store, such as user:bea [PAWL_AS]'],
  ['--config <file>', 'the configuration file [PAWL_CONFIG]'],
  ['--json', 'print one JSON document'],
  ['--jsonl', 'print a JSON document per line'],
  ['-q, --quiet', 'print no notes on stderr'],
  ['--no-color', 'no colours [NO_COLOR]'],
]

const description = 'Durable tool calls for AI agents: run them, decide them, watch them.'

export const mainExamples = [
  ['pawl init', 'write a first agent into this project'],
  ['pawl serve', 'start a server with a worker'],
  ['pawl call refund \'{"order":"A1"}\'', 'run a tool'],
  ['pawl inbox', 'list what waits for people'],
  ['pawl approve', 'decide it, one item after the other'],
  ['pawl tail chat-42', 'watch a session live'],
] as const

export function buildProgram(start: Start, version: string): Command {
  const program = new Command('pawl')
  program.description(description).version(version, '-V, --version', 'print the version')
  program.helpOption('-h, --help', 'show help').helpCommand('help [command]', 'show the help of a command')
  for (const spec of globalOptions) program.addOption(optionOf(spec))
  for (const spec of commandTable) addCommand(program, spec, start)
  program.exitOverride().showHelpAfterError('(pawl --help lists the commands)')
  program.configureHelp({ formatHelp: (command) => helpOf(command) })
  for (const command of everyCommand(program)) {
    command.copyInheritedSettings(program)
    command.showHelpAfterError(`(${nameOf(command)} --help shows how it is used)`)
    command.configureHelp({ formatHelp: (each) => helpOf(each) })
  }
  return program
}

export function* everyCommand(command: Command): Generator<Command, void, void> {
  for (const each of command.commands) {
    yield each
    yield* everyCommand(each)
  }
}

export const isCommanderError = (error: unknown): error is CommanderError => error instanceof CommanderError

function optionOf([form, text, choices]: OptionSpec): Option {
  const option = new Option(form, text)
  return choices ? option.choices([...choices]) : option
}

const specs = new WeakMap<Command, CommandSpec>()

function addCommand(program: Command, spec: CommandSpec, start: Start): void {
  const [group = '', name] = spec.name.split(' ')
  const parent = name === undefined ? program : (program.commands.find((each) => each.name() === group) as Command)
  const command = parent.command(name ?? group).description(spec.summary)
  specs.set(command, spec)
  if (spec.alias !== undefined) command.alias(spec.alias)
  for (const [form, text] of spec.args ?? []) command.argument(form, text)
  for (const each of spec.options ?? []) command.addOption(optionOf(each))
  command.exitOverride().action(async () => {
    const run = await spec.load()
    const flags = command.optsWithGlobals<{ config?: string }>()
    await start(run, command.args, spec.takesServersFile ? withServersFile(flags) : flags)
  })
}

const withServersFile = ({ config, ...flags }: { config?: string }): object =>
  config?.endsWith('.json') ? { ...flags, servers: config } : { ...flags, ...(config === undefined ? {} : { config }) }

/** Text of `pawl help` and `pawl <command> --help`. */
function helpOf(command: Command): string {
  const spec = specs.get(command)
  const lines: string[] = []
  const section = (title: string, rows: readonly (readonly [string, string])[]): void => {
    if (rows.length === 0) return
    const width = Math.min(34, Math.max(...rows.map(([form]) => form.length)))
    lines.push('', `${title}:`)
    for (const [form, text] of rows)
      lines.push(
        form.length > width
          ? `  ${form}\n  ${' '.repeat(width)}  ${text}`
          : `  ${form.padEnd(width)}  ${text}`.trimEnd(),
      )
  }
  lines.push(spec ? `${nameOf(command)}: ${spec.summary}` : `pawl: ${description}`)
  if (spec?.more !== undefined) lines.push('', ...wrap(spec.more, 96))
  if (spec) {
    lines.push('', 'Examples:')
    for (const example of spec.examples) lines.push(`  ${example}`)
  } else section('Examples', mainExamples)
  lines.push('', `Usage: ${usageOf(command)}`)
  section('Arguments', spec?.args ?? [])
  section('Options', (spec?.options ?? []).map(rowOf))
  section(
    'Commands',
    command.commands
      .filter((each) => each.name() !== 'complete')
      .map((each) => [commandForm(each), each.description()] as const),
  )
  section('Options of every command', spec ? [] : globalOptions.map(rowOf))
  if (spec) lines.push('', '`pawl --help` lists the options that every command has.')
  return `${lines.join('\n')}\n`
}

const rowOf = ([form, text, choices]: OptionSpec): readonly [string, string] => [
  form,
  choices ? `${text} (${choices.join(', ')})` : text,
]

const nameOf = (command: Command): string =>
  command.parent && command.parent.name() !== 'pawl'
    ? `pawl ${command.parent.name()} ${command.name()}`
    : `pawl ${command.name()}`

const formsOf = (command: Command): string => (specs.get(command)?.args ?? []).map(([form]) => ` ${form}`).join('')

const commandForm = (command: Command): string => {
  const alias = command.alias()
  return `${command.name()}${alias ? `, ${alias}` : ''}${formsOf(command)}`
}

export const usageOf = (command: Command): string =>
  specs.has(command) ? `${nameOf(command)}${formsOf(command)} [options]` : 'pawl <command> [options]'

export const specOf = (command: Command): CommandSpec | undefined => specs.get(command)

function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + word.length + 1 > width) {
      lines.push(line)
      line = ''
    }
    line += line === '' ? word : ` ${word}`
  }
  return [...lines, line]
}
