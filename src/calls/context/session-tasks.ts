// ctx.tasks. The id of a started task is derived from its position in the body, so a rerun finds the same task. While a
// body waits for a task it holds no slot, and cancelling the body also cancels the task it waits for.

import { milliseconds } from '../../core/duration.ts'
import { isStoreOrLeaseLost } from '../../core/errors.ts'
import type { StartTask, Task, Tasks, WaitForTask } from '../../tools/context/task-interfaces.ts'
import type { CallEnvironment, ContextRules } from './context-dependencies.ts'
import { enclosingReporter } from '../task-execution/task-run.ts'

export function contextTasks({ execution, host, signal }: CallEnvironment, rules: ContextRules): Tasks {
  const tasks = host.tasks(execution)
  let started = 0
  let scheduled = 0
  let sent = 0
  let waits = 0

  /**
   * If the store or the lease is lost, the execution ends without an outcome; the call is claimed again and asks again.
   */
  const endOnLoss = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    rules.assertUsable(`tasks.${what}`)
    try {
      return await work()
    } catch (error) {
      if (isStoreOrLeaseLost(error)) execution.end(error)
      throw error
    }
  }
  const derivedId = (what: string): string => Buffer.from(execution.derive(what)).subarray(0, 18).toString('base64url')
  /** Adds a key, so that a rerun of the body does not send the same thing twice. */
  const withKey = <T extends { readonly key?: string }>(how: T): T & { key: string } => ({
    ...how,
    key: how.key ?? derivedId(`task-sent:${++sent}`),
  })

  const wait = async (id: string, { timeout, until = 'end' }: WaitForTask = {}): Promise<Task> => {
    rules.countEntry()
    const number = ++waits
    // A recorded instant: a rerun body waits only for the remaining time.
    const untilAt =
      timeout === undefined
        ? undefined
        : (await execution.now(`task-wait:${number}`)) + milliseconds(timeout, 'timeout')
    const run = enclosingReporter(execution, host)
    const who = run ? { waits: run.terms.id } : {}
    run?.update({ waits: { for: id, over: false } })
    await run?.flush()
    const how = { until, ...who, ...(untilAt === undefined ? {} : { untilAt }) }
    try {
      return await rules.whileWaiting(() =>
        execution.idleWhile(async () => {
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
    rules.countEntry()
    enclosingReporter(execution, host)?.markStartsTasks()
    return tasks.start({ ...task, id: task.id ?? `task_${derivedId(`task:${++started}`)}` })
  }

  const schedule: Tasks['schedule'] = (task, when) => {
    rules.countEntry()
    const id = task.id ?? `task_${derivedId(`task:${++started}`)}`
    return tasks.schedule({ ...task, id }, when, { place: derivedId(`schedule:${++scheduled}`) })
  }

  return {
    start: (task) => endOnLoss('start', () => start(task)),
    schedule: (task, when) => endOnLoss('schedule', () => schedule(task, when)),
    adopt: (...given) => endOnLoss('adopt', () => tasks.adopt(...given)),
    get: (id) => endOnLoss('get', () => tasks.get(id)),
    result: (id) => endOnLoss('result', () => tasks.result(id)),
    list: (query) => endOnLoss('list', () => tasks.list(query)),
    wait: (id, how) => endOnLoss('wait', () => wait(id, how)),
    signal: (id, name, value, how = {}) => endOnLoss('signal', () => tasks.signal(id, name, value, withKey(how))),
    message: (id, text, how = {}) => endOnLoss('message', () => tasks.message(id, text, withKey(how))),
    events: (...given) => endOnLoss('events', () => tasks.events(...given)),
    messages: (...given) => endOnLoss('messages', () => tasks.messages(...given)),
    cancel: (...given) => endOnLoss('cancel', () => tasks.cancel(...given)),
  }
}
