// Builds the command line and environment that start a program through a shell with exactly the given variables.
//
// A shell reserves some variables (IFS, PPID), fails on certain values of others (OPTIND), drops names that are not
// identifiers ('a.b') and adds its own (PWD). Those variables bypass the shell: `env` sets them after it. All others
// are inherited unchanged. Only inherited variables may hold secrets: arguments of `env` are visible to every user of
// the machine for a moment.

import { PawlError } from '../../core/errors.ts'
import { findProgram, standardPath } from './find-program.ts'

/** Variables that some /bin/sh (dash, bash, busybox, ksh, zsh), `env` or the dynamic loader interprets itself. */
const reservedNames = new Set(
  `_ ATTY COLUMNS CDPATH DIRSTACK EGID ENV EPOCHREALTIME EPOCHSECONDS ERRNO EUID FCEDIT FIGNORE FPATH FUNCNAME FUNCNEST GID GLOBIGNORE GROUPS HOSTNAME HOSTTYPE IFS
  IGNOREEOF INPUTRC LANG LANGUAGE LINENO LINES LOGNAME MACHTYPE MAIL MAILCHECK MAILPATH NLSPATH OLDPWD OPTARG OPTERR OPTIND OSTYPE PIPESTATUS POSIXLY_CORRECT PPID
  PROMPT PROMPT_COMMAND PS0 PS1 PS2 PS3 PS4 PWD RANDOM REPLY SECONDS SHELL SHELLOPTS SHLVL SRANDOM TERM TIMEFORMAT TMOUT TTYIDLE UID USERNAME VENDOR`.split(
    /\s+/,
  ),
)
const reservedPrefixes = /^(?:BASH|COMP_|COPROC|DYLD_|GLIBC_|HIST|KSH|LC_|LD_|MALLOC_|READLINE_|ZSH)/
const plainName = /^[A-Za-z_]\w*$/

/** Variables that shells add; `env -u` removes them. */
const addedByShell = ['PWD', 'OLDPWD', 'SHLVL', '_']

export interface Launch {
  /** The environment of the launching shell. */
  readonly env: Readonly<Record<string, string>>
  /** The command it runs: `env` with the remaining variables, then the program. */
  readonly command: readonly string[]
}

export async function prepareLaunch(
  program: string,
  args: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
): Promise<Launch> {
  const env: Record<string, string> = {}
  const envArguments: string[] = []
  for (const [name, value] of Object.entries(variables)) {
    if (value === undefined) continue
    const assignment = `${name}=${value}`
    if (name === '' || name.includes('=') || assignment.includes('\0'))
      throw new PawlError('config_invalid', `env: ${JSON.stringify(name)} is not a valid environment variable.`)
    if (plainName.test(name) && !reservedNames.has(name) && !reservedPrefixes.test(name)) env[name] = value
    else envArguments.push(assignment)
  }
  // `env` would read a path that contains "=" as an assignment; `nice -n 0` runs it unchanged.
  const run = program.includes('=') ? [await findProgram('nice', standardPath), '-n', '0', program] : [program]
  return {
    env,
    command: ['/usr/bin/env', ...addedByShell.flatMap((name) => ['-u', name]), '--', ...envArguments, ...run, ...args],
  }
}
