// Waits until a task has ended or asks for input. The engine reports the end; other states are read again whenever the
// store hints at a change.

import { PawlError } from '../core/errors.ts'
import { milliseconds } from '../core/duration.ts'
import { isTerminal } from '../core/task-state.ts'
import type { Store } from '../store/store.ts'
import type { Task, WaitForTask } from '../tools/context/task-interfaces.ts'
import type { BackgroundHost, Owner } from './ports.ts'
import { monitorKind } from '../core/task-state.ts'
import { readTask, taskUnknown } from './read-task.ts'
import { collections } from '../store/collections.ts'

type WaitOptions = WaitForTask & { readonly untilAt?: number; readonly signal?: AbortSignal }

/** Resolves with the current task, even after the timeout. Rejects with the reason of the signal. */
export async function waitForTask(host: BackgroundHost, owner: Owner, task: Task, options: WaitOptions): Promise<Task> {
  const { store, clock } = host
  const { until = 'end', timeout, signal } = options
  const untilAt = options.untilAt ?? (timeout === undefined ? Infinity : clock.now() + milliseconds(timeout, 'timeout'))
  // A monitor has no call that the engine could report on: its state is polled.
  const isMonitor = task.kind === monitorKind
  const call = await store.call(task.call)
  if (!call && !isMonitor) throw taskUnknown(task.id)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const { closed } = host
  const stops = signal ? [signal, closed] : [closed]
  const aborted = (): void => reject(stops.find((stop) => stop.aborted)?.reason as Error)
  if (stops.some((stop) => stop.aborted)) aborted()
  for (const stop of stops) stop.addEventListener('abort', aborted, { once: true })
  const cancelTimer = untilAt === Infinity ? () => {} : clock.timer(Math.max(0, untilAt - clock.now()), resolve)
  const releaseHold = clock.hold()
  let polling = false
  let pollAgain = false
  /** One read at a time; a hint during a read causes another one. */
  const poll = async (): Promise<void> => {
    pollAgain = true
    if (polling) return
    polling = true
    try {
      while (pollAgain) {
        pollAgain = false
        const now = await readTask(host, owner, task.id)
        if (!now || isTerminal(now.state) || now.state === 'awaiting_input') resolve()
      }
    } finally {
      polling = false
    }
  }
  const startPoll = (): void => void poll().catch(reject)
  const needsPolling = until === 'input' || isMonitor
  const stopListening = needsPolling ? store.onHint(startPoll) : () => {}
  if (needsPolling) startPoll()
  if (call) host.engine.settled(call.position).then(() => resolve(), reject)
  try {
    await promise
    const now = await readTask(host, owner, task.id)
    if (!now) throw new PawlError('task_unknown', `The task '${task.id}' was erased. Nothing is left to wait for.`)
    return now
  } finally {
    for (const stop of stops) stop.removeEventListener('abort', aborted)
    stopListening()
    cancelTimer()
    releaseHold()
  }
}

/**
 * Throws would_deadlock if the task `target` waits for the task `waits`, directly or through others. Each task records
 * what it waits for before this check, so of two tasks that begin to wait for each other at least one sees the cycle.
 */
export async function checkDeadlock(store: Store, owner: Owner, waits: string, target: string): Promise<void> {
  const seen = new Set([target])
  // A Set iterates over elements added during the loop: this is a breadth-first search.
  for (const id of seen) {
    if (id === waits)
      throw new PawlError('would_deadlock', `The task '${waits}' waits for '${target}', which waits for it.`)
    for (const next of await waitTargets(store, owner, id)) seen.add(next)
  }
}

async function waitTargets(store: Store, owner: Owner, id: string): Promise<readonly string[]> {
  const run = await store.document(collections.taskRun.name(owner, id))
  return run ? collections.taskRun.parse(run.value).waitsFor : []
}
