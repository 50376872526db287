// ctx.tasks: the tasks of a session, seen from a body. What it starts is named by its place in the body, so a rerun finds it again; while it waits
// for one it holds no place; and when it is cancelled meanwhile, so is what it waits for (TIME-3).

import { milliseconds } from '../../core/duration.ts'
import { isLoss } from '../../core/errors.ts'
import type { StartTask, Task, Tasks, WaitForTask } from '../../tools/context/tasks.ts'
import type { Around } from './call-environment.ts'
import type { Inside } from './call-environment.ts'
import { runUnder } from '../task-execution/task-run.ts'

export function tasksInBody({ execution, host, signal }: Around, inside: Inside): Tasks {
  const tasks = host.tasks(execution)
  let started = 0
  let scheduled = 0
  let sent = 0
  let waits = 0

  /** Should the store not answer, this execution decides nothing by that: it is taken up again, and asks again. */
  const asked = async <T>(what: string, ask: () => Promise<T>): Promise<T> => {
    inside.leaf(`tasks.${what}`)
    try {
      return await ask()
    } catch (error) {
      if (isLoss(error)) execution.end(error)
      throw error
    }
  }
  const place = (what: string): string => Buffer.from(execution.derive(what)).subarray(0, 18).toString('base64url')
  /** Once, however often the body runs. */
  const once = <T extends { readonly key?: string }>(how: T): T & { key: string } => ({
    ...how,
    key: how.key ?? place(`task-sent:${++sent}`),
  })

  const wait = async (id: string, { timeout, until = 'end' }: WaitForTask = {}): Promise<Task> => {
    inside.entry()
    const number = ++waits
    // An instant: a body that runs again waits what is left.
    const untilAt =
      timeout === undefined
        ? undefined
        : (await execution.now(`task-wait:${number}`)) + milliseconds(timeout, 'timeout')
    const run = runUnder(execution, host)
    const who = run ? { waits: run.terms.id } : {}
    run?.update({ waits: { for: id, over: false } })
    await run?.flushed()
    const how = { until, ...who, ...(untilAt === undefined ? {} : { untilAt }) }
    try {
      return await inside.outside(() =>
        execution.aside(async () => {
          try {
            return await tasks.wait(id, { ...how, signal })
          } catch (error) {
            const { stopped } = execution
            if (!signal.aborted || !stopped || !('cancel' in stopped)) throw error
            await tasks.cancel(id, stopped.cancel, stopped.by ?? undefined)
            return await tasks.wait(id, {})
          }
        }),
      )
    } finally {
      run?.update({ waits: { for: id, over: true } })
    }
  }

  const start = async (task: StartTask): Promise<Task> => {
    inside.entry()
    runUnder(execution, host)?.starts()
    return tasks.start({ ...task, id: task.id ?? `task_${place(`task:${++started}`)}` })
  }

  const schedule: Tasks['schedule'] = (task, when) => {
    inside.entry()
    const id = task.id ?? `task_${place(`task:${++started}`)}`
    return tasks.schedule({ ...task, id }, when, { place: place(`schedule:${++scheduled}`) })
  }

  return {
    start: (task) => asked('start', () => start(task)),
    schedule: (task, when) => asked('schedule', () => schedule(task, when)),
    adopt: (...given) => asked('adopt', () => tasks.adopt(...given)),
    get: (id) => asked('get', () => tasks.get(id)),
    result: (id) => asked('result', () => tasks.result(id)),
    list: (query) => asked('list', () => tasks.list(query)),
    wait: (id, how) => asked('wait', () => wait(id, how)),
    signal: (id, name, value, how = {}) => asked('signal', () => tasks.signal(id, name, value, once(how))),
    message: (id, text, how = {}) => asked('message', () => tasks.message(id, text, once(how))),
    events: (...given) => asked('events', () => tasks.events(...given)),
    messages: (...given) => asked('messages', () => tasks.messages(...given)),
    cancel: (...given) => asked('cancel', () => tasks.cancel(...given)),
  }
}
