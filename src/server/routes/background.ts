// Routes of tasks, schedules and triggers.

import { z } from 'zod'
import {
  emittedEvent,
  recentTasks,
  schedule,
  scheduleSlot,
  signalAnswer,
  subscription,
  task,
  taskEvent,
  taskMessage,
  stoppedSchedules,
  upcomingSchedules,
} from '../schemas/background.ts'
import {
  changed,
  inSession,
  instant,
  json,
  limit,
  name,
  page,
  reason,
  text,
  waitTime,
  wholeNumber,
} from '../schemas/fields.ts'
import { route } from './route.ts'

const wake = z.enum(['silent', 'on_terminal', 'on_activity'])
const start = {
  tool: name.exactOptional(),
  input: json.exactOptional(),
  message: text.exactOptional(),
  title: text.max(512).exactOptional(),
  wake: wake.exactOptional(),
  id: name.exactOptional(),
}
const timing = {
  cron: text.max(200).exactOptional(),
  at: z.union([text.max(64), instant]).exactOptional(),
  timezone: text.max(64).exactOptional(),
}
const inTask = { ...inSession, task: name }
const ofSchedule = { ...inSession, schedule: name }
const ofTrigger = { ...inSession, trigger: name }

export const background = {
  'tasks.recent': route({
    needs: 'read',
    summary: 'Lists the newest tasks of all sessions, newest first, without arguments and results.',
    input: z.strictObject({
      before: name.exactOptional().describe('`next` of the previous page'),
      limit: limit(200).exactOptional(),
    }),
    output: recentTasks,
  }),
  'tasks.list': route({
    needs: 'read',
    summary: 'Lists the tasks of a session, newest first.',
    input: z.strictObject({
      ...inSession,
      after: name.exactOptional(),
      limit: limit(500).exactOptional(),
      state: z
        .enum(['open', 'queued', 'running', 'awaiting_input', 'succeeded', 'failed', 'cancelled', 'abandoned'])
        .exactOptional(),
      kind: name.exactOptional(),
    }),
    output: z.array(task),
  }),
  'tasks.start': route({
    needs: 'call',
    summary: 'Starts a tool as a background task. It is recorded when the response comes.',
    input: z.strictObject({
      ...inSession,
      tool: name,
      input: json.exactOptional(),
      title: text.max(512).exactOptional(),
      id: name.exactOptional(),
      wake: wake.exactOptional(),
      onEnd: z.enum(['cancel', 'abandon']).exactOptional(),
      deadline: instant.exactOptional(),
    }),
    output: task,
    idempotencyField: 'id',
  }),
  'tasks.get': route({
    needs: 'read',
    summary: 'Reads a task. With `wait` it waits so long for its end, or with `until: input` for a request.',
    input: z.strictObject({
      ...inTask,
      wait: waitTime.exactOptional(),
      until: z.enum(['end', 'input']).exactOptional(),
    }),
    output: task,
  }),
  'tasks.result': route({
    needs: 'read',
    summary: 'The result of a task as a model reads it; null until it has ended.',
    input: z.strictObject(inTask),
    output: z.strictObject({ result: z.string().nullable() }),
  }),
  'tasks.cancel': route({
    needs: 'call',
    summary: 'Cancels a task.',
    input: z.strictObject({ ...inTask, reason: reason.exactOptional() }),
    output: changed,
  }),
  'tasks.signal': route({
    needs: 'call',
    summary: 'Sends a signal to a task.',
    input: z.strictObject({ ...inTask, name, value: json.exactOptional(), key: name.exactOptional() }),
    output: signalAnswer,
    idempotencyField: 'key',
  }),
  'tasks.message': route({
    needs: 'call',
    summary: 'Sends a message to a task, or the reply to its request.',
    input: z.strictObject({
      ...inTask,
      text,
      data: json.exactOptional(),
      inReplyTo: name.exactOptional(),
      key: name.exactOptional(),
    }),
    output: taskMessage,
    idempotencyField: 'key',
  }),
  'tasks.messages': route({
    needs: 'read',
    summary: 'Lists messages to and from a task, oldest first.',
    input: z.strictObject({ ...inTask, ...page, last: limit().exactOptional() }),
    output: z.array(taskMessage),
  }),
  'tasks.events': route({
    needs: 'read',
    summary: 'Lists events that a task emitted, oldest first.',
    input: z.strictObject({ ...inTask, after: wholeNumber(0).exactOptional(), limit: limit().exactOptional() }),
    output: z.array(taskEvent),
  }),
  'schedules.upcoming': route({
    needs: 'read',
    summary: 'Lists the schedules of all sessions that have a next slot, earliest first.',
    input: z.strictObject({
      after: name.exactOptional().describe('`next` of the previous page'),
      limit: limit(200).exactOptional(),
    }),
    output: upcomingSchedules,
  }),
  'schedules.stopped': route({
    needs: 'read',
    summary: 'Lists the schedules of all sessions that are paused or have ended, ordered by id.',
    input: z.strictObject({ limit: limit(500).exactOptional() }),
    output: stoppedSchedules,
  }),
  'schedules.list': route({
    needs: 'read',
    summary: 'Lists the schedules of a session.',
    input: z.strictObject(inSession),
    output: z.array(schedule),
  }),
  'schedules.create': route({
    needs: 'call',
    summary: 'Creates a schedule that starts a tool or sends a message, by cron or at one instant.',
    input: z.strictObject({
      ...inSession,
      ...start,
      ...timing,
      catchUp: z.enum(['skip', 'once', 'all']).exactOptional(),
      cap: wholeNumber(1, 100).exactOptional(),
      overlap: z.enum(['skip', 'queue', 'parallel']).exactOptional(),
    }),
    output: schedule,
    idempotencyField: 'id',
  }),
  'schedules.get': route({
    needs: 'read',
    summary: 'Reads a schedule with its next due instants.',
    input: z.strictObject({ ...ofSchedule, count: limit().exactOptional() }),
    output: z.strictObject({ schedule, nextTimes: z.array(instant) }),
  }),
  'schedules.cancel': route({
    needs: 'call',
    summary: 'Removes a schedule.',
    input: z.strictObject(ofSchedule),
    output: changed,
  }),
  'schedules.pause': route({
    needs: 'call',
    summary: 'Pauses a schedule.',
    input: z.strictObject(ofSchedule),
    output: schedule,
  }),
  'schedules.resume': route({
    needs: 'call',
    summary: 'Resumes a schedule.',
    input: z.strictObject(ofSchedule),
    output: schedule,
  }),
  'schedules.run': route({
    needs: 'call',
    summary: 'Starts a run now, independent of the slots.',
    input: z.strictObject(ofSchedule),
    output: z.strictObject({ task: z.string().nullable() }),
  }),
  'schedules.history': route({
    needs: 'read',
    summary: 'The outcomes of the last slots, oldest first.',
    input: z.strictObject(ofSchedule),
    output: z.array(scheduleSlot),
  }),
  'triggers.list': route({
    needs: 'read',
    summary: 'Lists the subscriptions of a session.',
    input: z.strictObject(inSession),
    output: z.array(subscription),
  }),
  'triggers.subscribe': route({
    needs: 'call',
    summary: 'Starts a tool or sends a message whenever an event is emitted.',
    input: z.strictObject({ ...inSession, ...start, event: name, payloadTo: name.exactOptional() }),
    output: subscription,
    idempotencyField: 'id',
  }),
  'triggers.get': route({
    needs: 'read',
    summary: 'Reads a subscription.',
    input: z.strictObject(ofTrigger),
    output: subscription,
  }),
  'triggers.unsubscribe': route({
    needs: 'call',
    summary: 'Removes a subscription.',
    input: z.strictObject(ofTrigger),
    output: changed,
  }),
  'triggers.pause': route({
    needs: 'call',
    summary: 'Pauses a subscription.',
    input: z.strictObject(ofTrigger),
    output: subscription,
  }),
  'triggers.resume': route({
    needs: 'call',
    summary: 'Resumes a subscription.',
    input: z.strictObject(ofTrigger),
    output: subscription,
  }),
  'triggers.emit': route({
    needs: 'call',
    summary: 'Emits an event to all sessions of the tenant that subscribed to it.',
    input: z.strictObject({
      event: name,
      payload: json.exactOptional(),
      key: name,
      session: name.exactOptional(),
    }),
    output: emittedEvent,
    idempotencyField: 'key',
  }),
}
