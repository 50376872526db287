// Operations of tasks, schedules and triggers.

import { found, type Operation, sessionOf, waitMs, within, without } from './context.ts'

const listTasks: Operation<'tasks.list'> = (context, input) =>
  sessionOf(context, input).tasks.list(without(input, 'session'))

/** The texts of a task may contain secrets of its session only, so each row is redacted with those. */
const recentTasks: Operation<'tasks.recent'> = async (context, { limit = 50, ...page }) => {
  const { runtime, caller } = context
  const { calls, next } = await runtime.calls.recent({ ...page, tenant: caller.tenant, tasks: true, limit })
  const rows = await Promise.all(
    calls.map(async ({ tenant, session: id, callId, uid, createdAt }) => {
      const session = sessionOf(context, { session: id })
      const task = await session.tasks.get(callId)
      if (!task) return []
      const { title, tool, state, status, summary, progress, inputRequest, finishedAt } = task
      const row = { tenant, session: id, id: callId, title, tool, state, status, summary }
      const asks = inputRequest?.prompt ?? null
      return [
        await session.redact({ ...row, progress: progress && { ...progress }, asks, call: uid, createdAt, finishedAt }),
      ]
    }),
  )
  return { tasks: rows.flat(), next }
}

const upcoming: Operation<'schedules.upcoming'> = ({ runtime, caller }, input) =>
  runtime.schedules.upcoming({ ...input, tenant: caller.tenant })

const stopped: Operation<'schedules.stopped'> = ({ runtime, caller }, input) =>
  runtime.schedules.stopped({ ...input, tenant: caller.tenant })

const startTask: Operation<'tasks.start'> = (context, input) =>
  sessionOf(context, input).tasks.start(without(input, 'session'))

const getTask: Operation<'tasks.get'> = async (context, input) => {
  const { tasks } = sessionOf(context, input)
  const task = found(await tasks.get(input.task), 'task')
  if (input.wait === undefined) return task
  const ms = waitMs(input.wait)
  const waiting = tasks.wait(input.task, { timeout: ms, ...(input.until ? { until: input.until } : {}) })
  return (await within(context, ms, waiting)) ?? found(await tasks.get(input.task), 'task')
}

const taskResult: Operation<'tasks.result'> = async (context, input) => {
  const { tasks } = sessionOf(context, input)
  found(await tasks.get(input.task), 'task')
  return { result: await tasks.result(input.task) }
}

const cancelTask: Operation<'tasks.cancel'> = async (context, input) => {
  const { tasks } = sessionOf(context, input)
  found(await tasks.get(input.task), 'task')
  return { changed: await tasks.cancel(input.task, input.reason, context.caller.principal) }
}

const signal: Operation<'tasks.signal'> = (context, input) => {
  const { task, name, value, ...how } = without(input, 'session')
  return sessionOf(context, input).tasks.signal(task, name, value, how)
}

const message: Operation<'tasks.message'> = (context, input) => {
  const { task, text, ...how } = without(input, 'session')
  return sessionOf(context, input).tasks.message(task, text, how)
}

const taskMessages: Operation<'tasks.messages'> = (context, input) =>
  sessionOf(context, input).tasks.messages(input.task, without(input, 'session', 'task'))

const taskEvents: Operation<'tasks.events'> = (context, input) =>
  sessionOf(context, input).tasks.events(input.task, without(input, 'session', 'task'))

const listSchedules: Operation<'schedules.list'> = (context, input) => sessionOf(context, input).schedules.list()

const createSchedule: Operation<'schedules.create'> = (context, input) =>
  sessionOf(context, input).schedules.create(without(input, 'session'))

const getSchedule: Operation<'schedules.get'> = async (context, input) => {
  const { schedules } = sessionOf(context, input)
  const schedule = found(await schedules.get(input.schedule), 'schedule')
  return { schedule, nextTimes: await schedules.nextTimes(input.schedule, input.count) }
}

const cancelSchedule: Operation<'schedules.cancel'> = async (context, input) => ({
  changed: await sessionOf(context, input).schedules.cancel(input.schedule),
})

const pauseSchedule: Operation<'schedules.pause'> = (context, input) =>
  sessionOf(context, input).schedules.pause(input.schedule)

const resumeSchedule: Operation<'schedules.resume'> = (context, input) =>
  sessionOf(context, input).schedules.resume(input.schedule)

const runSchedule: Operation<'schedules.run'> = (context, input) =>
  sessionOf(context, input).schedules.runNow(input.schedule)

const scheduleHistory: Operation<'schedules.history'> = (context, input) =>
  sessionOf(context, input).schedules.history(input.schedule)

const listTriggers: Operation<'triggers.list'> = (context, input) => sessionOf(context, input).triggers.list()

const subscribe: Operation<'triggers.subscribe'> = (context, input) =>
  sessionOf(context, input).triggers.subscribe(without(input, 'session'))

const getTrigger: Operation<'triggers.get'> = async (context, input) =>
  found(await sessionOf(context, input).triggers.get(input.trigger), 'subscription')

const unsubscribe: Operation<'triggers.unsubscribe'> = async (context, input) => ({
  changed: await sessionOf(context, input).triggers.unsubscribe(input.trigger),
})

const pauseTrigger: Operation<'triggers.pause'> = (context, input) =>
  sessionOf(context, input).triggers.pause(input.trigger)

const resumeTrigger: Operation<'triggers.resume'> = (context, input) =>
  sessionOf(context, input).triggers.resume(input.trigger)

const emit: Operation<'triggers.emit'> = ({ runtime, caller }, { event, payload = null, ...how }) =>
  runtime.emit(event, payload, { tenant: caller.tenant, ...how })

export const background = {
  'tasks.recent': recentTasks,
  'tasks.list': listTasks,
  'tasks.start': startTask,
  'tasks.get': getTask,
  'tasks.result': taskResult,
  'tasks.cancel': cancelTask,
  'tasks.signal': signal,
  'tasks.message': message,
  'tasks.messages': taskMessages,
  'tasks.events': taskEvents,
  'schedules.upcoming': upcoming,
  'schedules.stopped': stopped,
  'schedules.list': listSchedules,
  'schedules.create': createSchedule,
  'schedules.get': getSchedule,
  'schedules.cancel': cancelSchedule,
  'schedules.pause': pauseSchedule,
  'schedules.resume': resumeSchedule,
  'schedules.run': runSchedule,
  'schedules.history': scheduleHistory,
  'triggers.list': listTriggers,
  'triggers.subscribe': subscribe,
  'triggers.get': getTrigger,
  'triggers.unsubscribe': unsubscribe,
  'triggers.pause': pauseTrigger,
  'triggers.resume': resumeTrigger,
  'triggers.emit': emit,
}
