// tool(): checks and compiles a tool definition once, so that a mistake is reported when the tool is defined and not
// during a call.

import { createHash } from 'node:crypto'
import { type Duration, milliseconds } from '../core/duration.ts'
import { option, optionProblem, type OptionTable } from '../core/check-options.ts'
import { asSentence, PawlError } from '../core/errors.ts'
import type { Failure } from '../core/outcome.ts'
import type { Json } from '../core/tool-value.ts'
import type { CallerInputOf, InputOf, OutputOf, Returned } from './body-types.ts'
import type { CancelledWait, ToolContext } from './context/tool-context.ts'
import { type Hints, hintsOption, type OnCrash } from './tool-hints.ts'
import { isBranded, brand } from './tool-brand.ts'
import type { Narrate } from './narration/narration-templates.ts'
import {
  checkClient,
  type Concurrency,
  concurrencyOf,
  concurrencyOption,
  type Defer,
  type Retry,
  retryOf,
  retryOption,
  type RetryPolicy,
  timeoutOption,
  type Timeouts,
  timeoutsOf,
  type ToolLimits,
  toolLimitsOption,
} from './tool-options.ts'
import {
  type Background,
  backgroundOption,
  compileBackground,
  type CompiledBackground,
  type CompiledEvent,
} from './background-options.ts'
import { acceptsObjects, type AnySchema, type CompiledSchema, compileSchema } from './schema.ts'

/**
 * The answer of `reconcile` about an interrupted attempt: its result, its failure, permission to rerun, or undefined
 * for unknown.
 */
export type ReconcileResult<R> =
  | { readonly value: R }
  | { readonly failure: Partial<Failure> & { message: string } }
  | { readonly rerun: true }
  | undefined

/** The return value of `prepare`: changed arguments (validated again), a payload for the body, or the result itself. */
export type Prepared =
  | { readonly input?: unknown; readonly payload?: unknown }
  | { readonly answer: unknown }
  | undefined
  | void

/** The owner of the call, for `approval` and `preview`. */
export interface ApprovalFacts {
  /** Tenant of the session. */
  readonly tenant: string
  /** Id of the session. */
  readonly session: string
  /** The person or service the call is made for. */
  readonly principal: string | null
  /** The model's id of the call. */
  readonly callId: string
}

/** What `preview` returns: a sentence, or a sentence with details. Undefined: a preview built from the arguments. */
export type PreviewGiven =
  | string
  | { readonly summary: string; readonly details?: string; readonly format?: 'text' | 'markdown' | 'diff' }
  | undefined

/** The options of tool(). */
export interface ToolDefinition<S extends AnySchema, R, O extends AnySchema = AnySchema> {
  /** Identifies the tool in records. Default: the name. Keep the id when you rename a tool. */
  readonly id?: string
  /** The name models use: 1 to 64 characters of A-Z a-z 0-9 _ -. */
  readonly name: string
  /** Title for people. Default: the name. */
  readonly title?: string
  /** Tells the model what the tool does and when to use it. */
  readonly description: string
  /** Schema of the arguments, which must be an object: Standard Schema (zod, valibot, arktype) or JSON Schema. */
  readonly input: S
  /** Schema of the result. A mismatch is an error of the tool, not of the model. */
  readonly output?: O
  /** What the tool does to the world: readOnly, destructive, idempotent, openWorld. Default: none. */
  readonly hints?: Hints
  /**
   * Whether a person must approve: always, never, or decided by a function of the final arguments that returns 'ask',
   * 'allow', 'deny', or a boolean (approval needed). It is one vote among those of the policy: any ask or deny
   * overrides an allow.
   */
  readonly approval?: 'always' | 'never' | ((input: InputOf<S>, about: ApprovalFacts) => unknown)
  /** Describes the effect of the call to the approver. Default: built from the arguments. */
  readonly preview?: (input: InputOf<S>, about: ApprovalFacts) => PreviewGiven | Promise<PreviewGiven>
  /** Attempt, idle, total and queue timeouts; a bare duration is the attempt timeout. Default: 60 s per attempt. */
  readonly timeout?: Duration | Timeouts
  /** Retry policy for retryable failures. */
  readonly retry?: Retry
  /** After a crash while the body runs: rerun or stop. Default: `rerun` if readOnly or idempotent, else `stop`. */
  readonly onCrash?: OnCrash
  /**
   * If the effect of an interrupted attempt is unknown: settle with the outcome `unknown` (the default), or ask a
   * person.
   */
  readonly onUnknown?: 'settle' | 'ask'
  /**
   * Parallel, exclusive in its session, or serialized per key. Default: parallel if readOnly, else a barrier in its
   * batch.
   */
  readonly concurrency?: 'parallel' | 'exclusive' | { readonly key: (input: InputOf<S>) => string }
  /** Limits on concurrent calls and on the rate. Default: none. */
  readonly limits?: ToolLimits
  /** Through MCP: an equal call within this time joins the earlier one, also after its result was delivered. */
  readonly dedupe?: Duration
  /**
   * Whether the schema is hidden until the model searches for the tool: never, with many tools (`auto`, the default),
   * or always.
   */
  readonly defer?: Defer
  /** Text about a call for people who follow the session. Default: a sentence built from the title. */
  readonly narrate?: Narrate<InputOf<S>>
  /** Example inputs, sent to the model if the provider supports them. */
  readonly examples?: readonly unknown[]
  /** Change it when a change to the tool gives recorded arguments a different meaning. */
  readonly version?: string
  /** Converts recorded arguments of an older version to this version. */
  readonly upgrade?: (recorded: { args: Json; version: string | undefined }) => unknown
  /** Callable by the host and by other tools, never by a model. Default: false. */
  readonly internal?: boolean
  /** Its payloads, and those of its nested calls, are encrypted at rest. Default: false. */
  readonly sensitive?: boolean
  /** Repairs argument text that is not valid JSON. Called once. */
  readonly repair?: (raw: string) => unknown
  /** Runs once before the body; its result is recorded and reused on replay. */
  readonly prepare?: (input: InputOf<S>, ctx: ToolContext) => Prepared | Promise<Prepared>
  /** For `stop` tools: looks up the effect of an interrupted attempt. Without it the outcome is `unknown`. */
  readonly reconcile?: (
    input: InputOf<S>,
    ctx: ToolContext,
  ) => ReconcileResult<NoInfer<Awaited<R>>> | Promise<ReconcileResult<NoInfer<Awaited<R>>>>
  /**
   * The call was cancelled while it waited for an external result: stop the job that has the key. May be called twice.
   */
  readonly cancel?: (wait: CancelledWait<InputOf<S>>, ctx: ToolContext) => unknown
  /**
   * The tool can run as a task, which outlives the call that started it. `true`: with the same body and default
   * options.
   */
  readonly background?: boolean | Background<InputOf<S>, NoInfer<Awaited<R>>>
  /**
   * The client runs the tool: calls are handed to it and answered with session.answer, and there is no `execute`.
   * `timeout` is the time it has to answer (default 300 s).
   */
  readonly client?: boolean
  /** The body: runs the call and returns its value, result(), a `later` or a question, or a promise of one. */
  readonly execute?: (input: InputOf<S>, ctx: ToolContext) => R
}

/** A tool needs `execute`, unless the client runs it. TypeScript names the last member in its error. */
type WithBody = { readonly client: true } | { readonly execute: object }

/** A tool made with tool(): its definition, checked and compiled. Pass it to createRuntime() or to a session. */
export interface Tool<Ask = unknown, Output = unknown> {
  /** Identifies the tool in records. */
  readonly id: string
  /** The name models use. */
  readonly name: string
  /** Title for people. */
  readonly title: string | undefined
  /** Description for the model. */
  readonly description: string
  /** Compiled schema of the arguments. */
  readonly input: CompiledSchema
  /** Compiled schema of the result, if there is one. */
  readonly output: CompiledSchema | undefined
  /** See ToolDefinition.hints. */
  readonly hints: Hints
  /** See ToolDefinition.approval. */
  readonly approval: 'always' | 'never' | ((input: never, about: ApprovalFacts) => unknown) | undefined
  /** See ToolDefinition.preview. */
  readonly preview: ((input: never, about: ApprovalFacts) => PreviewGiven | Promise<PreviewGiven>) | undefined
  /** See ToolDefinition.onUnknown. */
  readonly onUnknown: 'settle' | 'ask'
  /** Its timeouts. */
  readonly clocks: Timeouts
  /** Its retry policy; undefined if it is not retried. */
  readonly retry: RetryPolicy | undefined
  /** See ToolDefinition.onCrash; undefined if it follows the hints. */
  readonly onCrash: OnCrash | undefined
  /** See ToolDefinition.concurrency. */
  readonly concurrency: Concurrency
  /** See ToolDefinition.limits. */
  readonly limits: ToolLimits
  /** See ToolDefinition.dedupe. */
  readonly dedupeMs: number | undefined
  /** See ToolDefinition.defer. */
  readonly defer: Defer
  /** See ToolDefinition.narrate. */
  readonly narrate: Narrate<never> | undefined
  /** See ToolDefinition.examples. */
  readonly examples: readonly unknown[]
  /** See ToolDefinition.version. */
  readonly version: string | undefined
  /** See ToolDefinition.upgrade. */
  readonly upgrade: ((recorded: { args: Json; version: string | undefined }) => unknown) | undefined
  /** See ToolDefinition.internal. */
  readonly internal: boolean
  /** See ToolDefinition.sensitive. */
  readonly sensitive: boolean
  /** See ToolDefinition.repair. */
  readonly repair: ((raw: string) => unknown) | undefined
  /** See ToolDefinition.prepare. */
  readonly prepare: ((input: never, ctx: ToolContext) => unknown) | undefined
  /** See ToolDefinition.reconcile. */
  readonly reconcile: ((input: never, ctx: ToolContext) => unknown) | undefined
  /** See ToolDefinition.cancel. */
  readonly cancel: ((wait: CancelledWait<never>, ctx: ToolContext) => unknown) | undefined
  /** The client runs the tool. */
  readonly client: boolean
  /** The variant that runs in the background; undefined if the tool does not support it. */
  readonly background: Tool | undefined
  /** How long the body may take to stop after the signal aborts. */
  readonly graceMs: number
  /** A call that takes longer than this moves to the background. */
  readonly afterMs: number | undefined
  /** Events that it may emit as a task. */
  readonly events: ReadonlyMap<string, CompiledEvent>
  /** See ToolDefinition.execute. */
  readonly execute: (input: never, ctx: ToolContext) => unknown
  /**
   * Set if the tool comes from a provider. Its `hints` are the provider's; the tool's own `hints` keep only the trusted
   * ones.
   */
  readonly remote: Remote | undefined
  /** Hash of the model-visible definition (id, name, description, schemas, hints, version), to detect drift. */
  readonly fingerprint: string
  /** Types only. */
  readonly types?: { ask: Ask; output: Output }
}

export interface Remote {
  readonly provider: string
  readonly trusted: boolean
  readonly hints: Hints
}

export const toolNamePattern = /^[A-Za-z0-9_-]{1,64}$/
export const toolOptions = {
  id: option.nonEmptyString,
  name: option.required({
    expected: '1 to 64 characters of A-Z a-z 0-9 _ -',
    valid: (value) => typeof value === 'string' && toolNamePattern.test(value),
  }),
  title: option.string,
  description: option.required({
    ...option.nonEmptyString,
    expected: 'a non-empty string, because the model reads it',
  }),
  input: option.required({
    ...option.either(option.object, option.func),
    expected: "a schema, such as z.object({ … }) or { type: 'object' }",
  }),
  output: option.anything,
  hints: hintsOption,
  approval: option.either(option.oneOf('always', 'never'), option.func),
  preview: option.func,
  timeout: timeoutOption,
  retry: retryOption,
  onCrash: option.oneOf('rerun', 'stop'),
  onUnknown: option.oneOf('settle', 'ask'),
  concurrency: concurrencyOption,
  limits: toolLimitsOption,
  dedupe: option.positiveDuration,
  defer: option.oneOf('never', 'auto', 'always'),
  narrate: option.func,
  examples: option.array,
  version: option.string,
  upgrade: option.func,
  internal: option.boolean,
  sensitive: option.boolean,
  repair: option.func,
  prepare: option.func,
  reconcile: option.func,
  cancel: option.func,
  client: option.boolean,
  background: option.either(option.boolean, backgroundOption),
  execute: option.func,
} satisfies OptionTable<ToolDefinition<never, never>>

/**
 * Defines a tool: its contract for the model, how it runs, and its body. Mistakes in the definition throw
 * `tool_invalid`
 * here, not during a call.
 *
 * @example
 * const refund = tool({
 *   name: 'refund',
 *   description: 'Refund an order',
 *   input: z.object({ order: z.string(), cents: z.number() }),
 *   approval: 'always',
 *   execute: ({ order, cents }, ctx) => ctx.step('refund', () => shop.refund(order, cents, ctx.idempotencyKey)),
 * })
 */
export function tool<const S extends AnySchema, R extends Returned<O>, const O extends AnySchema = AnySchema>(
  definition: ToolDefinition<S, R, O> & WithBody,
): Tool<CallerInputOf<S>, OutputOf<Awaited<R>>> {
  const refuse = (why: string): never => {
    const { name: given } = (definition as { name?: unknown } | undefined) ?? {}
    throw new PawlError('tool_invalid', asSentence(typeof given === 'string' ? `Tool '${given}': ${why}` : why))
  }
  const problem = optionProblem(definition, toolOptions, 'tool()')
  if (problem !== undefined) refuse(problem)
  const { name, description, onCrash, approval, onUnknown = 'settle', client = false } = definition
  const hints = Object.freeze({ ...definition.hints })
  // Harmless here, but provider packages look names up in plain objects and would find the inherited property.
  if (name in Object.prototype) refuse('the name is a property of every JavaScript object; choose another one')
  const { execute = runByClient } = definition
  if (client) checkClient(definition, refuse)
  else if (!definition.execute) refuse('`execute` is missing; it must be a function')
  if (onCrash === 'rerun' && definition.reconcile)
    refuse("reconcile is never called with onCrash: 'rerun'; remove one of them")
  const input = compileSchema(definition.input, `Tool '${name}', input`)
  if (!acceptsObjects(input.json))
    refuse(
      "`input` describes no object, but a model always sends one; write z.object({ … }) or { type: 'object', properties: { … } }",
    )
  const output = definition.output && compileSchema(definition.output, `Tool '${name}', output`)
  const id = definition.id ?? name
  const { version } = definition
  const fingerprint = createHash('sha256')
    .update(JSON.stringify([id, name, description, input.json, output?.json ?? null, hints, version ?? null]))
    .digest('base64url')
  const background = compileBackground(definition.background, definition.timeout, name, refuse)
  if (client && background) refuse('background cannot be used with client: true, because the client runs the tool')
  const compiled = {
    id,
    name,
    title: definition.title,
    description,
    input,
    output,
    hints,
    approval,
    preview: definition.preview,
    onUnknown,
    clocks: timeoutsOf(definition.timeout),
    retry: retryOf(definition.retry),
    onCrash: client ? 'rerun' : onCrash,
    concurrency: concurrencyOf(definition.concurrency as never, hints),
    limits: definition.limits ?? {},
    dedupeMs: definition.dedupe === undefined ? undefined : milliseconds(definition.dedupe, 'dedupe'),
    defer: definition.defer ?? 'auto',
    narrate: definition.narrate,
    examples: definition.examples ?? [],
    version,
    upgrade: definition.upgrade,
    internal: definition.internal ?? false,
    sensitive: definition.sensitive ?? false,
    repair: definition.repair,
    prepare: definition.prepare,
    reconcile: definition.reconcile,
    cancel: definition.cancel,
    client,
    background: undefined,
    graceMs: defaultGraceMs,
    afterMs: background?.afterMs,
    events: noEvents,
    execute,
    remote: undefined,
    fingerprint,
  }
  return brand({ ...compiled, background: background && backgroundTool(compiled, background) })
}

/** How long a body may take to stop after the signal aborts. */
export const defaultGraceMs = 50
const noEvents: ReadonlyMap<string, CompiledEvent> = new Map()

/** The variant of the tool that runs as a task. */
function backgroundTool(
  base: Omit<Tool, 'types'>,
  { execute, onCrash, clocks, graceMs, events }: CompiledBackground,
): Tool {
  return brand({ ...base, execute: execute ?? base.execute, onCrash: onCrash ?? base.onCrash, clocks, graceMs, events })
}

const runByClient = (): never => {
  throw new PawlError('tool_invalid', 'The client runs this tool; it has no body here.')
}

/** Whether the value was made with tool(). A provider or plain JavaScript may pass anything. */
export const isTool = (value: unknown): value is Tool => isBranded(value)
