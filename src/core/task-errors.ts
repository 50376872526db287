// WORDS: what Pawl throws at a caller about tasks and schedules. A part of the table in errors.ts.

import type { ErrorRow } from './error-row.ts'

export const backgroundErrors = {
  task_invalid: {
    http: 400,
    retry: false,
    says: 'The task, signal or message is not valid.',
    next: 'Correct what the message names; nothing was started or recorded.',
  },
  task_unknown: {
    http: 404,
    retry: false,
    says: 'No task of this session has this id.',
    next: 'List the tasks of the session with tasks.list(), and use an id from there.',
  },
  task_conflict: {
    http: 409,
    retry: false,
    says: 'Another task is on record under this id.',
    next: 'Start it under a new id, or ask for the same tool with the same input. Nothing was started.',
  },
  tasks_full: {
    http: 429,
    retry: true,
    says: 'As many tasks as may be are open in this session.',
    next: 'Wait for one of them to end, or cancel one. Nothing was started.',
  },
  session_ended: {
    http: 409,
    retry: false,
    says: 'The session has ended: no task is started in it any more.',
    next: 'Start it in another session. Nothing was started.',
  },
  signal_conflict: {
    http: 409,
    retry: false,
    says: 'Another signal or message was sent under this key.',
    next: 'Give each its own key. Nothing was sent.',
  },
  task_over: {
    http: 409,
    retry: false,
    says: 'The task has ended: it hears no signal and no message any more.',
    next: 'Read its outcome with tasks.get(id), or start another one. Nothing was recorded.',
  },
  emit_invalid: {
    http: 500,
    retry: false,
    says: 'ctx.emit tells declared events of a task, and this is none.',
    next: "Declare the type in the tool's background.events, and emit it in a task. Nothing was recorded.",
  },
  emit_conflict: {
    http: 500,
    retry: false,
    says: 'Another event is on record under this key.',
    next: 'Give each event a key of its own. Nothing was recorded.',
  },
  schedule_invalid: {
    http: 400,
    retry: false,
    says: 'The schedule is not valid.',
    next: 'Correct what the message names; nothing was scheduled.',
  },
  schedule_unknown: {
    http: 404,
    retry: false,
    says: 'No schedule of this session has this id.',
    next: 'List the schedules of the session with schedules.list(), and use an id from there.',
  },
  schedule_conflict: {
    http: 409,
    retry: false,
    says: 'Another schedule is on record under this id.',
    next: 'Cancel that one first, or choose another id. Nothing was scheduled.',
  },
  schedule_over: {
    http: 409,
    retry: false,
    says: 'The schedule has ended: no slot of it will come.',
    next: 'Run it now with schedules.runNow(id), or make a new one.',
  },
  schedules_full: {
    http: 429,
    retry: false,
    says: 'As many schedules as may be are there in this session.',
    next: 'Pause or cancel one of them first. Nothing was scheduled.',
  },
  trigger_invalid: {
    http: 400,
    retry: false,
    says: 'The subscription or the event is not valid.',
    next: 'Correct what the message names; nothing was recorded.',
  },
  trigger_unknown: {
    http: 404,
    retry: false,
    says: 'No subscription of this session has this id.',
    next: 'List the subscriptions of the session with triggers.list(), and use an id from there.',
  },
  trigger_conflict: {
    http: 409,
    retry: false,
    says: 'Something else is on record under this id or key.',
    next: 'Use a new id for another subscription, and a new key for another event. Nothing was recorded.',
  },
  triggers_full: {
    http: 429,
    retry: false,
    says: 'As many subscriptions as may be are there in this session.',
    next: 'Unsubscribe one of them first. Nothing was recorded.',
  },
} as const satisfies Record<string, ErrorRow>
