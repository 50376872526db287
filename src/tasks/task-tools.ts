// The model's task tools (TASK-1, TASK-8): they appear by themselves where some tool can run in the background. Ordinary tools that use ctx.tasks, so code and
// models go through the same functions.

import { PawlError } from '../core/errors.ts'
import { fail } from '../core/outcome.ts'
import { isTerminal, messageTaskName, spawnName, taskStates } from '../core/task-state.ts'
import type { Json } from '../core/value.ts'
import type { ToolContext } from '../tools/context/context.ts'
import type { JsonSchema } from '../tools/schema.ts'
import type { StartTask, Task, TaskQuery } from '../tools/context/tasks.ts'
import { toldOf } from './read-task.ts'
import { type Tool, tool } from '../tools/tool.ts'
import { cancelForm, getForm, listForm, messageForm, moveForm, spawnForm, waitForm } from './task-tool-schemas.ts'

const text = (description: string): Json => ({ type: 'string', description })
const object = (properties: { [name: string]: Json }, required: string[] = []): JsonSchema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})
const taskId = text('The id of the task')

/** What the model reads of a task: without what only programs need. */
async function shown(ctx: ToolContext, task: Task): Promise<{ [key: string]: Json }> {
  const {
    id,
    kind,
    title,
    tool: name,
    state,
    status,
    progress,
    inputRequest,
    artifacts,
    logPath,
    resultPath,
    attempt,
  } = task
  const { summary } = await ended(ctx, task)
  const said = { status, progress, input_request: inputRequest, summary }
  return {
    task_id: id,
    kind,
    title,
    tool: name,
    state,
    ...(Object.fromEntries(Object.entries(said).filter(([, value]) => value !== null)) as { [key: string]: Json }),
    ...(artifacts.length > 0 ? { artifacts: artifacts as unknown as Json } : {}),
    ...(logPath === null ? {} : { log_path: logPath }),
    ...(resultPath === null || !isTerminal(state) ? {} : { result_path: resultPath }),
    attempt,
  }
}

/** How it ended; and all that it gave, where a line is not all. */
const ended = async (ctx: ToolContext, task: Task): Promise<ReturnType<typeof toldOf>> =>
  toldOf(task, isTerminal(task.state) ? await ctx.tasks.result(task.id) : null)

async function whole(ctx: ToolContext, task: Task): Promise<{ result?: string }> {
  const { result } = await ended(ctx, task)
  return result === undefined ? {} : { result }
}

/** What the model can mend it reads; the rest is ours. */
async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof PawlError) || !mendable.has(error.code)) throw error
    throw fail(error.message, { code: error.code })
  }
}
const mendable: ReadonlySet<string> = new Set([
  'task_invalid',
  'task_unknown',
  'task_conflict',
  'tasks_full',
  'task_over',
  'schedule_invalid',
  'schedules_full',
])

const given = (value: Json | undefined): string => (typeof value === 'string' ? value.trim() : '')

const spawn = tool({
  name: spawnName,
  title: 'Run a tool in the background',
  description:
    'Start a tool as a background task and go on without waiting for it. You get a task id at once; its result arrives later as a notice of the runtime. Only tools that support background execution can be started.',
  ...spawnForm,
  input: object(
    {
      tool: text('The name of the tool to run'),
      args: { type: 'object', description: 'The arguments of that tool' },
      title: text('A short title for people'),
      schedule: {
        ...object({
          cron_expression: text('Five cron fields, for a run again and again'),
          scheduled_at: text('An RFC 3339 instant, for one run'),
          timezone: text('An IANA time zone; UTC if left out'),
        }),
        description: 'Run it later or again and again, instead of now: exactly one of cron_expression and scheduled_at',
      },
      signal_on_completion: {
        type: 'boolean',
        description: 'Whether you are told when it has ended; true if left out',
      },
    },
    ['tool', 'args'],
  ),
  onCrash: 'rerun',
  concurrency: 'parallel',
  async execute({ tool: named, args, title, schedule, signal_on_completion: signal = true }, ctx) {
    const name = given(named)
    if (name === '') throw fail('Missing required parameter: tool', { code: 'invalid_arguments' })
    if (name === spawnName) throw fail(`${spawnName} cannot target itself recursively`, { code: 'invalid_arguments' })
    const about = given(title)
    const wake = signal ? ('on_terminal' as const) : ('silent' as const)
    const ask = { tool: name, input: args, ...(about === '' ? {} : { title: about }), wake }
    if (schedule !== undefined) return told(() => scheduled(ctx, ask, schedule as Timed))
    const task = await told(() => ctx.tasks.start({ ...ask, byModel: true }))
    return {
      run_id: task.id,
      resource_id: task.id,
      task_id: task.id,
      title: task.title,
      tool: name,
      status: task.state,
      signal_on_completion: signal,
      artifact_dir: `/.background/${task.id}`,
      log_path: task.logPath,
      result_path: task.resultPath,
    }
  },
})

interface Timed {
  readonly cron_expression?: string
  readonly scheduled_at?: string
  readonly timezone?: string
}

async function scheduled(
  ctx: ToolContext,
  ask: StartTask,
  { cron_expression: cron, scheduled_at: at, timezone }: Timed,
): Promise<Json> {
  const times = { cron: given(cron), at: given(at) }
  const wrong = (why: string): never => {
    throw fail(why, { code: 'invalid_arguments' })
  }
  if (times.cron === '' && times.at === '')
    wrong('schedule must include exactly one of cron_expression (recurring) or scheduled_at (one-shot)')
  if (times.cron !== '' && times.at !== '')
    wrong('schedule must not include both cron_expression and scheduled_at; provide exactly one')
  const zone = given(timezone)
  const when = {
    ...(times.cron === '' ? { at: times.at } : { cron: times.cron }),
    ...(zone === '' ? {} : { timezone: zone }),
  }
  const { schedule, nextAt, task } = await ctx.tasks.schedule({ ...ask, byModel: true }, when)
  return {
    created: true,
    status: 'scheduled',
    title: task.title,
    tool: task.tool,
    signal_on_completion: ask.wake !== 'silent',
    schedule_id: schedule,
    schedule_type: times.cron === '' ? 'oneshot' : 'recurring',
    cron_expression: times.cron === '' ? null : times.cron,
    scheduled_at: times.at === '' ? null : times.at,
    timezone: zone === '' ? 'UTC' : zone,
    next_trigger_at: nextAt === null ? null : new Date(nextAt).toISOString(),
    enabled: nextAt !== null,
    task_id: task.id,
  }
}

const mostListed = 50

const listTasks = tool({
  name: 'list_tasks',
  title: 'List background tasks',
  description: 'List the background tasks of this conversation, the newest first.',
  ...listForm,
  input: object({
    state: {
      type: 'string',
      enum: ['open', ...taskStates],
      description: 'Only tasks in this state; open: those that have not ended',
    },
    kind: text('Only tasks of this kind'),
    after: text('The id of the last task that you saw, to go on after it'),
  }),
  async execute({ state, kind, after }, ctx) {
    const query = {
      ...(after === undefined ? {} : { after: given(after) }),
      ...(state === undefined ? {} : { state: state as NonNullable<TaskQuery['state']> }),
      ...(kind === undefined ? {} : { kind: given(kind) }),
    }
    // One more than is shown tells whether there are others.
    const found = await told(() => ctx.tasks.list({ ...query, limit: mostListed + 1 }))
    const tasks = found.slice(0, mostListed)
    return {
      tasks: await Promise.all(tasks.map((task) => shown(ctx, task))),
      count: tasks.length,
      more: found.length > tasks.length,
    }
  },
})

const getTask = tool({
  name: 'get_task',
  title: 'Look at a background task',
  description: 'Look at a background task: its state, how far it is, and the last messages it sent and got.',
  ...getForm,
  input: object({ task_id: taskId }, ['task_id']),
  execute: ({ task_id: id }, ctx) =>
    told(async () => {
      const task = await found(ctx, given(id))
      const messages = await ctx.tasks.messages(task.id, { last: 20 })
      return {
        task: await shown(ctx, task),
        ...(await whole(ctx, task)),
        messages: messages.map(({ id: message, direction, text: words, asks }) => ({
          id: message,
          direction,
          text: words,
          ...(asks ? { asks } : {}),
        })),
      }
    }),
})

async function found(ctx: ToolContext, id: string): Promise<Task> {
  const task = await ctx.tasks.get(id)
  if (!task) throw fail(`No task found with id: ${id}`, { code: 'task_unknown' })
  return task
}

const messageTask = tool({
  name: messageTaskName,
  title: 'Send a message to a background task',
  description: 'Send a message to a background task. Give in_reply_to to answer what it asked.',
  ...messageForm,
  input: object(
    { task_id: taskId, message: text('What to tell it'), in_reply_to: text('The id of the request that this answers') },
    ['task_id', 'message'],
  ),
  onCrash: 'rerun',
  concurrency: 'parallel',
  execute: ({ task_id: id, message, in_reply_to: reply }, ctx) =>
    told(async () => {
      const task = await found(ctx, given(id))
      const inReplyTo = given(reply)
      // The call's own key: sent again after a crash it is the same message.
      const sent = await ctx.tasks.message(task.id, message as string, {
        key: ctx.idempotencyKey,
        ...(inReplyTo === '' ? {} : { inReplyTo }),
      })
      return { task_id: task.id, message_id: sent.id, recorded: true }
    }),
})

const moveCall = tool({
  name: 'move_to_background',
  title: 'Move a running call to the background',
  description:
    'Move a call that is still running to the background and go on without it. Its result arrives later as a notice of the runtime.',
  ...moveForm,
  input: object({ call_id: text('The id of the call'), batch: text('The message it came with, if it has a name') }, [
    'call_id',
  ]),
  concurrency: 'parallel',
  execute: ({ call_id: id, batch }, ctx) =>
    told(async () => {
      const task = await ctx.tasks.adopt(given(id), {
        byModel: true,
        ...(batch === undefined ? {} : { batch: given(batch) }),
      })
      return task ? { task: await shown(ctx, task) } : { note: 'It has ended: its result is there.' }
    }),
})

const cancelTask = tool({
  name: 'cancel_task',
  title: 'Cancel a background task',
  description: 'Ask a background task to stop.',
  ...cancelForm,
  input: object({ task_id: taskId, reason: text('Why it is to stop') }, ['task_id']),
  concurrency: 'parallel',
  execute: ({ task_id: id, reason }, ctx) =>
    told(async () => {
      const task = await found(ctx, given(id))
      const asked = await ctx.tasks.cancel(task.id, given(reason) || 'The model cancelled it')
      const now = await found(ctx, task.id)
      return {
        task_id: task.id,
        state: now.state,
        cancel_requested: asked,
        note: asked ? 'cancellation requested' : 'task already terminal',
      }
    }),
})

const longestWait = 86_400

const waitTask = tool({
  name: 'wait_task',
  title: 'Wait for a background task',
  description: 'Wait until a background task has ended or asks for something, or until the time is over.',
  ...waitForm,
  input: object(
    {
      task_id: taskId,
      timeout_seconds: {
        type: 'integer',
        minimum: 1,
        maximum: longestWait,
        description: 'How long to wait; 300 if left out',
      },
    },
    ['task_id'],
  ),
  execute: ({ task_id: id, timeout_seconds: seconds = 300 }, ctx) =>
    told(async () => {
      const { id: known } = await found(ctx, given(id))
      const task = await ctx.tasks.wait(known, { timeout: `${Number(seconds)}s`, until: 'input' })
      const over = isTerminal(task.state) || task.state === 'awaiting_input'
      return {
        task: await shown(ctx, task),
        ...(await whole(ctx, task)),
        timed_out: !over,
        ...(over ? {} : { message: 'It has not ended yet. Wait again, or go on: you will be told when it ends.' }),
      }
    }),
})

export const taskTools: readonly Tool[] = [spawn, listTasks, getTask, messageTask, moveCall, cancelTask, waitTask]
