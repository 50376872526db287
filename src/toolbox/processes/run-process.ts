// Runs a program as a tree of processes that ends as a whole: when it is done, cancelled or out of time, and when this process
// dies, however it dies. For POSIX systems.
//
// The program leads a process group of its own, which is signalled as a whole. It does not begin before the watcher
// (process-watcher.ts) knows the group, so there is no moment at which our death would leave it running.
//
// What leaves the group (setsid, a daemon) still carries two marks, in its environment and in its limits (process-marks.ts). On Linux those
// are found in /proc and killed too, by us at the end and by the watcher. What escapes is a process that has left the group, wiped its
// environment AND changed that limit, or that runs as another user; and on systems without /proc everything that has left the group.

import { spawn } from 'node:child_process'
import type { Writable } from 'node:stream'
import { type Duration, milliseconds } from '../../core/duration.ts'
import { PawlError } from '../../core/errors.ts'
import { isThenable } from '../../core/maybe-promise.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { launchOf } from './launch-environment.ts'
import { endMarked } from './end-process-tree.ts'
import { beganAt, killMarked, limitLocks, mark, newRun } from './process-marks.ts'
import { KeptOutput } from './bounded-output.ts'
import { findProgram, standardPath } from './find-program.ts'
import { watch } from './process-watcher.ts'

export interface ProcessOptions {
  /** The system's if left out. */
  readonly clock?: Clock | undefined
  /** Ends the tree. One that is aborted already starts nothing. */
  readonly signal?: AbortSignal | undefined
  readonly cwd?: string | undefined
  /** All that the program sees; of ours it inherits nothing. PATH is a plain one unless given, and PAWL_RUN is ours. */
  readonly env?: Readonly<Record<string, string>> | undefined
  /** What it reads; without it there is nothing to read. */
  readonly input?: string | undefined
  /**
   * Everything that is written, as it comes, whole characters. If it throws, or a promise that it gives rejects, the tree is ended and the error is thrown.
   * Promises are waited for at the end, not in between.
   */
  readonly onOutput?: ((text: string, stream: 'stdout' | 'stderr') => unknown) | undefined
  /** How many characters are kept of each stream, at least one: the first and the last half. 262,144 unless given. */
  readonly mostOutput?: number | undefined
  readonly timeout?: Duration | undefined
  /** How long the tree has between SIGTERM and SIGKILL: the program itself, and whatever still holds its output. '2s' unless given. */
  readonly grace?: Duration | undefined
}

export interface ProcessEnd {
  /** The exit code; null when a signal ended it or nothing was started. */
  readonly code: number | null
  /** 'cancel' or 'timeout' when we ended it, whatever its code; else the signal that did; null when it ended by itself. */
  readonly killedBy: string | null
  readonly stdout: string
  readonly stderr: string
  /** Whether something was left out of stdout or stderr; the text says how much, and where. */
  readonly cut: boolean
}

/** Waits for our word, then becomes the program. If we die before, the pipe ends and nothing runs. */
const launcher = (run: string): string => `read -r go <&3 || exit 125; exec 3<&-; ${limitLocks(run)}; exec "$@"`

/** How long output may still come after the program has ended, from what it started and is about to end too. */
const afterglow = 100
/** How long SIGKILL may take; a process that the kernel does not let go is not waited for. */
const afterKill = 100

/** Runs a program to its end. A failing program is a value; one that cannot be started throws. */
export async function runProcess(
  file: string,
  args: readonly string[],
  options: ProcessOptions = {},
): Promise<ProcessEnd> {
  const { signal, clock = systemClock } = options
  const grace = milliseconds(options.grace ?? '2s', 'grace')
  const timeout = options.timeout === undefined ? undefined : milliseconds(options.timeout, 'timeout')
  const { mostOutput = 262_144 } = options
  if (!Number.isSafeInteger(mostOutput) || mostOutput < 1)
    throw new PawlError('config_invalid', `mostOutput is ${String(mostOutput)}; it must be a whole number above zero.`)
  const run = newRun()
  const env = { PATH: standardPath, ...options.env, [mark]: run }
  const program = await findProgram(file, env.PATH, options.cwd)
  const out = new KeptOutput(mostOutput)
  const err = new KeptOutput(mostOutput)
  const ended = (code: number | null, killedBy: string | null): ProcessEnd => ({
    code,
    killedBy,
    stdout: out.text,
    stderr: err.text,
    cut: out.cut || err.cut,
  })
  const launch = await launchOf(program, args, env)
  if (signal?.aborted) return ended(null, 'cancel')

  const child = start(['-c', launcher(run), 'sh', ...launch.command], { ...options, env: launch.env })
  const pid = child.pid
  if (pid === undefined) {
    const cause = await new Promise<Error>((resolve) => child.once('error', resolve))
    throw new PawlError('program_unavailable', `${JSON.stringify(file)}: ${cause.message}.`, { cause })
  }

  const since = beganAt(pid)
  const tell = (name: 'SIGTERM' | 'SIGKILL'): void => {
    try {
      process.kill(-pid, name)
    } catch {} // nobody is left in the group: as good
  }

  let reason: 'cancel' | 'timeout' | undefined
  let thrown: { readonly error: unknown } | undefined
  let left: { readonly code: number | null; readonly by: NodeJS.Signals | null } | undefined
  const over = Promise.withResolvers<void>()
  /** What the listener has not ended yet, and when that is not waited for any longer. */
  const unheard = new Set<Promise<void>>()
  const enough = Promise.withResolvers<void>()
  const alarms = new Set<() => void>()
  const later = (ms: number, what: () => void): void => void alarms.add(clock.timer(ms, what))

  let ending = false
  /** SIGTERM, a grace, SIGKILL; then it is over, even if a process that escaped still holds the pipes. */
  const endTree = (within: number): void => {
    if (ending) return
    ending = true
    tell('SIGTERM')
    later(within, () => {
      tell('SIGKILL')
      void killMarked(run, since) // what has left the group may hold the output
      later(afterKill, over.resolve)
    })
  }
  const stop = (why: 'cancel' | 'timeout'): void => {
    if (!ending && !left) reason = why
    enough.resolve()
    endTree(grace)
  }
  const cancel = (): void => stop('cancel')
  const broken = (error: unknown): void => {
    thrown ??= { error }
    endTree(grace)
  }
  const hear = (kept: KeptOutput, stream: 'stdout' | 'stderr', bytes?: Buffer): void => {
    const text = bytes ? kept.take(bytes) : kept.end()
    if (text === '' || thrown) return
    try {
      const hearing = options.onOutput?.(text, stream)
      if (!isThenable(hearing)) return
      const heard: Promise<void> = Promise.resolve(hearing)
        .then(() => {}, broken)
        .finally(() => unheard.delete(heard))
      unheard.add(heard)
    } catch (error) {
      broken(error)
    }
  }

  child.stdout?.on('data', (bytes: Buffer) => hear(out, 'stdout', bytes)).on('end', () => hear(out, 'stdout'))
  child.stderr?.on('data', (bytes: Buffer) => hear(err, 'stderr', bytes)).on('end', () => hear(err, 'stderr'))
  // A program need not read what it is given.
  for (const stream of child.stdio) stream?.on('error', () => {})
  child.on('error', () => {})
  child.once('exit', (code, by) => {
    left = { code, by }
    // What it has started and still holds its output may finish in a moment; then it is ended as well.
    later(afterglow, () => endTree(Math.min(grace, afterKill)))
  })
  // The program has ended and nobody holds its output: the rest of the group has nothing more to say.
  let open = 3
  const closed = (): void => void (--open === 0 && over.resolve())
  child.once('exit', closed)
  child.stdout?.once('close', closed)
  child.stderr?.once('close', closed)
  const inTime = timeout === undefined ? () => {} : clock.timer(timeout, () => stop('timeout'))
  signal?.addEventListener('abort', cancel, { once: true })
  child.stdin?.end(options.input ?? '')

  try {
    await watch(pid, run)
    ;(child.stdio[3] as Writable).end('go\n')
    await over.promise
  } finally {
    ending = true
    for (const callOff of alarms) callOff()
    tell('SIGKILL')
    await endMarked(run, since)
    for (const stream of child.stdio) stream?.destroy()
    if (unheard.size > 0) await Promise.race([Promise.all(unheard), enough.promise])
    inTime()
    signal?.removeEventListener('abort', cancel)
  }
  if (thrown) throw thrown.error
  return ended(left?.code ?? null, reason ?? left?.by ?? null)
}

/** The launcher as a child; what Node refuses (NUL in an argument, too many of them) is told as what it is. */
function start(args: readonly string[], { cwd, env, input }: ProcessOptions): ReturnType<typeof spawn> {
  try {
    // The fourth is for the word to begin.
    return spawn('/bin/sh', args, {
      cwd,
      env,
      detached: true,
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', 'pipe'],
    })
  } catch (cause) {
    throw new PawlError('program_unavailable', `${(cause as Error).message}.`, { cause })
  }
}
