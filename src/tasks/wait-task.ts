// Waits until a task has ended, or needs somebody. Whoever waits for the end is told by the engine; what lies between is looked for when
// something has changed.

import { runName, type TaskRun } from '../store/records/task-record.ts'
import { PawlError } from '../core/errors.ts'
import { milliseconds } from '../core/duration.ts'
import { isTerminal } from '../core/task-state.ts'
import type { Store } from '../store/store.ts'
import type { Task, WaitForTask } from '../tools/context/tasks.ts'
import type { BackgroundHost, Owner } from './ports.ts'
import { monitorKind } from '../core/task-state.ts'
import { readTask } from './read-task.ts'

type How = WaitForTask & { readonly untilAt?: number; readonly signal?: AbortSignal }

/** The task as it stands then; also when the time is over before. Rejects with the reason of the signal. */
export async function untilTask(host: BackgroundHost, owner: Owner, task: Task, how: How): Promise<Task> {
  const { store, clock } = host
  const { until = 'end', timeout, signal } = how
  if (until !== 'end' && until !== 'input')
    throw new PawlError('task_invalid', `until is ${JSON.stringify(until)}, not 'end' or 'input'.`)
  const untilAt = how.untilAt ?? (timeout === undefined ? Infinity : clock.now() + milliseconds(timeout, 'timeout'))
  // A monitor has no call: what becomes of it is looked for.
  const isMonitor = task.kind === monitorKind
  const call = await store.call(task.call)
  if (!call && !isMonitor) throw new PawlError('task_unknown', `The id is '${task.id}'.`)
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const { closed } = host
  const stops = signal ? [signal, closed] : [closed]
  const aborted = (): void => reject(stops.find((stop) => stop.aborted)?.reason as Error)
  if (stops.some((stop) => stop.aborted)) aborted()
  for (const stop of stops) stop.addEventListener('abort', aborted, { once: true })
  const callOff = untilAt === Infinity ? () => {} : clock.timer(Math.max(0, untilAt - clock.now()), resolve)
  const letGo = clock.hold()
  let looking = false
  let news = false
  /** One look at a time; what happens during one makes another. */
  const look = async (): Promise<void> => {
    news = true
    if (looking) return
    looking = true
    try {
      while (news) {
        news = false
        const now = await readTask(host, owner, task.id)
        if (!now || isTerminal(now.state) || now.state === 'awaiting_input') resolve()
      }
    } finally {
      looking = false
    }
  }
  const lookAgain = (): void => void look().catch(reject)
  const looks = until === 'input' || isMonitor
  const stopListening = looks ? store.onHint(lookAgain) : () => {}
  if (looks) lookAgain()
  if (call)
    host
      .engine()
      .settled(call.position)
      .then(() => resolve(), reject)
  try {
    await promise
    const now = await readTask(host, owner, task.id)
    if (!now) throw new PawlError('task_unknown', `The id is '${task.id}'; it was erased.`)
    return now
  } finally {
    for (const stop of stops) stop.removeEventListener('abort', aborted)
    stopListening()
    callOff()
    letGo()
  }
}

/** TASK-8: a task that waits for itself, through others or not, would wait for ever. What each waits for is on record before it is looked at. */
export async function checkCircle(store: Store, owner: Owner, waits: string, target: string): Promise<void> {
  const seen = new Set([target])
  // Those that are found on the way are looked at in turn.
  for (const id of seen) {
    if (id === waits)
      throw new PawlError('would_deadlock', `The task '${waits}' waits for '${target}', which waits for it.`)
    for (const next of await waitedFor(store, owner, id)) seen.add(next)
  }
}

async function waitedFor(store: Store, owner: Owner, id: string): Promise<readonly string[]> {
  const run = await store.document(runName(owner, id))
  return run ? (JSON.parse(run.value) as TaskRun).waitsFor : []
}
