// `pawl worker`: runs the calls, turns and tasks of the store until it is stopped.

import type { Run } from '../cli.ts'
import { type ExitCode, exitCodes } from '../exit-codes.ts'
import { systemClock } from '../../core/clock.ts'
import { count } from '../output/format.ts'
import { maskedStore } from '../output/masked-url.ts'
import { bold, dim, green, yellow } from '../output/output.ts'
import { readDuration } from '../read-arguments.ts'
import type { LogFormat } from '../open-store.ts'
import { noToolsHint } from '../settings.ts'

interface WorkerFlags {
  readonly grace?: string
  readonly once?: boolean
  readonly log?: LogFormat
}

/** How often `--once` looks whether something is left. */
const idleCheckMs = 200

export const worker: Run<WorkerFlags> = async (cli, _, { grace: text, once, log }): Promise<ExitCode> => {
  const { output, signal } = cli
  const settings = await cli.requireLocal('worker')
  const grace = text === undefined ? (settings.server.grace ?? '25s') : readDuration(text, '--grace')
  const { runtime } = await cli.local({ tools: true, worker: true, create: true, log })
  output.note(
    green('▶'),
    ' Worker on ',
    bold(maskedStore(settings.store.value)),
    dim(`  ${count(runtime.tools.list().length, 'tool')}. Ctrl-C stops it.`),
  )
  if (runtime.tools.list().length === 0) output.note(yellow('! '), noToolsHint)
  while (!signal.aborted) {
    if (once && (await isIdle(runtime))) break
    await pause(once ? idleCheckMs : 60_000, signal)
  }
  if (signal.aborted) output.note(dim(`Stopping: running calls may finish within ${grace}. Ctrl-C again ends at once.`))
  await runtime.close({ grace })
  output.note(
    dim(signal.aborted ? 'Stopped. What was not finished continues on the next worker.' : 'Nothing is left to run.'),
  )
  return exitCodes.ok
}

type Idle = { health(): Promise<{ open: { received: number; queued: number; running: number } }> }

async function isIdle(runtime: Idle): Promise<boolean> {
  const { open } = await runtime.health()
  return open.received + open.queued + open.running === 0
}

/** Ends early when the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      stop()
      signal.removeEventListener('abort', end)
      resolve()
    }
    const stop = systemClock.timer(ms, end)
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
  })
}
