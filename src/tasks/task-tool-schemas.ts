// Output schemas, examples and narrations (English and German) of the task tools in task-tools.ts. The output schemas
// allow additional properties, so results can gain fields. Narrations show the title of a task, but never its id or its
// arguments: those may be confidential.

import type { Json } from '../core/tool-value.ts'
import { taskStates } from '../core/task-state.ts'
import type { Hints } from '../tools/tool-hints.ts'
import { type Narrate, type Narration, narrate } from '../tools/narration/narration-templates.ts'
import type { JsonSchema } from '../tools/schema.ts'

interface TaskToolSchemas {
  readonly output: JsonSchema
  readonly examples: readonly { [key: string]: Json }[]
  readonly narrate: Narrate<{ readonly [key: string]: Json }>
  readonly hints: Hints
}

type Fields = { readonly [name: string]: Json }

const text = (description: string): Json => ({ type: 'string', description })
const nullableText = (description: string): Json => ({ type: ['string', 'null'], description })
const flag = (description: string): Json => ({ type: 'boolean', description })
const count = (description: string): Json => ({ type: 'integer', minimum: 0, description })

/** An object schema that allows properties beyond the listed ones. */
const openObject = (properties: Fields, required: readonly string[]): { [key: string]: Json } => ({
  type: 'object',
  properties: { ...properties },
  required: [...required],
  additionalProperties: true,
})

const state: Json = { type: 'string', enum: [...taskStates], description: 'How far it is' }

const task: { [key: string]: Json } = {
  ...openObject(
    {
      task_id: text('The id of the task'),
      kind: text('What sort of task it is'),
      title: text('What people call it'),
      tool: text('The tool that it runs'),
      state,
      status: text('What it does at the moment, in its own words'),
      progress: { type: 'object', description: 'How much of it is done' },
      input_request: { type: 'object', description: 'What it asks for; answer it with message_task' },
      summary: text('How it ended, in one line'),
      artifacts: { type: 'array', items: { type: 'object' }, description: 'Files that it has made' },
      log_path: text('The file with what it said'),
      result_path: text('The file with its result'),
      attempt: count('How many times it was begun'),
    },
    ['task_id', 'kind', 'title', 'tool', 'state', 'attempt'],
  ),
  description: 'The task as it stands',
}

const message = openObject(
  {
    id: text('The id of the message'),
    direction: { type: 'string', enum: ['in', 'out'], description: 'To the task, or of it' },
    text: text('What was said'),
    asks: flag('It waits for a reply'),
  },
  ['id', 'direction', 'text'],
)

const narration = (
  en: Narration,
  de: Narration,
  about?: (input: { readonly [key: string]: Json }) => unknown,
): TaskToolSchemas['narrate'] => narrate({ en, de }, about)

const example = 'task_V1StGXR8Z5jdHi6B'
/** For tools that change state, are not idempotent, do not destroy data and do not reach external systems. */
const changes: Hints = { readOnly: false, destructive: false, idempotent: false, openWorld: false }

export const spawnSchemas: TaskToolSchemas = {
  output: openObject(
    {
      task_id: text('The id of the task'),
      run_id: text('The same id'),
      resource_id: text('The same id'),
      title: text('What people call it'),
      tool: text('The tool that it runs'),
      status: text('How far it is; scheduled, if it runs later'),
      signal_on_completion: flag('Whether you are told when it has ended'),
      artifact_dir: text('The folder of its files'),
      log_path: nullableText('The file with what it says'),
      result_path: nullableText('The file in which its result will be'),
      created: flag('A schedule was made'),
      schedule_id: text('The id of the schedule'),
      schedule_type: { type: 'string', enum: ['oneshot', 'recurring'], description: 'Once, or again and again' },
      cron_expression: nullableText('When it runs, again and again'),
      scheduled_at: nullableText('When it runs, once'),
      timezone: text('The time zone of the schedule'),
      next_trigger_at: nullableText('When it runs next'),
      enabled: flag('Whether it will run'),
    },
    ['task_id', 'title', 'tool', 'status', 'signal_on_completion'],
  ),
  examples: [
    { tool: 'export_orders', args: { customer: 'ada' }, title: 'Export of orders' },
    { tool: 'check_stock', args: {}, schedule: { cron_expression: '0 9 * * 1-5', timezone: 'Europe/Berlin' } },
  ],
  narrate: narration(
    {
      started: 'Starting in the background: {}',
      completed: 'Started in the background: {}',
      failed: 'Could not start in the background: {}',
    },
    {
      started: 'Startet im Hintergrund: {}',
      completed: 'Im Hintergrund gestartet: {}',
      failed: 'Konnte nicht im Hintergrund gestartet werden: {}',
    },
    ({ title, tool }) => (typeof title === 'string' && title.trim() !== '' ? title : tool),
  ),
  hints: changes,
}

export const listSchemas: TaskToolSchemas = {
  output: openObject(
    {
      tasks: { type: 'array', items: task, description: 'The newest first' },
      count: count('How many are listed'),
      more: flag('There are others: go on after the last one'),
    },
    ['tasks', 'count', 'more'],
  ),
  examples: [{}, { state: 'open' }],
  narrate: narration(
    {
      started: 'Looking through the background tasks',
      completed: 'Looked through the background tasks',
      failed: 'Could not look through the background tasks',
    },
    {
      started: 'Sieht die Hintergrundaufgaben durch',
      completed: 'Hintergrundaufgaben durchgesehen',
      failed: 'Konnte die Hintergrundaufgaben nicht durchsehen',
    },
  ),
  hints: { readOnly: true },
}

export const getSchemas: TaskToolSchemas = {
  output: openObject(
    { task, messages: { type: 'array', items: message, description: 'The last ones, both ways, oldest first' } },
    ['task', 'messages'],
  ),
  examples: [{ task_id: example }],
  narrate: narration(
    {
      started: 'Looking at a background task',
      completed: 'Looked at a background task',
      failed: 'Could not look at a background task',
    },
    {
      started: 'Sieht nach einer Hintergrundaufgabe',
      completed: 'Nach einer Hintergrundaufgabe gesehen',
      failed: 'Konnte nicht nach einer Hintergrundaufgabe sehen',
    },
  ),
  hints: { readOnly: true },
}

export const messageSchemas: TaskToolSchemas = {
  output: openObject(
    {
      task_id: text('The id of the task'),
      message_id: text('The id of the message'),
      recorded: flag('It will be read'),
    },
    ['task_id', 'message_id', 'recorded'],
  ),
  examples: [
    { task_id: example, message: 'Only orders of this year, please.' },
    { task_id: example, message: 'yes', in_reply_to: 'tmsg_1' },
  ],
  narrate: narration(
    {
      started: 'Telling a background task something',
      completed: 'Told a background task something',
      failed: 'Could not reach a background task',
    },
    {
      started: 'Schreibt an eine Hintergrundaufgabe',
      completed: 'An eine Hintergrundaufgabe geschrieben',
      failed: 'Konnte eine Hintergrundaufgabe nicht erreichen',
    },
  ),
  hints: changes,
}

export const moveSchemas: TaskToolSchemas = {
  output: openObject({ task, note: text('Why there is no task') }, []),
  examples: [{ call_id: 'call_7' }],
  narrate: narration(
    {
      started: 'Moving a call to the background',
      completed: 'Moved a call to the background',
      failed: 'Could not move a call to the background',
    },
    {
      started: 'Verlegt einen Aufruf in den Hintergrund',
      completed: 'Einen Aufruf in den Hintergrund verlegt',
      failed: 'Konnte einen Aufruf nicht in den Hintergrund verlegen',
    },
  ),
  hints: { idempotent: true },
}

export const cancelSchemas: TaskToolSchemas = {
  output: openObject(
    {
      task_id: text('The id of the task'),
      state,
      cancel_requested: flag('False if it had ended already'),
      note: text('The same in words'),
    },
    ['task_id', 'state', 'cancel_requested', 'note'],
  ),
  examples: [{ task_id: example, reason: 'The customer has what they need' }],
  narrate: narration(
    {
      started: 'Cancelling a background task',
      completed: 'Asked a background task to stop',
      failed: 'Could not cancel a background task',
    },
    {
      started: 'Bricht eine Hintergrundaufgabe ab',
      completed: 'Eine Hintergrundaufgabe soll aufhören',
      failed: 'Konnte eine Hintergrundaufgabe nicht abbrechen',
    },
  ),
  hints: { idempotent: true },
}

export const waitSchemas: TaskToolSchemas = {
  output: openObject({ task, timed_out: flag('The time is over, and it goes on'), message: text('What to do then') }, [
    'task',
    'timed_out',
  ]),
  examples: [{ task_id: example }, { task_id: example, timeout_seconds: 60 }],
  narrate: narration(
    {
      started: 'Waiting for a background task',
      completed: 'Waited for a background task',
      failed: 'Could not wait for a background task',
    },
    {
      started: 'Wartet auf eine Hintergrundaufgabe',
      completed: 'Auf eine Hintergrundaufgabe gewartet',
      failed: 'Konnte nicht auf eine Hintergrundaufgabe warten',
    },
  ),
  hints: { readOnly: true },
}
