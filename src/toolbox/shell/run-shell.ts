// SHELL: commands as a bounded tree of processes. runProcess ends the tree as a whole; here are the bounds.
//
// What holds at once, for each process: its memory (RLIMIT_DATA), the size of a file it writes, no core dumps. What is looked at now and then, for all together:
// how many there are, and their memory; and at every piece of output, how much has come. Beyond a bound the tree is ended.

import { randomUUID } from 'node:crypto'
import { constants } from 'node:os'
import type { Clock } from '../../core/clock.ts'
import { runProcess } from '../processes/run-process.ts'
import { Census } from './process-stats.ts'

export interface ShellBounds {
  /** Bytes: of one process, and of all of them together. */
  readonly memory: number
  readonly processes: number
  /** Bytes of one file that is written. */
  readonly fileBytes: number
  /** Characters of all output; what comes after ends the tree. */
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
  /** Why it was ended before it was done. */
  readonly ended: 'timeout' | 'cancel' | keyof ShellBounds | undefined
  readonly stdout: string
  readonly stderr: string
  /** Something was left out of what is kept. */
  readonly cut: boolean
  /** Of both streams, all that came. */
  readonly lines: number
}

/** Characters that are kept of each stream, the first and the last half. */
const mostKept = 1_000_000
const lookEveryMs = 200

/** A limit that the system does not take is left out rather than the command: what is looked at holds all the same. */
const limits = 'ulimit -c 0; ulimit -f "$1" 2>/dev/null; ulimit -d "$2" 2>/dev/null; shift 2'
/** What this process was started with and does not know of. Only bash can close a handle whose number has two digits. */
const closeHandles = 'for h in /proc/$$/fd/*; do h=${h##*/}; [ "$h" -gt 2 ] 2>/dev/null && eval "exec $h<&-"; done'

/** It stays, so that there is always one by whose mark the group is known. What it would say about a child that was killed is nobody's output. */
const waits = 'exec 9>&2 2>/dev/null; "$@" 2>&9 9>&-; exit $?'

export async function runShell(run: ShellRun): Promise<ShellEnd> {
  const { shell, commands, cwd, env, timeoutMs, graceMs, bounds, clock, signal, onOutput } = run
  const mark = `PAWL_SHELL=${randomUUID()}`
  const [name, value] = mark.split('=') as [string, string]
  const stop = new AbortController()
  let beyond: keyof ShellBounds | undefined
  const end = (why: keyof ShellBounds): void => {
    beyond ??= why
    stop.abort()
  }
  const census = new Census(mark)
  let looking = false
  const look = async (): Promise<void> => {
    if (looking) return
    looking = true
    const { processes, memory } = await census.count()
    looking = false
    if (processes > bounds.processes) end('processes')
    else if (memory > bounds.memory) end('memory')
  }
  const callOff = clock.every(lookEveryMs, () => void look())
  let lines = 0
  let came = 0
  /** Whether a line was begun, by stream: its end counts it. */
  const begun = { stdout: false, stderr: false }
  const isBash = /(?:^|\/)bash$/.test(shell)
  const launcher = `${limits}; ${isBash ? `${closeHandles}; ` : ''}${waits}`
  const blocks = String(Math.ceil(bounds.fileBytes / (isBash ? 1024 : 512)))
  const first = ['-c', launcher, 'launch', blocks, String(Math.ceil(bounds.memory / 1024)), shell]
  const plain = isBash ? ['--noprofile', '--norc'] : []
  const ended = await runProcess(isBash ? shell : '/bin/sh', [...plain, ...first, ...plain, '-c', '--', commands], {
    clock,
    signal: AbortSignal.any([signal, stop.signal]),
    cwd,
    env: { ...env, [name]: value },
    mostOutput: mostKept,
    timeout: timeoutMs,
    grace: graceMs,
    onOutput(text, stream) {
      for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines++
      begun[stream] = !text.endsWith('\n')
      came += text.length
      if (came > bounds.output) end('output')
      else onOutput(text, stream)
    },
  }).finally(callOff)
  const { code, killedBy, stdout, stderr, cut } = ended
  const killed = killedBy === 'cancel' ? (beyond ?? 'cancel') : killedBy === 'timeout' ? 'timeout' : undefined
  return {
    exitCode: code ?? 128 + (constants.signals[killedBy as NodeJS.Signals] ?? constants.signals.SIGKILL),
    ended: killed,
    stdout,
    stderr,
    cut,
    lines: lines + Number(begun.stdout) + Number(begun.stderr),
  }
}
