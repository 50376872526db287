// The ctx of a body: its shared state, its lifecycle (it can be aborted, and it records nothing after the attempt has
// ended), and the table that composes it from the groups of methods in this folder.

import type { Execution } from '../../engine/engine.ts'
import type { Json } from '../../core/tool-value.ts'
import { isStoreOrLeaseLost, PawlError } from '../../core/errors.ts'
import { isThenable } from '../../core/maybe-promise.ts'
import type { App, ToolContext } from '../../tools/context/tool-context.ts'
import { onCrashOf } from '../../tools/tool-hints.ts'
import { defaultRetry } from '../../tools/tool-options.ts'
import type { Tool } from '../../tools/tool.ts'
import { type SearchContext, toolSearchKey } from '../../tools/tool-search.ts'
import { scope } from '../async-context.ts'
import type { UsedConnections } from '../authorization/used-connections.ts'
import type { CallHost } from '../ports.ts'
import type { AttemptControl } from '../scheduling/nested-calls.ts'
import { Replay } from './replay.ts'
import { models } from './ask-models.ts'
import { attachments } from './attachments.ts'
import type { CallEnvironment } from './call-environment.ts'
import { derivedValues } from './derived-values.ts'
import { taskEvents, triggers } from './emit-event.ts'
import { liveOutput, log } from './live-output.ts'
import { otherCalls } from './other-calls.ts'
import { sessionFiles } from './session-files.ts'
import { sessionTasks } from './session-tasks.ts'
import { steps } from './steps.ts'
import { task } from './task.ts'
import { searchTools } from './tool-search.ts'
import { traceContext } from './trace-context.ts'
import { sessionSecrets, sessionValues } from './values-and-secrets.ts'
import { waits } from './waits.ts'

/** Tools about which a warning was already logged, by logger. */
const warned = new WeakMap<object, WeakSet<Tool>>()

export class Context implements CallEnvironment {
  readonly execution: Execution
  readonly tool: Tool
  readonly host: CallHost
  readonly control: AttemptControl | null
  readonly ctx: ToolContext
  /** The value of ctx.app, once the factory has returned it. */
  app: unknown
  ended = false
  /** The arguments of the body, in recorded form. Null in a callback, which uses the recorded arguments. */
  args: string | null = null
  #abort: AbortController | null = null
  #abortReason: Error | null = null
  #connections: UsedConnections | null = null
  #listeners: Set<() => void> | null = null
  #entries = 0
  #replay: Replay | null | undefined

  constructor(
    execution: Execution,
    tool: Tool,
    host: CallHost,
    control: AttemptControl | null = null,
    prepared: Json = null,
  ) {
    this.execution = execution
    this.tool = tool
    this.host = host
    this.control = control
    this.ctx = new BodyContext(this, prepared) as unknown as ToolContext
  }

  /** Runs the function with ctx.app set. Synchronous if the app value is available. */
  runWithApp<T>(run: (ctx: ToolContext) => T): T | Promise<T> {
    const { apps } = this.host
    const app = apps === null ? undefined : apps.of(this.execution.request.position)
    if (!isThenable(app)) {
      this.app = app
      return run(this.ctx)
    }
    return (app as Promise<unknown>).then((made) => {
      // The attempt was aborted or ended while the value was created: do not start the body.
      if (this.stopRequested) throw new PawlError('attempt_over')
      this.app = made
      return run(this.ctx)
    })
  }

  /** Created on first use: most bodies never read it. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController()
    if (this.#abortReason && !this.#abort.signal.aborted) this.#abort.abort(this.#abortReason)
    return this.#abort.signal
  }

  /** Connections and secrets that the body has read. */
  get connections(): UsedConnections {
    this.#connections ??= { seen: new Map(), tokens: [] }
    return this.#connections
  }

  /** Connections and secrets that the body has read; null if it has read none. */
  get usedConnections(): UsedConnections | null {
    return this.#connections
  }

  /** Looked up when the body first reports progress, sleeps or runs a step: nothing of this attempt is recorded yet. */
  get replay(): Replay | null {
    if (this.#replay === undefined) this.#replay = Replay.of(this.execution)
    return this.#replay
  }

  /** Aborts the signal of the body. */
  abort(reason: string | Error): void {
    this.#abortReason ??= typeof reason === 'string' ? new DOMException(reason, 'AbortError') : reason
    this.#abort?.abort(this.#abortReason)
    this.#notify()
  }

  /** The attempt is over: from now on the ctx records nothing. */
  end(): void {
    this.ended = true
    this.#notify()
  }

  get stopRequested(): boolean {
    return this.ended || this.#abortReason !== null
  }

  onStopRequested(listener: () => void): () => void {
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
    return () => void this.#listeners?.delete(listener)
  }

  assertUsable(what: string): void {
    if (this.ended) throw new PawlError('attempt_over')
    const step = scope.getStore()?.step
    if (step !== undefined) throw new PawlError('step_nested', `ctx.${what} was called in step '${step}'.`)
  }

  countEntry(): void {
    const most = this.host.sizes.journal
    if (++this.#entries > most) throw new PawlError('journal_full', `The limit is ${most} entries.`)
  }

  requireRerun(what: string): void {
    if (onCrashOf(this.tool) !== 'rerun')
      throw new PawlError('wait_needs_rerun', `Tool '${this.tool.name}' used ${what}.`)
  }

  warnIfNoRerun(what: string): void {
    const { host, tool } = this
    if (onCrashOf(tool) === 'rerun') return
    const warnedTools = warned.get(host.logger) ?? new WeakSet<Tool>()
    if (warnedTools.has(tool)) return
    warned.set(host.logger, warnedTools.add(tool))
    host.logger.warn(
      `Tool '${tool.name}' uses ctx.${what} but is not rerun after a crash, so its records are never replayed. Set onCrash: 'rerun'.`,
      { tool: tool.name },
    )
  }

  async whileWaiting<T>(wait: () => Promise<T>): Promise<T> {
    this.control?.pause()
    try {
      return await wait()
    } finally {
      await this.control?.resume()
    }
  }

  async endOnLoss<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (isStoreOrLeaseLost(error)) this.execution.end(error)
      throw error
    }
  }

  derive(purpose: string, bytes: number): Buffer {
    return Buffer.from(this.execution.derive(purpose)).subarray(0, bytes)
  }

  #notify(): void {
    for (const listener of this.#listeners ?? []) listener()
  }
}

/** The group of each member of ctx. A group is created when the body first uses one of its members. */
const groups = {
  idempotencyKey: derivedValues,
  key: derivedValues,
  now: derivedValues,
  random: derivedValues,
  uuid: derivedValues,
  step: steps,
  sleep: waits,
  later: waits,
  ask: waits,
  connection: waits,
  run: otherCalls,
  call: otherCalls,
  outputs: otherCalls,
  progress: liveOutput,
  output: liveOutput,
  log,
  attachments,
  files: sessionFiles,
  values: sessionValues,
  secrets: sessionSecrets,
  task,
  tasks: sessionTasks,
  emit: taskEvents,
  triggers,
  traceparent: traceContext,
  complete: models,
  turn: models,
} satisfies { [Name in keyof ToolContext]?: (context: CallEnvironment) => Pick<ToolContext, Name> }

type Group = (context: CallEnvironment) => object

/** Its members are getters, so that bodies can destructure ctx. */
class BodyContext implements Omit<SearchContext, keyof typeof groups> {
  static {
    for (const [name, group] of Object.entries<Group>(groups))
      Object.defineProperty(this.prototype, name, {
        configurable: true,
        get(this: BodyContext): unknown {
          return (this.#membersOf(group) as Record<string, unknown>)[name]
        },
      })
  }

  readonly tenant: string
  readonly session: string
  readonly principal: string | null
  readonly frame: string | null
  readonly batch: string
  readonly batchIndex: number
  readonly callId: string
  readonly attempt: number
  readonly maxAttempts: number
  readonly prepared: Json
  readonly #context: Context
  #made: Map<Group, object> | null = null

  constructor(context: Context, prepared: Json) {
    const { execution, tool } = context
    const { position, principal } = execution.request
    this.tenant = position.tenant
    this.session = position.session
    this.principal = principal
    this.frame = execution.options.frame ?? null
    this.batch = execution.options.batch ?? position.batch
    this.batchIndex = execution.options.order ?? 0
    this.callId = execution.callId
    this.attempt = execution.attempt
    this.maxAttempts = (tool.retry ?? defaultRetry).attempts
    this.prepared = prepared
    this.#context = context
  }

  #membersOf(group: Group): object {
    this.#made ??= new Map()
    let members = this.#made.get(group)
    if (members === undefined) this.#made.set(group, (members = group(this.#context)))
    return members
  }

  get app(): App {
    return this.#context.app as App
  }
  get signal(): AbortSignal {
    return this.#context.signal
  }
  [toolSearchKey](query: string): Promise<Json> {
    return searchTools(this.#context, query)
  }
}
