// `pawl completion`: the script that connects a shell with `pawl complete -- <words>`, which answers with suggestions.

import type { Command } from 'commander'
import type { Run } from '../cli.ts'
import { CliError, type ExitCode, exitCodes } from '../exit-codes.ts'

const shells = ['bash', 'zsh', 'fish', 'powershell'] as const

export const completion: Run<object> = async (_, [shell = '']) => {
  if (!(shells as readonly string[]).includes(shell))
    throw new CliError(exitCodes.usage, `There is no completion for '${shell}'; the shells are ${shells.join(', ')}.`)
  const { script } = await import('@bomb.sh/tab')
  script(shell, 'pawl', 'pawl')
}

/** Prints the suggestions for a command line that is being typed. */
export async function suggest(program: Command, words: readonly string[]): Promise<ExitCode> {
  const { default: tab } = await import('@bomb.sh/tab/commander')
  tab(program, { completionCommandName: 'completion-script' }).parse(words[0] === '--' ? words.slice(1) : [...words])
  return exitCodes.ok
}
