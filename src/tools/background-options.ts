// A tool that can run in the background (TASK-1, TASK-6): what it is there, where that differs from what it is as a call.

import type { Duration } from '../core/duration.ts'
import type { ToolContext } from './context/context.ts'
import type { OnCrash } from './hints.ts'
import { type AnySchema, type CompiledSchema, compileSchema } from './schema.ts'
import type { TaskContext, TaskSink } from './context/tasks.ts'
import { checkFields, type Timeouts, timeoutsOf, positive } from './tool-options.ts'

/** What a body may tell with ctx.emit, and what that means. */
export interface TaskEvent {
  /** What its payload looks like. */
  readonly schema?: AnySchema
  /** It ends the task, with the payload as its result or as its failure. */
  readonly terminal?: 'succeeded' | 'failed'
  /** The session hears of it (wake policy on_activity). */
  readonly wake?: boolean
}

export interface Background<Input, R> {
  /** The body in the background; without it the tool's own. */
  readonly execute?: (input: Input, ctx: ToolContext & { readonly task: TaskContext }, sink: TaskSink) => R | Promise<R>
  /**
   * When its worker is lost: it runs again (`rerunnable`), it does not, and is abandoned with what is known of it (`owner_bound`), or its body only
   * starts something elsewhere and returns a later, so that no worker owns it (`external`; lost while starting, it is abandoned). Default: as `onCrash`.
   */
  readonly recovery?: 'rerunnable' | 'owner_bound' | 'external'
  /** Clocks in the background, where none runs by default; a bare duration is the attempt's. */
  readonly timeout?: Duration | Timeouts
  /** How long it has to end by itself when it is told to stop. Default: 5 s. */
  readonly grace?: Duration
  /** A call of it that takes longer than this goes on in the background by itself. */
  readonly after?: Duration
  /** Declared events, by type. */
  readonly events?: Readonly<Record<string, TaskEvent>>
}

export interface CompiledEvent {
  readonly schema: CompiledSchema | undefined
  readonly terminal: 'succeeded' | 'failed' | undefined
  readonly wake: boolean
}

/** What differs in the background. */
export interface BackgroundTerms {
  readonly execute: ((input: never, ctx: ToolContext) => unknown) | undefined
  readonly onCrash: OnCrash | undefined
  readonly clocks: Timeouts
  readonly graceMs: number
  readonly afterMs: number | undefined
  readonly events: ReadonlyMap<string, CompiledEvent>
}

type Wrong = (why: string) => never

/** Nothing in the background runs out of time unless it is said so. */
const noAttemptClock = '3650d'
const defaultGraceMs = 5_000
const fields = ['execute', 'recovery', 'timeout', 'grace', 'after', 'events'] as const
const recoveries: Readonly<Record<string, OnCrash>> = { rerunnable: 'rerun', owner_bound: 'stop', external: 'stop' }
const eventShape = /^[a-z][a-z0-9_.-]{0,63}$/

export function backgroundOf(
  given: unknown,
  own: Duration | Timeouts | undefined,
  name: string,
  wrong: Wrong,
): BackgroundTerms | undefined {
  if (given === undefined || given === false) return undefined
  const said = (given === true ? {} : given) as Background<never, unknown>
  if (typeof said !== 'object' || said === null)
    return wrong('background is true, or { execute, recovery, timeout, grace, after, events }')
  checkFields(said, fields, 'background', wrong)
  const { execute, recovery, timeout, grace, after, events = {} } = said
  if (execute !== undefined && typeof execute !== 'function') wrong('background.execute is not a function')
  if (recovery !== undefined && !Object.hasOwn(recoveries, recovery))
    wrong(`background.recovery is ${JSON.stringify(recovery)}, not 'rerunnable', 'owner_bound' or 'external'`)
  const body = execute as ((input: never, ctx: ToolContext, sink: TaskSink) => unknown) | undefined
  return {
    execute: body && ((input, ctx) => body(input, ctx, sinkOf(ctx))),
    onCrash: recovery && recoveries[recovery],
    clocks: { attempt: noAttemptClock, ...timeoutsOf(timeout ?? own, wrong) },
    graceMs: grace === undefined ? defaultGraceMs : positive(grace, 'background.grace', wrong),
    afterMs: after === undefined ? undefined : positive(after, 'background.after', wrong),
    events: eventsOf(events, name, wrong),
  }
}

function eventsOf(
  events: Readonly<Record<string, TaskEvent>>,
  name: string,
  wrong: Wrong,
): ReadonlyMap<string, CompiledEvent> {
  return new Map(
    Object.entries(events).map(([type, event]) => {
      if (!eventShape.test(type))
        wrong(
          `background.events: the type ${JSON.stringify(type)} must be 1 to 64 of a-z 0-9 _ . - and begin with a letter`,
        )
      checkFields(event, ['schema', 'terminal', 'wake'], `background.events.${type}`, wrong)
      const { schema, terminal, wake = false } = event
      if (terminal !== undefined && terminal !== 'succeeded' && terminal !== 'failed')
        wrong(`background.events.${type}.terminal is ${JSON.stringify(terminal)}, not 'succeeded' or 'failed'`)
      return [type, { schema: schema && compileSchema(schema, `Tool '${name}', event ${type}`), terminal, wake }]
    }),
  )
}

const sinkOf = (ctx: ToolContext): TaskSink => {
  const task = ctx.task as TaskContext
  return {
    status: (text) => task.status(text),
    progress: (progress) => ctx.progress(progress),
    output: (stream, text) => ctx.output(text, stream),
    artifact: (artifact) => task.artifact(artifact),
    message: (text, data) => task.message(text, data),
  }
}
