// Writes the reference page of the CLI from its command table.

import type { Command } from 'commander'
import type { OptionSpec } from '../../src/cli/command-spec.ts'
import { exitCodeTexts } from '../../src/cli/exit-codes.ts'
import { buildProgram, everyCommand, globalOptions, mainExamples, specOf, usageOf } from '../../src/cli/program.ts'

const cell = (text: string): string => text.replaceAll('|', '\\|')

const table = (head: readonly [string, string], rows: readonly (readonly [string, string])[]): string[] =>
  rows.length === 0
    ? []
    : [`| ${head.join(' | ')} |`, '|---|---|', ...rows.map((row) => `| \`${cell(row[0])}\` | ${cell(row[1])} |`), '']

const optionRow = ([form, text, choices]: OptionSpec): readonly [string, string] => [
  form,
  choices ? `${text} (${choices.join(', ')})` : text,
]

function sectionOf(command: Command): string[] {
  const spec = specOf(command)
  if (!spec) return []
  return [
    `## pawl ${spec.name}`,
    '',
    `${spec.summary}${spec.more === undefined ? '' : ` ${spec.more}`}`,
    '',
    '```sh',
    `${usageOf(command)}${spec.alias === undefined ? '' : `    # or: pawl ${spec.alias}`}`,
    '```',
    '',
    ...table(['argument', 'meaning'], spec.args ?? []),
    ...table(['option', 'meaning'], (spec.options ?? []).map(optionRow)),
    '```sh',
    ...spec.examples,
    '```',
    '',
  ]
}

export function cliReference(): string {
  const program = buildProgram(async () => {}, '')
  const exits = Object.entries(exitCodeTexts)
  const lines = [
    '# Commands of `pawl`',
    '',
    'Every command works on a local store, or with `--url` (or PAWL_URL) on a server. Results are on stdout, everything',
    'else is on stderr. A flag comes before an environment variable, that before `pawl.config.ts`, and that before the',
    'default; `pawl config --effective` shows where each value comes from.',
    '',
    '```sh',
    ...mainExamples.map(([form, text]) => `${form.padEnd(36)}# ${text}`),
    '```',
    '',
    '## pawl.config.ts',
    '',
    'The tools, models and settings of a project. The file is in the current folder or in one above it.',
    '[The server](../guide/server.md#with-a-configuration-file) has an example; `defineConfig` of `pawl/config` types it.',
    '',
    '| field | meaning |',
    '|---|---|',
    '| `store` | such as `sqlite:agent.db` (relative to the file) or `postgres://…`; default: `sqlite:.pawl/pawl.db` |',
    '| `runtime` | options of `createRuntime()`: tools, models, policy; or a function that returns or imports them |',
    '| `server` | `port`, `host`, `allowedHosts`, `grace`, and `turn`: model, frame and instructions of turns that name none |',
    '| `keys` | the secret of the store and earlier ones |',
    '| `tenant` | default: `default` |',
    '| `url`, `token` | a Pawl server on which the commands work instead of a local store |',
    '',
    '## Options of every command',
    '',
    ...table(['option', 'meaning'], globalOptions.map(optionRow)),
    'NO_COLOR, FORCE_COLOR and CI have their usual meanings. PAWL_SECRET is the secret of the store; PAWL_KEYS is a list',
    'of the current secret and earlier ones, with commas between them.',
    '',
    '## Exit codes',
    '',
    '| code | meaning |',
    '|---|---|',
    ...exits.map(([code, text]) => `| ${code} | ${text} |`),
    '',
    'A signal ends `pawl serve` and `pawl worker` in order, with exit code 0.',
    '',
    ...[...everyCommand(program)].flatMap(sectionOf),
  ]
  return `${lines.join('\n').trimEnd()}\n`
}
