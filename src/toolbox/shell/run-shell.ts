// Runs shell commands as a bounded process tree, for the bash tool. runProcess ends the tree; this file enforces
// bounds.
//
// Enforced by the system for each process: memory (RLIMIT_DATA), file size, no core dumps. Sampled for the whole tree:
// process count and memory. Checked at every chunk: the amount of output. The tree is ended when it exceeds a bound.

import { randomUUID } from 'node:crypto'
import { constants } from 'node:os'
import type { Clock } from '../../core/clock.ts'
import { runProcess } from '../processes/run-process.ts'
import { ProcessStats } from './process-stats.ts'

/** Limits on one run of the shell. */
export interface ShellBounds {
  /** Bytes, for one process and for all of them together. Default: 2 GiB. */
  readonly memory: number
  /** Processes in the process tree. Default: 256. */
  readonly processes: number
  /** Bytes of one written file. Default: 1 GiB. */
  readonly fileBytes: number
  /** Characters of stdout and stderr together; more output kills the process tree. Default: 64 Mi. */
  readonly output: number
}

export interface ShellRun {
  readonly shell: string
  readonly commands: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly graceMs: number
  readonly bounds: ShellBounds
  readonly clock: Clock
  readonly signal: AbortSignal
  readonly onOutput: (text: string, stream: 'stdout' | 'stderr') => void
}

export interface ShellEnd {
  readonly exitCode: number
  /** Why the run was ended early; undefined if it was not. */
  readonly ended: 'timeout' | 'cancel' | keyof ShellBounds | undefined
  readonly stdout: string
  readonly stderr: string
  /** True if a part of the output was dropped. */
  readonly cut: boolean
  /** Lines of both streams, dropped ones included. */
  readonly lines: number
}

/** Characters kept of each stream: the first and the last half. */
const maxKeptChars = 1_000_000
const checkEveryMs = 200

/** If the system rejects a limit, the command still runs: the sampled bounds still apply. */
const limitCommands = 'ulimit -c 0; ulimit -f "$1" 2>/dev/null; ulimit -d "$2" 2>/dev/null; shift 2'
/** Closes inherited handles. Only bash can close a handle whose number has two digits. */
const closeHandles = 'for h in /proc/$$/fd/*; do h=${h##*/}; [ "$h" -gt 2 ] 2>/dev/null && eval "exec $h<&-"; done'

/**
 * The launching shell stays alive, so the group always contains a marked process. Its own stderr is discarded: it would
 * report killed children in the command's output.
 */
const waitCommand = 'exec 9>&2 2>/dev/null; "$@" 2>&9 9>&-; exit $?'

export async function runShell(run: ShellRun): Promise<ShellEnd> {
  const { shell, commands, cwd, env, timeoutMs, graceMs, bounds, clock, signal, onOutput } = run
  const mark = `PAWL_SHELL=${randomUUID()}`
  const [name, value] = mark.split('=') as [string, string]
  const stop = new AbortController()
  let exceeded: keyof ShellBounds | undefined
  const end = (why: keyof ShellBounds): void => {
    exceeded ??= why
    stop.abort()
  }
  const stats = new ProcessStats(mark)
  let checking = false
  const checkBounds = async (): Promise<void> => {
    if (checking) return
    checking = true
    const { processes, memory } = await stats.count()
    checking = false
    if (processes > bounds.processes) end('processes')
    else if (memory > bounds.memory) end('memory')
  }
  const stopChecking = clock.every(checkEveryMs, () => void checkBounds())
  let lines = 0
  let outputChars = 0
  /** True for a stream whose last line has no newline yet; it counts as a line at the end. */
  const openLines = { stdout: false, stderr: false }
  const isBash = /(?:^|\/)bash$/.test(shell)
  const launcher = `${limitCommands}; ${isBash ? `${closeHandles}; ` : ''}${waitCommand}`
  const blocks = String(Math.ceil(bounds.fileBytes / (isBash ? 1024 : 512)))
  const first = ['-c', launcher, 'launch', blocks, String(Math.ceil(bounds.memory / 1024)), shell]
  const noStartupFiles = isBash ? ['--noprofile', '--norc'] : []
  const processEnd = await runProcess(
    isBash ? shell : '/bin/sh',
    [...noStartupFiles, ...first, ...noStartupFiles, '-c', '--', commands],
    {
      clock,
      signal: AbortSignal.any([signal, stop.signal]),
      cwd,
      env: { ...env, [name]: value },
      mostOutput: maxKeptChars,
      timeout: timeoutMs,
      grace: graceMs,
      onOutput(text, stream) {
        for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines++
        openLines[stream] = !text.endsWith('\n')
        outputChars += text.length
        if (outputChars > bounds.output) end('output')
        else onOutput(text, stream)
      },
    },
  ).finally(stopChecking)
  const { code, killedBy, stdout, stderr, cut } = processEnd
  const endedBy = killedBy === 'cancel' ? (exceeded ?? 'cancel') : killedBy === 'timeout' ? 'timeout' : undefined
  return {
    exitCode: code ?? 128 + (constants.signals[killedBy as NodeJS.Signals] ?? constants.signals.SIGKILL),
    ended: endedBy,
    stdout,
    stderr,
    cut,
    lines: lines + Number(openLines.stdout) + Number(openLines.stderr),
  }
}
