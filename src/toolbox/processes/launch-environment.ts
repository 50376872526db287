// The program sees the environment it was given, whatever the shell that launches it makes of it.
//
// A shell keeps some variables to itself (IFS, PPID), stumbles over values of others (OPTIND), drops names that it has no word for ('a.b') and adds its own (PWD).
// So those are not its to see: `env` puts them in place after it. All others it hands on as they are, and only they may hold secrets: what `env` is
// told can be read by anybody on the machine, for a moment.

import { PawlError } from '../../core/errors.ts'
import { findProgram, standardPath } from './find-program.ts'

/** What some /bin/sh (dash, bash, busybox, ksh, zsh), `env` or the loader of either takes for itself. */
const known = new Set(
  `_ ATTY COLUMNS CDPATH DIRSTACK EGID ENV EPOCHREALTIME EPOCHSECONDS ERRNO EUID FCEDIT FIGNORE FPATH FUNCNAME FUNCNEST GID GLOBIGNORE GROUPS HOSTNAME HOSTTYPE IFS
  IGNOREEOF INPUTRC LANG LANGUAGE LINENO LINES LOGNAME MACHTYPE MAIL MAILCHECK MAILPATH NLSPATH OLDPWD OPTARG OPTERR OPTIND OSTYPE PIPESTATUS POSIXLY_CORRECT PPID
  PROMPT PROMPT_COMMAND PS0 PS1 PS2 PS3 PS4 PWD RANDOM REPLY SECONDS SHELL SHELLOPTS SHLVL SRANDOM TERM TIMEFORMAT TMOUT TTYIDLE UID USERNAME VENDOR`.split(
    /\s+/,
  ),
)
const knownKinds = /^(?:BASH|COMP_|COPROC|DYLD_|GLIBC_|HIST|KSH|LC_|LD_|MALLOC_|READLINE_|ZSH)/
const plain = /^[A-Za-z_]\w*$/

/** What shells add. */
const added = ['PWD', 'OLDPWD', 'SHLVL', '_']

export interface Launch {
  /** What the launching shell sees. */
  readonly env: Readonly<Record<string, string>>
  /** What it runs: `env` with all the rest. */
  readonly command: readonly string[]
}

export async function launchOf(
  program: string,
  args: readonly string[],
  given: Readonly<Record<string, string | undefined>>,
): Promise<Launch> {
  const env: Record<string, string> = {}
  const late: string[] = []
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue
    const set = `${name}=${value}`
    if (name === '' || name.includes('=') || set.includes('\0'))
      throw new PawlError('config_invalid', `env: ${JSON.stringify(name)} is no variable that a program can be given.`)
    if (plain.test(name) && !known.has(name) && !knownKinds.test(name)) env[name] = value
    else late.push(set)
  }
  // `env` takes a path with "=" in it for a variable; `nice` takes it for what it is, and changes nothing.
  const run = program.includes('=') ? [await findProgram('nice', standardPath), '-n', '0', program] : [program]
  return { env, command: ['/usr/bin/env', ...added.flatMap((name) => ['-u', name]), '--', ...late, ...run, ...args] }
}
