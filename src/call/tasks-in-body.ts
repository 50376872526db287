// ctx.tasks: the tasks of a session, seen from a body. What it starts is named by its place in the body, so a rerun finds it again; while it waits
// for one it holds no place; and when it is cancelled meanwhile, so is what it waits for (TIME-3).

import { milliseconds } from '../kernel/duration.ts'
import type { Task, Tasks, WaitForTask } from '../tool/task.ts'
import type { Around } from './around.ts'
import type { Inside } from './inside.ts'
import { runOf } from './task-run.ts'

export function tasksInBody({ invocation, host, signal }: Around, inside: Inside): Tasks {
  const tasks = host.tasks(invocation)
  let started = 0
  let waits = 0

  const placeOf = (number: number): string =>
    `task_${Buffer.from(invocation.derive(`task:${number}`))
      .subarray(0, 18)
      .toString('base64url')}`

  const wait = async (id: string, { timeout, until = 'end' }: WaitForTask = {}): Promise<Task> => {
    inside.leaf('tasks.wait')
    inside.entry()
    const number = ++waits
    // An instant: a body that runs again waits what is left.
    const untilAt = timeout === undefined ? undefined : (await invocation.now(`task-wait:${number}`)) + milliseconds(timeout, 'timeout')
    const how = untilAt === undefined ? { until } : { until, untilAt }
    return inside.outside(() =>
      invocation.aside(async () => {
        try {
          return await tasks.wait(id, { ...how, signal })
        } catch (error) {
          const { stopped } = invocation
          if (!signal.aborted || !stopped || !('cancel' in stopped)) throw error
          await tasks.cancel(id, stopped.cancel, stopped.by ?? undefined)
          return await tasks.wait(id, {})
        }
      }),
    )
  }

  return {
    async start(task) {
      inside.leaf('tasks.start')
      inside.entry()
      const run = runOf(invocation)
      // Known before there is one: whoever ends it looks for them.
      if (run && !run.run.hasChildren) {
        run.update({ hasChildren: true })
        await run.flushed()
      }
      return tasks.start({ ...task, id: task.id ?? placeOf(++started) })
    },
    async schedule(task, when) {
      inside.leaf('tasks.schedule')
      inside.entry()
      return tasks.schedule({ ...task, id: task.id ?? placeOf(++started) }, when)
    },
    adopt: (...given) => tasks.adopt(...given),
    get: (id) => tasks.get(id),
    list: (query) => tasks.list(query),
    wait,
    signal: (...given) => tasks.signal(...given),
    message: (...given) => tasks.message(...given),
    events: (...given) => tasks.events(...given),
    messages: (...given) => tasks.messages(...given),
    cancel: (...given) => tasks.cancel(...given),
  }
}
