// Rows of the error table (errors.ts) about tasks, schedules and triggers.

import type { ErrorRow } from './error-row.ts'

export const taskErrors = {
  task_invalid: {
    http: 400,
    retry: false,
    summary: 'The task, signal or message is invalid.',
    next: 'Correct the arguments. Nothing was started or recorded.',
    detailOnly: true,
  },
  task_unknown: {
    http: 404,
    retry: false,
    summary: 'The session has no task with this id.',
    next: 'Use an id from tasks.list().',
    detailOnly: true,
  },
  task_conflict: {
    http: 409,
    retry: false,
    summary: 'Another task is recorded under this id.',
    next: 'Use a new id, or start the same tool with the same input. Nothing was started.',
  },
  tasks_full: {
    http: 429,
    retry: true,
    summary: 'The session has reached its limit of open tasks.',
    next: 'Wait for one of them to end, or cancel one. Nothing was started.',
    detailOnly: true,
  },
  session_ended: {
    http: 409,
    retry: false,
    summary: 'The session has ended and starts no more work.',
    next: 'Use another session. Nothing was started.',
  },
  signal_conflict: {
    http: 409,
    retry: false,
    summary: 'Another signal or message was sent under this key.',
    next: 'Use a different key for each signal and message. Nothing was sent.',
  },
  task_over: {
    http: 409,
    retry: false,
    summary: 'The task has ended and receives no more signals or messages.',
    next: 'Read its outcome with tasks.get(id), or start another task. Nothing was recorded.',
  },
  emit_invalid: {
    http: 500,
    retry: false,
    summary: 'ctx.emit was called outside a task, or with an undeclared event.',
    next: 'Declare the type in background.events of the tool, and emit it in a task. Nothing was recorded.',
    detailOnly: true,
  },
  emit_conflict: {
    http: 500,
    retry: false,
    summary: 'Another event is recorded under this key.',
    next: 'Use a different key for each event. Nothing was recorded.',
  },
  schedule_invalid: {
    http: 400,
    retry: false,
    summary: 'The schedule is invalid.',
    next: 'Correct the schedule. Nothing was scheduled.',
    detailOnly: true,
  },
  schedule_unknown: {
    http: 404,
    retry: false,
    summary: 'The session has no schedule with this id.',
    next: 'Use an id from schedules.list().',
  },
  schedule_conflict: {
    http: 409,
    retry: false,
    summary: 'Another schedule is recorded under this id.',
    next: 'Cancel it first, or choose another id. Nothing was scheduled.',
  },
  schedule_over: {
    http: 409,
    retry: false,
    summary: 'The schedule has ended and has no further slots.',
    next: 'Run it now with schedules.runNow(id), or create a new schedule.',
  },
  schedules_full: {
    http: 429,
    retry: false,
    summary: 'The session has reached its limit of schedules.',
    next: 'Pause or cancel one of them first. Nothing was scheduled.',
  },
  trigger_invalid: {
    http: 400,
    retry: false,
    summary: 'The subscription or event is invalid.',
    next: 'Correct the arguments. Nothing was recorded.',
    detailOnly: true,
  },
  trigger_unknown: {
    http: 404,
    retry: false,
    summary: 'The session has no subscription with this id.',
    next: 'Use an id from triggers.list().',
  },
  trigger_conflict: {
    http: 409,
    retry: false,
    summary: 'Another subscription or event is recorded under this id or key.',
    next: 'Use a new id for another subscription, and a new key for another event. Nothing was recorded.',
  },
  triggers_full: {
    http: 429,
    retry: false,
    summary: 'The session has reached its limit of subscriptions.',
    next: 'Unsubscribe one of them first. Nothing was recorded.',
  },
} as const satisfies Record<string, ErrorRow>
