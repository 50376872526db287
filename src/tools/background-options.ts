// The `background` option of a tool: how it runs as a task, where that differs from a normal call. tool() compiles it.

import { option, type OptionTable } from '../core/check-options.ts'
import { type Duration, milliseconds } from '../core/duration.ts'
import type { ToolContext } from './context/tool-context.ts'
import type { OnCrash } from './tool-hints.ts'
import { type AnySchema, type CompiledSchema, compileSchema } from './schema.ts'
import type { TaskContext, TaskSink } from './context/task-interfaces.ts'
import { timeoutOption, type Timeouts, timeoutsOf } from './tool-options.ts'

/** An event that a task body may emit with ctx.emit. */
export interface TaskEvent {
  /** Schema of the payload. */
  readonly schema?: AnySchema
  /** The event ends the task, with the payload as its result or as its failure. */
  readonly terminal?: 'succeeded' | 'failed'
  /** The event notifies the session, under the wake policy `on_activity`. Default: false. */
  readonly wake?: boolean
}

/** How a tool runs as a task, where that differs from a normal call. */
export interface Background<Input, R> {
  /** The body for background runs. Default: the tool's `execute`. */
  readonly execute?: (input: Input, ctx: ToolContext & { readonly task: TaskContext }, sink: TaskSink) => R | Promise<R>
  /**
   * Behaviour when the worker is lost. `rerunnable`: the body runs again. `owner_bound`: the task is abandoned with
   * its last known state. `external`: the body only starts a job elsewhere and returns a `later`, so no worker owns the
   * task; if the worker is lost while starting, the task is abandoned. Default: follows `onCrash`.
   */
  readonly recovery?: 'rerunnable' | 'owner_bound' | 'external'
  /** Timeouts in the background; a bare duration is the attempt timeout. Default: the tool's own `timeout`, or none. */
  readonly timeout?: Duration | Timeouts
  /** How long the body may take to stop after the signal aborts. Default: 5 s. */
  readonly grace?: Duration
  /** A call that takes longer than this moves to the background automatically. Default: never. */
  readonly after?: Duration
  /** Declared events, by type. */
  readonly events?: Readonly<Record<string, TaskEvent>>
}

export interface CompiledEvent {
  readonly schema: CompiledSchema | undefined
  readonly terminal: 'succeeded' | 'failed' | undefined
  readonly wake: boolean
}

/** The compiled `background` option. */
export interface CompiledBackground {
  readonly execute: ((input: never, ctx: ToolContext) => unknown) | undefined
  readonly onCrash: OnCrash | undefined
  readonly clocks: Timeouts
  readonly graceMs: number
  readonly afterMs: number | undefined
  readonly events: ReadonlyMap<string, CompiledEvent>
}

type Refuse = (why: string) => never

/** Background runs have no attempt timeout unless one is configured. */
const noAttemptTimeout = '3650d'
const defaultGraceMs = 5_000
const onCrashByRecovery = {
  rerunnable: 'rerun',
  owner_bound: 'stop',
  external: 'stop',
} as const
const eventTypePattern = /^[a-z][a-z0-9_.-]{0,63}$/

export const backgroundOption = option.nested({
  execute: option.func,
  recovery: option.oneOf('rerunnable', 'owner_bound', 'external'),
  timeout: timeoutOption,
  grace: option.duration,
  after: option.duration,
  events: option.recordOf(
    option.nested({
      schema: option.anything,
      terminal: option.oneOf('succeeded', 'failed'),
      wake: option.boolean,
    } satisfies OptionTable<TaskEvent>),
  ),
} satisfies OptionTable<Background<never, never>>)

export function compileBackground(
  background: boolean | Background<never, unknown> | undefined,
  toolTimeout: Duration | Timeouts | undefined,
  name: string,
  refuse: Refuse,
): CompiledBackground | undefined {
  if (background === undefined || background === false) return undefined
  const { execute, recovery, timeout, grace, after, events = {} } = background === true ? {} : background
  const body = execute as ((input: never, ctx: ToolContext, sink: TaskSink) => unknown) | undefined
  return {
    execute: body && ((input, ctx) => body(input, ctx, taskSinkFor(ctx))),
    onCrash: recovery && onCrashByRecovery[recovery],
    clocks: { attempt: noAttemptTimeout, ...timeoutsOf(timeout ?? toolTimeout) },
    graceMs: milliseconds(grace ?? defaultGraceMs, 'background.grace'),
    afterMs: after === undefined ? undefined : milliseconds(after, 'background.after'),
    events: compileEvents(events, name, refuse),
  }
}

function compileEvents(
  events: Readonly<Record<string, TaskEvent>>,
  name: string,
  refuse: Refuse,
): ReadonlyMap<string, CompiledEvent> {
  return new Map(
    Object.entries(events).map(([type, { schema, terminal, wake = false }]) => {
      if (!eventTypePattern.test(type))
        refuse(
          `background.events: the type ${JSON.stringify(type)} must be 1 to 64 of a-z 0-9 _ . - and begin with a letter`,
        )
      return [type, { schema: schema && compileSchema(schema, `Tool '${name}', event ${type}`), terminal, wake }]
    }),
  )
}

const taskSinkFor = (ctx: ToolContext): TaskSink => {
  const task = ctx.task as TaskContext
  return {
    status: (text) => task.status(text),
    progress: (progress) => ctx.progress(progress),
    output: (stream, text) => ctx.output(text, stream),
    artifact: (artifact) => task.artifact(artifact),
    message: (text, data) => task.message(text, data),
  }
}
