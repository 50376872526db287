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
} as const satisfies Record<string, ErrorRow>
