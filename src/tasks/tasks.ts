// TASKS: work that outlives the call, the turn and the process that began it (TASK-8). Code, models and other doors come through here.

import { hash } from 'node:crypto'
import { PawlError } from '../core/errors.ts'
import { isTerminal } from '../core/task-state.ts'
import type { Guard } from '../store/store.ts'
import type { StartTask, Task, TasksOfSession, When } from '../tools/context/tasks.ts'
import { adoptTask, callMeant } from './move-to-background.ts'
import type { BackgroundHost, Owner } from './ports.ts'
import { taskName, type TaskRow } from '../store/records/task-record.ts'
import { monitorKind } from '../core/task-state.ts'
import { listTasks, readTask, resultOf } from './read-task.ts'
import type { Monitor } from './monitor-task.ts'
import { events, messages, sendMessage, sendSignal } from './signals.ts'
import { checkedId, startTask } from './start-task.ts'
import { checkCircle, untilTask } from './wait-task.ts'
import { whyOf } from './cancel-reason.ts'

/** Who starts tasks. */
export interface StartedBy {
  /** The task that a body is, if it is one. */
  readonly parent?: string
  /** The call whose body it is, as events name it. */
  readonly call?: string
  /** Whether a model that is behind it has this tool. */
  offers?(name: string): boolean
  /** What must hold for a start of its to count. */
  fence?(): readonly Guard[]
}

/** The schedules of a session, as far as tasks need them: schedules/schedules.ts implements it. */
export interface MonitoredSchedules {
  create(
    spec: Pick<StartTask, 'tool' | 'input' | 'title' | 'wake'> & When & { readonly id: string },
  ): Promise<{ id: string; nextAt: number | null }>
  cancel(id: string): Promise<boolean>
}

export interface TasksHost extends BackgroundHost {
  schedules(owner: Owner, by?: { monitor?: Monitor; fence?: (() => readonly Guard[]) | undefined }): MonitoredSchedules
}

export function openTasks(
  host: TasksHost,
  owner: Owner,
  { parent, call, offers, fence }: StartedBy = {},
): TasksOfSession {
  const { store } = host
  /** What a model does not see it cannot start either. */
  const checkOffered = ({ tool, byModel }: Pick<StartTask, 'tool' | 'byModel'>): void => {
    const name = typeof tool === 'string' ? tool.trim() : tool?.name
    if (byModel && offers && typeof name === 'string' && name !== '' && !offers(name))
      throw new PawlError('task_invalid', `Unknown tool: ${name.slice(0, 80)}`)
  }
  const found = async (id: string): Promise<Task> => {
    const task = await readTask(host, owner, id)
    if (!task) throw new PawlError('task_unknown', `The id is ${JSON.stringify(id)}.`)
    return task
  }
  const how = {
    kind: 'background_tool',
    ...(parent === undefined ? {} : { parent }),
    ...(call === undefined ? {} : { links: { call } }),
  }
  const fenced = (): { fence?: readonly Guard[] } => (fence ? { fence: fence() } : {})
  return {
    async start(spec) {
      if (typeof spec === 'object' && spec !== null) checkOffered(spec)
      const started = await startTask(
        host,
        owner,
        spec,
        fence ? { ...how, also: { guards: fence(), documents: [] } } : how,
      )
      if (!started) throw new PawlError('lease_lost')
      return found(started.id)
    },
    async schedule({ tool, input, title, wake, id, byModel }, when, { place } = {}) {
      checkOffered({ tool, ...(byModel === undefined ? {} : { byModel }) })
      if (byModel && host.tool(owner, typeof tool === 'string' ? tool : tool.name)?.internal)
        throw new PawlError('task_invalid', `Unknown tool: ${typeof tool === 'string' ? tool : tool.name}`)
      const name = checkedId(id ?? `task_${host.ids.next()}`)
      // The body that made it runs again, and it is over meanwhile: it does not come back.
      const before = place === undefined ? undefined : await store.document(taskName(owner, name))
      const made = before && (JSON.parse(before.value) as TaskRow)
      if (made?.ended && made.place === place)
        return { schedule: made.links.schedule ?? '', nextAt: null, task: await found(name) }
      const asked = { tool, input, ...(title === undefined ? {} : { title }), ...(wake === undefined ? {} : { wake }) }
      const monitor = { id: name, ...(place === undefined ? {} : { place }), ...(call === undefined ? {} : { call }) }
      const { id: schedule, nextAt } = await host.schedules(owner, { monitor, fence }).create({
        ...asked,
        ...when,
        id: scheduleOf(name),
      })
      return { schedule, nextAt, task: await found(name) }
    },
    async adopt(callId, { batch, occurrence, ...about } = {}) {
      const record = await callMeant(host, owner, callId, { batch, occurrence })
      if (!record) throw new PawlError('task_unknown', `There is no call ${JSON.stringify(callId)} on record here.`)
      return adoptTask(host, owner, record, about)
    },
    get: (id) => readTask(host, owner, id),
    result: (id) => resultOf(host, owner, id),
    list: (query) => listTasks(host, owner, query),
    async wait(id, waiting) {
      const task = await found(id)
      if (waiting.waits !== undefined) await checkCircle(store, owner, waiting.waits, id)
      return isTerminal(task.state) ? task : untilTask(host, owner, task, waiting)
    },
    async signal(id, name, value, { key } = {}) {
      return sendSignal(host, owner, await found(id), {
        name,
        value,
        ...(key === undefined ? {} : { key }),
        ...fenced(),
      })
    },
    async message(id, text, said = {}) {
      return sendMessage(host, owner, await found(id), text, { ...said, ...fenced() })
    },
    async events(id, page) {
      await found(id)
      return events(store, owner, id, page)
    },
    async messages(id, page) {
      await found(id)
      return messages(store, owner, id, page)
    },
    async cancel(id, reason = 'The task was cancelled', by) {
      const why = whyOf(host, reason, by)
      const task = await found(id)
      if (task.kind === monitorKind)
        return !isTerminal(task.state) && host.schedules(owner).cancel(task.links.schedule ?? '')
      return host.engine().cancel(task.call, why)
    },
  }
}

/** The schedule that a monitor stands for. Ids of tasks may be longer, and begin with a dot. */
const scheduleOf = (monitor: string): string =>
  monitor.length > 60 || monitor.startsWith('.') ? hash('sha256', monitor, 'base64url') : `${monitor}.s`
