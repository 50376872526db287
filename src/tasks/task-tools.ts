// The task tools of the model, registered automatically where some tool can run in the background. They are ordinary
// tools that use ctx.tasks, so code and models go through the same functions.

import { PawlError } from '../core/errors.ts'
import { fail } from '../core/outcome.ts'
import { isTerminal, messageTaskName, spawnName, taskStates } from '../core/task-state.ts'
import type { Json } from '../core/tool-value.ts'
import type { ToolContext } from '../tools/context/tool-context.ts'
import type { JsonSchema } from '../tools/schema.ts'
import type { StartTask, Task, TaskQuery } from '../tools/context/task-interfaces.ts'
import { modelSummary } from './read-task.ts'
import { markBuiltIn } from '../tools/tool-brand.ts'
import { type Tool, tool } from '../tools/tool.ts'
import {
  cancelSchemas,
  getSchemas,
  listSchemas,
  messageSchemas,
  moveSchemas,
  spawnSchemas,
  waitSchemas,
} from './task-tool-schemas.ts'

const text = (description: string): Json => ({ type: 'string', description })
const object = (properties: { [name: string]: Json }, required: string[] = []): JsonSchema => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})
const taskId = text('The id of the task')

/** A task as the model reads it, without the fields that only programs need. */
async function describeTask(ctx: ToolContext, task: Task): Promise<{ [key: string]: Json }> {
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
  const { summary } = await readEnd(ctx, task)
  const optional = { status, progress, input_request: inputRequest, summary }
  return {
    task_id: id,
    kind,
    title,
    tool: name,
    state,
    ...(Object.fromEntries(Object.entries(optional).filter(([, value]) => value !== null)) as { [key: string]: Json }),
    ...(artifacts.length > 0 ? { artifacts: artifacts as unknown as Json } : {}),
    ...(logPath === null ? {} : { log_path: logPath }),
    ...(resultPath === null || !isTerminal(state) ? {} : { result_path: resultPath }),
    attempt,
  }
}

/** The summary of an ended task, and the full result if the summary does not contain all of it. */
const readEnd = async (ctx: ToolContext, task: Task): Promise<ReturnType<typeof modelSummary>> =>
  modelSummary(task, isTerminal(task.state) ? await ctx.tasks.result(task.id) : null)

async function fullResult(ctx: ToolContext, task: Task): Promise<{ result?: string }> {
  const { result } = await readEnd(ctx, task)
  return result === undefined ? {} : { result }
}

/** Turns errors that the model can correct into tool failures; other errors propagate. */
async function reportToModel<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof PawlError) || !modelErrors.has(error.code)) throw error
    throw fail(error.message, { code: error.code })
  }
}
const modelErrors: ReadonlySet<string> = new Set([
  'task_invalid',
  'task_unknown',
  'task_conflict',
  'tasks_full',
  'task_over',
  'schedule_invalid',
  'schedules_full',
])

const trimmed = (value: Json | undefined): string => (typeof value === 'string' ? value.trim() : '')

const spawn = tool({
  name: spawnName,
  title: 'Run a tool in the background',
  description:
    'Start a tool as a background task and go on without waiting for it. You get a task id at once; its result arrives later as a notice of the runtime. Only tools that support background execution can be started.',
  ...spawnSchemas,
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
    const name = trimmed(named)
    if (name === '') throw fail('Missing required parameter: tool', { code: 'invalid_arguments' })
    if (name === spawnName) throw fail(`${spawnName} cannot target itself recursively`, { code: 'invalid_arguments' })
    const trimmedTitle = trimmed(title)
    const wake = signal ? ('on_terminal' as const) : ('silent' as const)
    const spec = { tool: name, input: args, ...(trimmedTitle === '' ? {} : { title: trimmedTitle }), wake }
    if (schedule !== undefined) return reportToModel(() => scheduleTask(ctx, spec, schedule as ScheduleInput))
    const task = await reportToModel(() => ctx.tasks.start({ ...spec, byModel: true }))
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

interface ScheduleInput {
  readonly cron_expression?: string
  readonly scheduled_at?: string
  readonly timezone?: string
}

async function scheduleTask(
  ctx: ToolContext,
  spec: StartTask,
  { cron_expression: cron, scheduled_at: at, timezone }: ScheduleInput,
): Promise<Json> {
  const times = { cron: trimmed(cron), at: trimmed(at) }
  const reject = (message: string): never => {
    throw fail(message, { code: 'invalid_arguments' })
  }
  if (times.cron === '' && times.at === '')
    reject('schedule must include exactly one of cron_expression (recurring) or scheduled_at (one-shot)')
  if (times.cron !== '' && times.at !== '')
    reject('schedule must not include both cron_expression and scheduled_at; provide exactly one')
  const zone = trimmed(timezone)
  const when = {
    ...(times.cron === '' ? { at: times.at } : { cron: times.cron }),
    ...(zone === '' ? {} : { timezone: zone }),
  }
  const { schedule, nextAt, task } = await ctx.tasks.schedule({ ...spec, byModel: true }, when)
  return {
    created: true,
    status: 'scheduled',
    title: task.title,
    tool: task.tool,
    signal_on_completion: spec.wake !== 'silent',
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

const maxListed = 50

const listTasks = tool({
  name: 'list_tasks',
  title: 'List background tasks',
  description: 'List the background tasks of this conversation, the newest first.',
  ...listSchemas,
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
      ...(after === undefined ? {} : { after: trimmed(after) }),
      ...(state === undefined ? {} : { state: state as NonNullable<TaskQuery['state']> }),
      ...(kind === undefined ? {} : { kind: trimmed(kind) }),
    }
    // Read one more than is shown, to know whether there are others.
    const found = await reportToModel(() => ctx.tasks.list({ ...query, limit: maxListed + 1 }))
    const tasks = found.slice(0, maxListed)
    return {
      tasks: await Promise.all(tasks.map((task) => describeTask(ctx, task))),
      count: tasks.length,
      more: found.length > tasks.length,
    }
  },
})

const getTask = tool({
  name: 'get_task',
  title: 'Look at a background task',
  description: 'Look at a background task: its state, how far it is, and the last messages it sent and got.',
  ...getSchemas,
  input: object({ task_id: taskId }, ['task_id']),
  execute: ({ task_id: id }, ctx) =>
    reportToModel(async () => {
      const task = await requireTask(ctx, trimmed(id))
      const messages = await ctx.tasks.messages(task.id, { last: 20 })
      return {
        task: await describeTask(ctx, task),
        ...(await fullResult(ctx, task)),
        messages: messages.map(({ id: message, direction, text: words, asks }) => ({
          id: message,
          direction,
          text: words,
          ...(asks ? { asks } : {}),
        })),
      }
    }),
})

async function requireTask(ctx: ToolContext, id: string): Promise<Task> {
  const task = await ctx.tasks.get(id)
  if (!task) throw fail(`No task found with id: ${id}`, { code: 'task_unknown' })
  return task
}

const messageTask = tool({
  name: messageTaskName,
  title: 'Send a message to a background task',
  description: 'Send a message to a background task. Give in_reply_to to answer what it asked.',
  ...messageSchemas,
  input: object(
    { task_id: taskId, message: text('What to tell it'), in_reply_to: text('The id of the request that this answers') },
    ['task_id', 'message'],
  ),
  onCrash: 'rerun',
  concurrency: 'parallel',
  execute: ({ task_id: id, message, in_reply_to: reply }, ctx) =>
    reportToModel(async () => {
      const task = await requireTask(ctx, trimmed(id))
      const inReplyTo = trimmed(reply)
      // Keyed by the call, so that a rerun after a crash does not send the message twice.
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
  ...moveSchemas,
  input: object({ call_id: text('The id of the call'), batch: text('The message it came with, if it has a name') }, [
    'call_id',
  ]),
  concurrency: 'parallel',
  execute: ({ call_id: id, batch }, ctx) =>
    reportToModel(async () => {
      const task = await ctx.tasks.adopt(trimmed(id), {
        byModel: true,
        ...(batch === undefined ? {} : { batch: trimmed(batch) }),
      })
      return task ? { task: await describeTask(ctx, task) } : { note: 'It has ended: its result is there.' }
    }),
})

const cancelTask = tool({
  name: 'cancel_task',
  title: 'Cancel a background task',
  description: 'Ask a background task to stop.',
  ...cancelSchemas,
  input: object({ task_id: taskId, reason: text('Why it is to stop') }, ['task_id']),
  concurrency: 'parallel',
  execute: ({ task_id: id, reason }, ctx) =>
    reportToModel(async () => {
      const task = await requireTask(ctx, trimmed(id))
      const requested = await ctx.tasks.cancel(task.id, trimmed(reason) || 'The model cancelled it')
      const now = await requireTask(ctx, task.id)
      return {
        task_id: task.id,
        state: now.state,
        cancel_requested: requested,
        note: requested ? 'cancellation requested' : 'task already terminal',
      }
    }),
})

const maxWaitSeconds = 86_400

const waitTask = tool({
  name: 'wait_task',
  title: 'Wait for a background task',
  description: 'Wait until a background task has ended or asks for something, or until the time is over.',
  ...waitSchemas,
  input: object(
    {
      task_id: taskId,
      timeout_seconds: {
        type: 'integer',
        minimum: 1,
        maximum: maxWaitSeconds,
        description: 'How long to wait; 300 if left out',
      },
    },
    ['task_id'],
  ),
  execute: ({ task_id: id, timeout_seconds: seconds = 300 }, ctx) =>
    reportToModel(async () => {
      const { id: known } = await requireTask(ctx, trimmed(id))
      const task = await ctx.tasks.wait(known, { timeout: `${Number(seconds)}s`, until: 'input' })
      const over = isTerminal(task.state) || task.state === 'awaiting_input'
      return {
        task: await describeTask(ctx, task),
        ...(await fullResult(ctx, task)),
        timed_out: !over,
        ...(over ? {} : { message: 'It has not ended yet. Wait again, or go on: you will be told when it ends.' }),
      }
    }),
})

export const taskTools: readonly Tool[] = markBuiltIn([
  spawn,
  listTasks,
  getTask,
  messageTask,
  moveCall,
  cancelTask,
  waitTask,
])
