// Commands of background tasks and schedules.

import type { ArgumentSpec, CommandSpec } from '../command-spec.ts'

const session: ArgumentSpec = ['<session>', 'id of the session']
const task: ArgumentSpec = ['<task>', 'id of the task']
const schedule: ArgumentSpec = ['<schedule>', 'id of the schedule']

export const backgroundCommands: readonly CommandSpec[] = [
  {
    name: 'tasks',
    summary: 'List the background tasks of a session, or show one.',
    args: [session, ['[task]', 'id of the task']],
    options: [
      ['--state <state>', 'only in this state, such as open, running or failed'],
      ['--wait <duration>', 'with a task: wait so long for its end'],
    ],
    examples: ['pawl tasks chat-42', 'pawl tasks chat-42 task_1 --wait 1m', 'pawl tasks start chat-42 export_orders'],
    load: async () => (await import('../commands/tasks.ts')).tasks,
  },
  {
    name: 'tasks start',
    summary: 'Start a tool as a background task. A worker runs it.',
    args: [session, ['<tool>', 'name of the tool'], ['[input]', 'its arguments as JSON; - reads them from stdin']],
    options: [
      ['--title <text>', 'a title for people'],
      ['--id <id>', 'the same id starts it only once'],
    ],
    examples: ['pawl tasks start chat-42 export_orders \'{"customer":"ada"}\''],
    load: async () => (await import('../commands/tasks.ts')).startTask,
  },
  {
    name: 'tasks cancel',
    summary: 'Cancel a task.',
    args: [session, task],
    options: [['--reason <text>', 'recorded, and shown to the model']],
    examples: ['pawl tasks cancel chat-42 task_1'],
    load: async () => (await import('../commands/tasks.ts')).cancelTask,
  },
  {
    name: 'tasks message',
    summary: 'Send a message to a task, or the reply to its request.',
    args: [session, task, ['<text>', 'the message']],
    options: [['--reply-to <message>', 'id of the request']],
    examples: ['pawl tasks message chat-42 task_1 "only the orders of May"'],
    load: async () => (await import('../commands/tasks.ts')).messageTask,
  },
  {
    name: 'schedules',
    summary: 'List the schedules of a session, or show one with its history.',
    args: [session, ['[schedule]', 'id of the schedule']],
    examples: ['pawl schedules chat-42', 'pawl schedules run chat-42 nightly'],
    load: async () => (await import('../commands/schedules.ts')).schedules,
  },
  {
    name: 'schedules create',
    summary: 'Create a schedule that starts a tool or sends a message.',
    args: [session],
    options: [
      ['--cron <expression>', "such as '0 9 * * mon-fri'"],
      ['--at <time>', "once, such as '2026-05-01T09:00'"],
      ['--timezone <name>', 'such as Europe/Berlin'],
      ['--tool <name>', 'start this tool'],
      ['--input <json>', 'its arguments'],
      ['--message <text>', 'send this message instead'],
      ['--title <text>', 'a title for people'],
      ['--id <id>', 'id of the schedule'],
    ],
    examples: ["pawl schedules create chat-42 --cron '0 9 * * *' --timezone Europe/Berlin --tool export_orders"],
    load: async () => (await import('../commands/schedules.ts')).createSchedule,
  },
  {
    name: 'schedules pause',
    summary: 'Pause a schedule.',
    args: [session, schedule],
    examples: ['pawl schedules pause chat-42 nightly'],
    load: async () => (await import('../commands/schedules.ts')).pauseSchedule,
  },
  {
    name: 'schedules resume',
    summary: 'Resume a schedule.',
    args: [session, schedule],
    examples: ['pawl schedules resume chat-42 nightly'],
    load: async () => (await import('../commands/schedules.ts')).resumeSchedule,
  },
  {
    name: 'schedules run',
    summary: 'Start a run now, independent of the slots.',
    args: [session, schedule],
    examples: ['pawl schedules run chat-42 nightly'],
    load: async () => (await import('../commands/schedules.ts')).runSchedule,
  },
  {
    name: 'schedules cancel',
    summary: 'Remove a schedule.',
    args: [session, schedule],
    examples: ['pawl schedules cancel chat-42 nightly'],
    load: async () => (await import('../commands/schedules.ts')).cancelSchedule,
  },
]
