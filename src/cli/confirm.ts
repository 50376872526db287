// Asks before something is deleted. Without a terminal the flag --yes is required.

import type { Cli } from './cli.ts'
import { CliError, exitCodes } from './exit-codes.ts'
import { safeLine } from './output/terminal-safe.ts'

export async function requireConfirmation(
  { interactive, signal }: Cli,
  yes: boolean | undefined,
  message: string,
): Promise<void> {
  if (yes === true) return
  if (!interactive) throw new CliError(exitCodes.usage, `${message} Confirm with --yes. Nothing was done.`)
  const { confirm } = await import('@clack/prompts')
  const answer = await confirm({ message: safeLine(message), initialValue: false, output: process.stderr, signal })
  if (typeof answer === 'symbol') throw new CliError(exitCodes.interrupted, 'Interrupted.')
  if (!answer) throw new CliError(exitCodes.failed, 'Nothing was done.')
}
