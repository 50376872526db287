// ctx.tasks. The id of a started task is derived from its position in the body, so a rerun finds the same task. While a
// body waits for a task it holds no slot, and cancelling the body also cancels the task it waits for.

import { milliseconds } from '../../core/duration.ts'
import type { StartTask, Task, Tasks, WaitForTask } from '../../tools/context/task-interfaces.ts'
import type { ToolContext } from '../../tools/context/tool-context.ts'
import type { CallEnvironment } from './call-environment.ts'
import { enclosingReporter } from '../task-execution/task-run.ts'
import { stepKeys } from '../../store/journal-keys.ts'

export function sessionTasks(context: CallEnvironment): Pick<ToolContext, 'tasks'> {
  const { execution, host, signal } = context
  const tasks = host.tasks(execution)
  let started = 0
  let scheduled = 0
  let sent = 0
  let waits = 0

  const use = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    context.assertUsable(`tasks.${what}`)
    return context.endOnLoss(work)
  }
  const derivedId = (what: string): string => context.derive(what, 18).toString('base64url')
  /** Adds a key, so that a rerun of the body does not send the same thing twice. */
  const withKey = <T extends { readonly key?: string }>(how: T): T & { key: string } => ({
    ...how,
    key: how.key ?? derivedId(`task-sent:${++sent}`),
  })

  const wait = async (id: string, { timeout, until = 'end' }: WaitForTask = {}): Promise<Task> => {
    context.countEntry()
    const number = ++waits
    // A recorded instant: a rerun body waits only for the remaining time.
    const untilAt =
      timeout === undefined
        ? undefined
        : (await execution.now(stepKeys.taskWait(number))) + milliseconds(timeout, 'timeout')
    const run = enclosingReporter(execution, host)
    const who = run ? { waits: run.terms.id } : {}
    run?.update({ waits: { for: id, over: false } })
    await run?.flush()
    const how = { until, ...who, ...(untilAt === undefined ? {} : { untilAt }) }
    try {
      return await context.whileWaiting(() =>
        execution.idleWhile(async () => {
          try {
            return await tasks.wait(id, { ...how, signal })
          } catch (error) {
            const { stopped } = execution
            if (!signal.aborted || !stopped || !('cancel' in stopped)) throw error
            await tasks.cancel(id, stopped.cancel, stopped.by ?? undefined)
            return await tasks.wait(id, {})
          }
        }, true),
      )
    } finally {
      run?.update({ waits: { for: id, over: true } })
    }
  }

  const start = async (task: StartTask): Promise<Task> => {
    context.countEntry()
    enclosingReporter(execution, host)?.markStartsTasks()
    return tasks.start({ ...task, id: task.id ?? `task_${derivedId(`task:${++started}`)}` })
  }

  const schedule: Tasks['schedule'] = (task, when) => {
    context.countEntry()
    const id = task.id ?? `task_${derivedId(`task:${++started}`)}`
    return tasks.schedule({ ...task, id }, when, { place: derivedId(`schedule:${++scheduled}`) })
  }

  return {
    tasks: {
      start: (task) => use('start', () => start(task)),
      schedule: (task, when) => use('schedule', () => schedule(task, when)),
      adopt: (...given) => use('adopt', () => tasks.adopt(...given)),
      get: (id) => use('get', () => tasks.get(id)),
      result: (id) => use('result', () => tasks.result(id)),
      list: (query) => use('list', () => tasks.list(query)),
      wait: (id, how) => use('wait', () => wait(id, how)),
      signal: (id, name, value, how = {}) => use('signal', () => tasks.signal(id, name, value, withKey(how))),
      message: (id, text, how = {}) => use('message', () => tasks.message(id, text, withKey(how))),
      events: (...given) => use('events', () => tasks.events(...given)),
      messages: (...given) => use('messages', () => tasks.messages(...given)),
      cancel: (...given) => use('cancel', () => tasks.cancel(...given)),
    },
  }
}
