// The tasks of one session: work that outlives the call, the turn and the process that started it. Host code, tool
// bodies and the task tools of the model all use this interface.

import { checkOptions, checkRequiredOptions, option, type OptionTable } from '../core/check-options.ts'
import { hash } from 'node:crypto'
import { PawlError } from '../core/errors.ts'
import { isTerminal, monitorKind, wakeOption } from '../core/task-state.ts'
import type { Guard } from '../store/store.ts'
import type { AdoptTask, CallAt, SessionTasks, StartTask, Task, Tasks, When } from '../tools/context/task-interfaces.ts'
import { adoptTask, findCall } from './move-to-background.ts'
import type { BackgroundHost, Owner } from './ports.ts'
import { listTasks, readTask, taskResult, taskUnknown } from './read-task.ts'
import type { Monitor } from './read-schedule-monitor.ts'
import { listTaskEvents, listMessages, sendMessage, sendSignal } from './signals.ts'
import { checkTaskId, startTask, startTaskOptions } from './start-task.ts'
import { checkDeadlock, waitForTask } from './wait-task.ts'
import { checkCancelReason } from './cancel-reason.ts'
import { collections } from '../store/collections.ts'

/** The caller that starts tasks; empty for the host program. */
export interface TaskStarter {
  /** The task that the calling body runs in. */
  readonly parent?: string
  /** The uid of the calling body's call, recorded in events. */
  readonly call?: string
  /** Whether the model behind the caller is offered this tool. */
  offers?(name: string): boolean
  /** Guards for every start: the body must still hold the lease of its call. */
  fence?(): readonly Guard[]
}

/** The part of a session's schedules that tasks use. schedules/schedules.ts implements it. */
export interface MonitoredSchedules {
  create(
    spec: Pick<StartTask, 'tool' | 'input' | 'title' | 'wake'> & When & { readonly id: string },
  ): Promise<{ id: string; nextAt: number | null }>
  cancel(id: string): Promise<boolean>
}

export interface TasksHost extends BackgroundHost {
  schedules(owner: Owner, by?: { monitor?: Monitor; fence?: (() => readonly Guard[]) | undefined }): MonitoredSchedules
}

export const whenOptions = {
  cron: option.string,
  at: option.anything,
  timezone: option.string,
} satisfies OptionTable<When>

export const adoptOptions = {
  title: option.string,
  wake: wakeOption,
  byModel: option.boolean,
  batch: option.string,
  occurrence: option.wholeNumber(0),
} satisfies OptionTable<AdoptTask & CallAt>

/** A body that waits sets the last three. */
export const waitOptions = {
  timeout: option.duration,
  until: option.oneOf('end', 'input'),
  untilAt: option.anything,
  signal: option.abortSignal,
  waits: option.string,
} satisfies OptionTable<Parameters<SessionTasks['wait']>[1]>

export const signalOptions = { key: option.identifier } satisfies OptionTable<{ key?: string }>

export const messageOptions = {
  data: option.anything,
  inReplyTo: option.string,
  key: option.identifier,
} satisfies OptionTable<Parameters<Tasks['message']>[2]>

export const eventPageOptions = {
  after: option.wholeNumber(0),
  limit: option.wholeNumber(1),
} satisfies OptionTable<Parameters<Tasks['events']>[1]>

export const messagePageOptions = {
  after: option.string,
  limit: option.wholeNumber(1),
  last: option.wholeNumber(1),
} satisfies OptionTable<Parameters<Tasks['messages']>[1]>

export function openTasks(
  host: TasksHost,
  owner: Owner,
  { parent, call, offers, fence }: TaskStarter = {},
): SessionTasks {
  const { store } = host
  /** A model cannot start a tool that it is not offered. */
  const checkOffered = ({ tool, byModel }: Pick<StartTask, 'tool' | 'byModel'>): void => {
    const name = typeof tool === 'string' ? tool.trim() : tool?.name
    if (byModel && offers && typeof name === 'string' && name !== '' && !offers(name))
      throw new PawlError('task_invalid', `Unknown tool: ${name.slice(0, 80)}`)
  }
  const requireTask = async (id: string): Promise<Task> => {
    const task = await readTask(host, owner, id)
    if (!task) throw taskUnknown(id)
    return task
  }
  const origin = {
    kind: 'background_tool',
    ...(parent === undefined ? {} : { parent }),
    ...(call === undefined ? {} : { links: { call } }),
  }
  const fenced = (): { fence?: readonly Guard[] } => (fence ? { fence: fence() } : {})
  return {
    async start(spec) {
      checkRequiredOptions(spec, startTaskOptions, 'tasks.start()', 'task_invalid')
      checkOffered(spec)
      const started = await startTask(
        host,
        owner,
        spec,
        fence ? { ...origin, also: { guards: fence(), documents: [] } } : origin,
      )
      if (!started) throw new PawlError('lease_lost')
      return requireTask(started.id)
    },
    async schedule(task, when, { place } = {}) {
      checkRequiredOptions(task, startTaskOptions, 'tasks.schedule()', 'task_invalid')
      checkRequiredOptions(when, whenOptions, 'tasks.schedule()', 'task_invalid')
      const { tool, input, title, wake, id, byModel } = task
      checkOffered({ tool, ...(byModel === undefined ? {} : { byModel }) })
      if (byModel && host.registry.tool(owner, typeof tool === 'string' ? tool : tool.name)?.internal)
        throw new PawlError('task_invalid', `Unknown tool: ${typeof tool === 'string' ? tool : tool.name}`)
      const name = checkTaskId(id ?? `task_${host.ids.next()}`)
      // A rerun of the body that created this monitor must not create it again after it has ended.
      const before = place === undefined ? undefined : await store.document(collections.task.name(owner, name))
      const existing = before && collections.task.parse(before.value)
      if (existing?.ended && existing.place === place)
        return { schedule: existing.links.schedule ?? '', nextAt: null, task: await requireTask(name) }
      const spec = { tool, input, ...(title === undefined ? {} : { title }), ...(wake === undefined ? {} : { wake }) }
      const monitor = { id: name, ...(place === undefined ? {} : { place }), ...(call === undefined ? {} : { call }) }
      const { id: schedule, nextAt } = await host.schedules(owner, { monitor, fence }).create({
        ...spec,
        ...when,
        id: monitorScheduleId(name),
      })
      return { schedule, nextAt, task: await requireTask(name) }
    },
    async adopt(callId, how = {}) {
      checkOptions(how, adoptOptions, 'tasks.adopt()', 'task_invalid')
      const { batch, occurrence, ...options } = how
      const record = await findCall(host, owner, callId, { batch, occurrence })
      if (!record)
        throw new PawlError(
          'task_unknown',
          `The session has no call with the id ${JSON.stringify(callId)}. Use the id of a call that is still running.`,
        )
      return adoptTask(host, owner, record, options)
    },
    get: (id) => readTask(host, owner, id),
    result: (id) => taskResult(host, owner, id),
    list: (query) => listTasks(host, owner, query),
    async wait(id, waiting) {
      checkOptions(waiting, waitOptions, 'tasks.wait()', 'task_invalid')
      const task = await requireTask(id)
      if (waiting.waits !== undefined) await checkDeadlock(store, owner, waiting.waits, id)
      return isTerminal(task.state) ? task : waitForTask(host, owner, task, waiting)
    },
    async signal(id, name, value, how) {
      checkOptions(how, signalOptions, 'tasks.signal()', 'task_invalid')
      const { key } = how ?? {}
      return sendSignal(host, owner, await requireTask(id), {
        name,
        value,
        ...(key === undefined ? {} : { key }),
        ...fenced(),
      })
    },
    async message(id, text, options = {}) {
      checkOptions(options, messageOptions, 'tasks.message()', 'task_invalid')
      return sendMessage(host, owner, await requireTask(id), text, { ...options, ...fenced() })
    },
    async events(id, page) {
      checkOptions(page, eventPageOptions, 'tasks.events()', 'task_invalid')
      await requireTask(id)
      return listTaskEvents(store, owner, id, page)
    },
    async messages(id, page) {
      checkOptions(page, messagePageOptions, 'tasks.messages()', 'task_invalid')
      await requireTask(id)
      return listMessages(store, owner, id, page)
    },
    async cancel(id, reason = 'The task was cancelled', by) {
      const cancellation = checkCancelReason(host, reason, by)
      const task = await requireTask(id)
      if (task.kind === monitorKind)
        return !isTerminal(task.state) && host.schedules(owner).cancel(task.links.schedule ?? '')
      return host.engine.cancel(task.call, cancellation)
    },
  }
}

/**
 * The id of a monitor's schedule. Hashed where the task id is not a valid schedule id: too long, or with a leading dot.
 */
const monitorScheduleId = (monitor: string): string =>
  monitor.length > 60 || monitor.startsWith('.') ? hash('sha256', monitor, 'base64url') : `${monitor}.s`
