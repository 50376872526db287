// TOOL: a described function a model may ask for. tool() checks the definition once, so that nothing about it can fail
// later, and carries its types.

import { createHash } from 'node:crypto'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Duration } from '../core/duration.ts'
import { PawlError } from '../core/errors.ts'
import type { Failure } from '../core/outcome.ts'
import type { Json, Recorded } from '../core/value.ts'
import type { AskedQuestion, CancelledWait, Later, QuestionAnswer, ToolContext } from './context/context.ts'
import { type Hints, hintsOf, type OnCrash } from './hints.ts'
import { isMade, made } from './tool-brand.ts'
import type { Narrate } from './narration/tool-narration.ts'
import {
  checkFields,
  timeoutsOf,
  concurrencyOf,
  type Concurrency,
  type Timeouts,
  type Defer,
  deferOf,
  type Retry,
  retryOf,
  type RetryPolicy,
  type ToolLimits,
  limitsOf,
} from './tool-options.ts'
import { type Background, backgroundOf, type BackgroundTerms, type CompiledEvent } from './background-options.ts'
import type { RequiredConnection, ToolResult } from './result.ts'
import { type AnySchema, type CompiledSchema, compileSchema, type TypedSchema } from './schema.ts'

/** What the body receives: the schema's output in its recorded form, on the first run as on every replay. */
export type InputOf<S> =
  S extends StandardSchemaV1<unknown, infer Output>
    ? Recorded<Output>
    : S extends TypedSchema<infer T>
      ? Recorded<T>
      : { [key: string]: Json }

/** What a caller of the tool may pass. */
export type AskOf<S> =
  S extends StandardSchemaV1<infer Input, unknown>
    ? Input
    : S extends TypedSchema<infer T>
      ? T
      : { [key: string]: Json }

/** What the outcome's value is: what `execute` returns, unwrapped and recorded. */
export type OutputOf<R> = [R] extends [void | undefined]
  ? null
  : R extends Later<infer T>
    ? Recorded<T>
    : R extends AskedQuestion
      ? QuestionAnswer
      : R extends RequiredConnection
        ? { connection_required: string }
        : R extends ToolResult<infer T>
          ? Recorded<T>
          : R extends undefined
            ? null
            : Recorded<R>

/** What `reconcile` found out about an interrupted attempt: its result, its failure, leave to run again, or nothing. */
export type ReconcileResult<R> =
  | { readonly value: R }
  | { readonly failure: Partial<Failure> & { message: string } }
  | { readonly rerun: true }
  | undefined

/** What `prepare` may say: other arguments (validated again), a payload for the body, or the answer itself. */
export type Prepared =
  | { readonly input?: unknown; readonly payload?: unknown }
  | { readonly answer: unknown }
  | undefined
  | void

/** Whose call it is, for approval and preview. */
export interface ApprovalFacts {
  readonly tenant: string
  readonly session: string
  readonly principal: string | null
  readonly callId: string
}

export type PreviewGiven =
  | string
  | { readonly summary: string; readonly details?: string; readonly format?: 'text' | 'markdown' | 'diff' }
  | undefined

export interface ToolDefinition<S extends AnySchema, R> {
  /** What records mean by it; the name if not given. A renamed tool keeps its id. */
  readonly id?: string
  readonly name: string
  readonly title?: string
  readonly description: string
  readonly input: S
  /** What the value must look like; a mismatch is the tool's fault, not the model's. */
  readonly output?: AnySchema
  readonly hints?: Hints
  /**
   * Whether a person is asked first: always, never, or by a function of the final arguments, which says 'ask', 'allow' or 'deny', or whether
   * approval is needed. One more vote beside the policy's: an ask or a deny of anybody is stronger than an allow.
   */
  readonly approval?: 'always' | 'never' | ((input: InputOf<S>, about: ApprovalFacts) => unknown)
  /** What will happen, for whoever is asked: a sentence, or more. Without it one is made of the arguments. */
  readonly preview?: (input: InputOf<S>, about: ApprovalFacts) => PreviewGiven | Promise<PreviewGiven>
  /** Attempt, idle, total and queue clocks; a bare duration is the attempt's. Default: 60 s per attempt. */
  readonly timeout?: Duration | Timeouts
  /** How often a failure that may be tried again is tried. */
  readonly retry?: Retry
  /** After a crash in mid-body: run again, or stop. Default: rerun if readOnly or idempotent, else stop. */
  readonly onCrash?: OnCrash
  /** When nobody knows what an interrupted attempt did: the outcome is `unknown` (the default), or a person is asked. */
  readonly onUnknown?: 'settle' | 'ask'
  /** Together with others, alone in its session, or one at a time per key. Default: parallel if readOnly, else a barrier in its batch. */
  readonly concurrency?: 'parallel' | 'exclusive' | { readonly key: (input: InputOf<S>) => string }
  readonly limits?: ToolLimits
  /** Whether a model is shown its schema only once it has looked for it: never, where there are many tools (`auto`, the default), or always. */
  readonly defer?: Defer
  /** What people who watch read about a call of it. Without it a sentence is made of its title. */
  readonly narrate?: Narrate<InputOf<S>>
  /** Shown to the model where the provider can. */
  readonly examples?: readonly unknown[]
  /** Changes when recorded arguments would mean something else. */
  readonly version?: string
  /** Turns recorded arguments of an older version into ones of this. */
  readonly upgrade?: (recorded: { args: Json; version: string | undefined }) => unknown
  /** Can be run by the host and by other tools, never by a model. */
  readonly internal?: boolean
  /** Its payloads are sealed at rest, and those of calls it makes. */
  readonly sensitive?: boolean
  /** Mends argument text that is not JSON, once. */
  readonly repair?: (raw: string) => unknown
  /** Runs once before the body; what it says is recorded and not asked again. */
  readonly prepare?: (input: InputOf<S>, ctx: ToolContext) => Prepared | Promise<Prepared>
  /** For `stop` tools: look up what an interrupted attempt did. Without it the outcome is `unknown`. */
  readonly reconcile?: (
    input: InputOf<S>,
    ctx: ToolContext,
  ) => ReconcileResult<NoInfer<Awaited<R>>> | Promise<ReconcileResult<NoInfer<Awaited<R>>>>
  /** A call was cancelled while it waited for the outside: stop there what the key was handed to. May be called twice. */
  readonly cancel?: (wait: CancelledWait<InputOf<S>>, ctx: ToolContext) => unknown
  /** The caller runs it: calls are handed out, and answered with session.answer. Then there is no `execute`; `timeout` is how long it has (300 s). */
  readonly client?: boolean
  /** It can run as a task, which outlives who asked for it: with its own body (`true`), or as said here. */
  readonly background?: boolean | Background<InputOf<S>, NoInfer<Awaited<R>>>
  readonly execute?: (input: InputOf<S>, ctx: ToolContext) => R
}

export interface Tool<Ask = unknown, Output = unknown> {
  readonly id: string
  readonly name: string
  readonly title: string | undefined
  readonly description: string
  readonly input: CompiledSchema
  readonly output: CompiledSchema | undefined
  readonly hints: Hints
  readonly approval: 'always' | 'never' | ((input: never, about: ApprovalFacts) => unknown) | undefined
  readonly preview: ((input: never, about: ApprovalFacts) => PreviewGiven | Promise<PreviewGiven>) | undefined
  readonly onUnknown: 'settle' | 'ask'
  readonly clocks: Timeouts
  readonly retry: RetryPolicy | undefined
  readonly onCrash: OnCrash | undefined
  readonly concurrency: Concurrency
  readonly limits: ToolLimits
  readonly defer: Defer
  readonly narrate: Narrate<never> | undefined
  readonly examples: readonly unknown[]
  readonly version: string | undefined
  readonly upgrade: ((recorded: { args: Json; version: string | undefined }) => unknown) | undefined
  readonly internal: boolean
  readonly sensitive: boolean
  readonly repair: ((raw: string) => unknown) | undefined
  readonly prepare: ((input: never, ctx: ToolContext) => unknown) | undefined
  readonly reconcile: ((input: never, ctx: ToolContext) => unknown) | undefined
  readonly cancel: ((wait: CancelledWait<never>, ctx: ToolContext) => unknown) | undefined
  /** The caller runs it. */
  readonly client: boolean
  /** The same tool as it runs in the background; undefined where it does not. */
  readonly background: Tool | undefined
  /** How long it has to end by itself when it is told to stop. */
  readonly graceMs: number
  /** A call that takes longer goes on in the background. */
  readonly afterMs: number | undefined
  /** What it may emit as a task. */
  readonly events: ReadonlyMap<string, CompiledEvent>
  readonly execute: (input: never, ctx: ToolContext) => unknown
  /** Where it comes from, when it is a provider's. The hints are the provider's own words; of those above, what it is not trusted with is gone. */
  readonly remote: Remote | undefined
  /** Of what the model is told (name, description, schema, version): changes when that does, so drift is seen. */
  readonly fingerprint: string
  /** Types only. */
  readonly types?: { ask: Ask; output: Output }
}

export interface Remote {
  readonly provider: string
  readonly trusted: boolean
  readonly hints: Hints
}

export const nameShape = /^[A-Za-z0-9_-]{1,64}$/
const fields: readonly (keyof ToolDefinition<never, never>)[] = [
  'id',
  'name',
  'title',
  'description',
  'input',
  'output',
  'hints',
  'approval',
  'preview',
  'timeout',
  'retry',
  'onCrash',
  'onUnknown',
  'concurrency',
  'limits',
  'defer',
  'narrate',
  'examples',
  'version',
  'upgrade',
  'internal',
  'sensitive',
  'repair',
  'prepare',
  'reconcile',
  'cancel',
  'client',
  'background',
  'execute',
]
const functions = ['narrate', 'preview', 'upgrade', 'repair', 'prepare', 'reconcile', 'cancel', 'execute'] as const

export function tool<const S extends AnySchema, R>(
  definition: ToolDefinition<S, R>,
): Tool<AskOf<S>, OutputOf<Awaited<R>>> {
  const { name, description, onCrash } = definition
  if (typeof name !== 'string' || !nameShape.test(name)) {
    throw new PawlError('tool_invalid', `The name ${JSON.stringify(name)} must be 1 to 64 of A-Z a-z 0-9 _ -.`)
  }
  // Harmless here, but provider packages look names up in plain objects: there it would be something else.
  if (name in Object.prototype) throw new PawlError('tool_invalid', `The name '${name}' is one that every object has.`)
  const wrong = (why: string): never => {
    throw new PawlError('tool_invalid', `Tool '${name}': ${why}.`)
  }
  checkFields(definition, fields, 'it', wrong)
  if (typeof description !== 'string' || description.trim() === '')
    wrong('it needs a description, which the model reads')
  const { client = false, execute = handedOut } = definition
  if (typeof client !== 'boolean') wrong('client is not true or false')
  if (client) checkClient(definition, wrong)
  else if (typeof definition.execute !== 'function') wrong('execute is not a function')
  for (const each of functions) {
    if (definition[each] !== undefined && typeof definition[each] !== 'function') wrong(`${each} is not a function`)
  }
  if (onCrash !== undefined && onCrash !== 'rerun' && onCrash !== 'stop')
    wrong(`onCrash is ${JSON.stringify(onCrash)}, not 'rerun' or 'stop'`)
  if (onCrash === 'rerun' && definition.reconcile)
    wrong("reconcile is for tools that stop; with onCrash: 'rerun' it would never be called")
  const { approval, onUnknown = 'settle' } = definition
  if (approval !== undefined && approval !== 'always' && approval !== 'never' && typeof approval !== 'function')
    wrong(`approval is ${JSON.stringify(approval)}, not 'always', 'never' or a function`)
  if (onUnknown !== 'settle' && onUnknown !== 'ask')
    wrong(`onUnknown is ${JSON.stringify(onUnknown)}, not 'settle' or 'ask'`)
  if (definition.sensitive !== undefined && typeof definition.sensitive !== 'boolean')
    wrong('sensitive is not true or false')
  const hints = hintsOf(definition.hints, wrong)
  const input = compileSchema(definition.input, `Tool '${name}', input`)
  const output = definition.output && compileSchema(definition.output, `Tool '${name}', output`)
  const id = definition.id ?? name
  const { version } = definition
  const fingerprint = createHash('sha256')
    .update(JSON.stringify([id, name, description, input.json, output?.json ?? null, hints, version ?? null]))
    .digest('base64url')
  const background = backgroundOf(definition.background, definition.timeout, name, wrong)
  if (client && background) wrong('background is for tools that run here, and the client runs this one')
  const own = {
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
    clocks: timeoutsOf(definition.timeout, wrong),
    retry: retryOf(definition.retry, wrong),
    onCrash: client ? 'rerun' : onCrash,
    concurrency: concurrencyOf(definition.concurrency as never, hints, wrong),
    limits: limitsOf(definition.limits, wrong),
    defer: deferOf(definition.defer, wrong),
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
  return made({ ...own, background: background && inBackground(own, background) })
}

/** How long what was told to stop has to end by itself (TIME-1). */
export const defaultGraceMs = 50
const noEvents: ReadonlyMap<string, CompiledEvent> = new Map()

/** The same tool as a task runs it. */
function inBackground(own: Omit<Tool, 'types'>, { execute, onCrash, clocks, graceMs, events }: BackgroundTerms): Tool {
  return made({ ...own, execute: execute ?? own.execute, onCrash: onCrash ?? own.onCrash, clocks, graceMs, events })
}

const handedOut = (): never => {
  throw new PawlError('tool_invalid', 'A tool of the client is run by the client.')
}

/** Nothing of it happens here. */
function checkClient(definition: object, wrong: (why: string) => never): void {
  for (const field of ['execute', 'reconcile', 'onCrash', 'onUnknown', 'cancel', 'retry'])
    if ((definition as Record<string, unknown>)[field] !== undefined)
      wrong(`${field} is for tools that run here, and the client runs this one`)
}

/** Whether tool() checked it: what plain JavaScript or a provider hands over may be anything. */
export const isTool = (value: unknown): value is Tool => isMade(value)
