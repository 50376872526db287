// Runs a program as a process tree that ends as a whole: when it is done, cancelled or timed out, and when this process
// dies, even by SIGKILL. For POSIX systems. The shell tool uses it, and `pawl/toolbox` exports it.
//
// The program leads its own process group, which is signalled as a whole. It starts only after the watcher
// (process-watcher.ts) knows the group, so our death can never leave it running.
//
// A process that leaves the group (setsid, a daemon) still carries two marks, in its environment and in its limits
// (process-marks.ts). On Linux it is found in /proc and killed too, by us at the end and by the watcher. A process
// escapes only if it left the group, wiped its environment AND changed that limit, or if it runs as another user; on
// systems without /proc, every process that left the group escapes.

import { spawn } from 'node:child_process'
import type { Writable } from 'node:stream'
import { checkOptions, option, type OptionTable } from '../../core/check-options.ts'
import { type Duration, milliseconds } from '../../core/duration.ts'
import { PawlError, asSentence } from '../../core/errors.ts'
import { isThenable } from '../../core/maybe-promise.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { prepareLaunch } from './launch-environment.ts'
import { killMarkedProcesses, lockLimitCommand, newRunId, processStartTicks, runVariable } from './process-marks.ts'
import { BoundedOutput } from './bounded-output.ts'
import { findProgram, standardPath } from './find-program.ts'
import { unwatchGroup, unwatchTree, watchTree } from './process-watcher.ts'

/** The options of runProcess(). */
export interface ProcessOptions {
  /** Default: the system clock. */
  readonly clock?: Clock | undefined
  /** Ends the tree when aborted. If it is already aborted, nothing is started. */
  readonly signal?: AbortSignal | undefined
  /** Default: the working directory of this process. */
  readonly cwd?: string | undefined
  /**
   * The whole environment of the program: nothing is inherited from this process. PATH defaults to the standard
   * folders, and PAWL_RUN is always overwritten.
   */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** Text for the standard input. Default: none. */
  readonly input?: string | undefined
  /**
   * Receives all output as it arrives, in whole characters. If it throws or its promise rejects, the tree is ended and
   * the error is thrown. Promises are awaited at the end, not between chunks.
   */
  readonly onOutput?: ((text: string, stream: 'stdout' | 'stderr') => unknown) | undefined
  /** Characters kept of each stream, at least 1: the first and the last half. Default: 262,144. */
  readonly mostOutput?: number | undefined
  /** Ends the tree after this time. Default: no timeout. */
  readonly timeout?: Duration | undefined
  /** Grace period between SIGTERM and SIGKILL for the program and all processes that hold its output. Default: '2s'. */
  readonly grace?: Duration | undefined
}

export const processOptions = {
  clock: option.object,
  signal: option.abortSignal,
  cwd: option.string,
  env: option.recordOf(option.hidden(option.string)),
  input: option.hidden(option.string),
  onOutput: option.func,
  mostOutput: option.wholeNumber(1),
  timeout: option.duration,
  grace: option.duration,
} satisfies OptionTable<ProcessOptions>

/** How a process ended. */
export interface ProcessEnd {
  /** The exit code; null when a signal ended it or nothing was started. */
  readonly code: number | null
  /** 'cancel' or 'timeout' if we ended it; else the signal that ended it; null if it exited by itself. */
  readonly killedBy: string | null
  /** What it wrote to standard output, bounded. */
  readonly stdout: string
  /** What it wrote to standard error, bounded. */
  readonly stderr: string
  /** True if a part of stdout or stderr was dropped; the text states how much and where. */
  readonly cut: boolean
}

/** Waits for the start line on fd 3, then executes the program. If we die first, the pipe ends and nothing runs. */
export const launcherScript = (run: string): string =>
  `read -r go <&3 || exit 125; exec 3<&-; ${lockLimitCommand(run)}; exec "$@"`

/** How long processes that the program started may still write after it has exited. */
const outputGraceMs = 100
/** How long to wait after SIGKILL; a process stuck in the kernel is not waited for. */
const killWaitMs = 100

/** Runs a program to its end. A non-zero exit is a result; a program that cannot be started throws. */
export async function runProcess(
  file: string,
  args: readonly string[],
  options: ProcessOptions = {},
): Promise<ProcessEnd> {
  checkOptions(options, processOptions, 'runProcess()')
  const { signal, clock = systemClock } = options
  const grace = milliseconds(options.grace ?? '2s', 'grace')
  const timeout = options.timeout === undefined ? undefined : milliseconds(options.timeout, 'timeout')
  const { mostOutput = 262_144 } = options
  const run = newRunId()
  const env = { PATH: standardPath, ...options.env, [runVariable]: run }
  const program = await findProgram(file, env.PATH, options.cwd)
  const out = new BoundedOutput(mostOutput)
  const err = new BoundedOutput(mostOutput)
  const toProcessEnd = (code: number | null, killedBy: string | null): ProcessEnd => ({
    code,
    killedBy,
    stdout: out.text,
    stderr: err.text,
    cut: out.cut || err.cut,
  })
  const launch = await prepareLaunch(program, args, env)
  if (signal?.aborted) return toProcessEnd(null, 'cancel')

  const child = spawnLauncher(['-c', launcherScript(run), 'sh', ...launch.command], { ...options, env: launch.env })
  const pid = child.pid
  if (pid === undefined) {
    const cause = await new Promise<Error>((resolve) => child.once('error', resolve))
    throw new PawlError('program_unavailable', asSentence(`${JSON.stringify(file)}: ${cause.message}`), { cause })
  }

  const since = processStartTicks(pid)
  const signalGroup = (name: 'SIGTERM' | 'SIGKILL'): void => {
    try {
      process.kill(-pid, name)
    } catch {} // the group has no process left
  }

  let stopReason: 'cancel' | 'timeout' | undefined
  let thrown: { readonly error: unknown } | undefined
  let exit: { readonly code: number | null; readonly by: NodeJS.Signals | null } | undefined
  const finished = Promise.withResolvers<void>()
  /** Promises of the output listener that are still pending; `stopWaiting` resolves when we stop waiting for them. */
  const pendingListeners = new Set<Promise<void>>()
  const stopWaiting = Promise.withResolvers<void>()
  const cancelTimers = new Set<() => void>()
  const schedule = (ms: number, what: () => void): void => void cancelTimers.add(clock.timer(ms, what))

  let ending = false
  /** SIGTERM, grace period, SIGKILL; then the run ends even if an escaped process still holds the pipes. */
  const endTree = (within: number): void => {
    if (ending) return
    ending = true
    signalGroup('SIGTERM')
    schedule(within, () => {
      signalGroup('SIGKILL')
      void killMarkedProcesses(run, since) // a process that left the group may keep the output open
      schedule(killWaitMs, finished.resolve)
    })
  }
  const stop = (why: 'cancel' | 'timeout'): void => {
    if (!ending && !exit) stopReason = why
    stopWaiting.resolve()
    endTree(grace)
  }
  const cancel = (): void => stop('cancel')
  const onListenerError = (error: unknown): void => {
    thrown ??= { error }
    endTree(grace)
  }
  const onData = (buffer: BoundedOutput, stream: 'stdout' | 'stderr', bytes?: Buffer): void => {
    const text = bytes ? buffer.append(bytes) : buffer.end()
    if (text === '' || thrown) return
    try {
      const listening = options.onOutput?.(text, stream)
      if (!isThenable(listening)) return
      const settled: Promise<void> = Promise.resolve(listening)
        .then(() => {}, onListenerError)
        .finally(() => pendingListeners.delete(settled))
      pendingListeners.add(settled)
    } catch (error) {
      onListenerError(error)
    }
  }

  child.stdout?.on('data', (bytes: Buffer) => onData(out, 'stdout', bytes)).on('end', () => onData(out, 'stdout'))
  child.stderr?.on('data', (bytes: Buffer) => onData(err, 'stderr', bytes)).on('end', () => onData(err, 'stderr'))
  // A program need not read its input, so write errors are ignored.
  for (const stream of child.stdio) stream?.on('error', () => {})
  child.on('error', () => {})
  child.once('exit', (code, by) => {
    exit = { code, by }
    // Processes that it started and that hold its output get a short time to finish; then they are ended too.
    schedule(outputGraceMs, () => endTree(Math.min(grace, killWaitMs)))
  })
  // Wait for three events: the program exits, and both output pipes close. After that no more output can arrive.
  let openHandles = 3
  const onClosed = (): void => void (--openHandles === 0 && finished.resolve())
  child.once('exit', onClosed)
  child.stdout?.once('close', onClosed)
  child.stderr?.once('close', onClosed)
  const cancelTimeout = timeout === undefined ? () => {} : clock.timer(timeout, () => stop('timeout'))
  signal?.addEventListener('abort', cancel, { once: true })
  child.stdin?.end(options.input ?? '')

  try {
    await watchTree(pid, run)
    ;(child.stdio[3] as Writable).end('go\n')
    await finished.promise
  } finally {
    ending = true
    for (const cancel of cancelTimers) cancel()
    signalGroup('SIGKILL')
    await killProcessTree(run, since)
    for (const stream of child.stdio) stream?.destroy()
    if (pendingListeners.size > 0) await Promise.race([Promise.all(pendingListeners), stopWaiting.promise])
    cancelTimeout()
    signal?.removeEventListener('abort', cancel)
  }
  if (thrown) throw thrown.error
  return toProcessEnd(exit?.code ?? null, stopReason ?? exit?.by ?? null)
}

/** Spawns the launcher shell. Turns errors of spawn (NUL in an argument, too many arguments) into a PawlError. */
function spawnLauncher(args: readonly string[], { cwd, env, input }: ProcessOptions): ReturnType<typeof spawn> {
  try {
    // The fourth pipe (fd 3) carries the start line.
    return spawn('/bin/sh', args, {
      cwd,
      env,
      detached: true,
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', 'pipe'],
    })
  } catch (cause) {
    throw new PawlError('program_unavailable', asSentence((cause as Error).message), { cause })
  }
}

const firstRetryMs = 250
const maxRetryMs = 30_000

/** Kills the marked processes of a run. If processes may remain when this resolves, it retries in the background; the watcher kills them when we exit. */
export async function killProcessTree(run: string, since: number | undefined): Promise<void> {
  const releaseHold = systemClock.hold()
  const allGone = await killMarkedProcesses(run, since)
  releaseHold()
  if (allGone) return unwatchTree(run)
  // The group is dead, and the system may reuse its id.
  unwatchGroup(run)
  retryKill(run, since, firstRetryMs)
}

function retryKill(run: string, since: number | undefined, pause: number): void {
  systemClock.timer(pause, () => {
    void killMarkedProcesses(run, since).then((allGone) =>
      allGone ? unwatchTree(run) : retryKill(run, since, Math.min(2 * pause, maxRetryMs)),
    )
  })
}
