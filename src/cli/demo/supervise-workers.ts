// Keeps one worker process of `pawl serve --demo` running. A worker that was killed is replaced after some seconds, as a
// process manager would do it.

import { type ChildProcess, fork } from 'node:child_process'
import { extname, join } from 'node:path'
import { systemClock } from '../../core/clock.ts'
import type { Duration, RuntimeOptions } from '../../index.ts'
import type { LogFormat } from '../open-store.ts'

/** The first message to a worker process; the second one stops it. Options can hold secrets, so they are no arguments. */
export interface ServeWorkerStart {
  readonly store: string
  readonly keys: NonNullable<RuntimeOptions['keys']> | null
  readonly grace: Duration
  readonly log: LogFormat | undefined
  readonly quiet: boolean
}

export interface WorkerEnd {
  readonly pid: number
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

interface Supervised extends ServeWorkerStart {
  /** Called when a worker ends although nothing stopped it. */
  readonly onEnd: (end: WorkerEnd) => void
  /** Called with the process id of each replacement. */
  readonly onReplaced: (pid: number) => void
}

export interface Supervisor {
  /** Lets the worker finish its calls within the grace, then kills it. */
  stop(): Promise<void>
}

/** TypeScript in the repository, JavaScript in the package. */
const file = join(import.meta.dirname, `serve-worker${extname(import.meta.filename)}`)
/** A worker that fails at its start would otherwise be started without pause. */
const pauseAfterFailureMs = 2_000
/** Long enough to see in the browser that no worker runs the call. */
const pauseAfterKillMs = 5_000
/** Beyond the grace: closing the store takes time, too. */
const stopWithinMs = 30_000

export function superviseWorkers({ onEnd, onReplaced, ...start }: Supervised): Supervisor {
  let isStopping = false
  let child: ChildProcess
  let ended: Promise<void>
  let stopPause = (): void => {}

  function startWorker(isReplacement: boolean): void {
    const each = fork(file, [], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'], serialization: 'advanced' })
    child = each
    each.on('error', () => {}) // `close` follows
    each.send(start, () => {})
    if (isReplacement) onReplaced(each.pid ?? 0)
    ended = new Promise((resolve) =>
      each.once('close', (code, signal) => {
        resolve()
        if (isStopping) return
        onEnd({ pid: each.pid ?? 0, code, signal })
        stopPause = systemClock.timer(signal === 'SIGKILL' ? pauseAfterKillMs : pauseAfterFailureMs, () =>
          startWorker(true),
        )
      }),
    )
  }

  startWorker(false)
  return {
    async stop() {
      isStopping = true
      stopPause()
      child.send('stop', () => {})
      const giveUp = systemClock.timer(stopWithinMs, () => void child.kill('SIGKILL'))
      await ended
      giveUp()
    },
  }
}
