// The ctx of a body and its lifecycle: it can be aborted, and after the attempt has ended it records nothing more. The
// methods (context-methods.ts) are created on first use, because most bodies never use them.

import type { Execution } from '../../engine/engine.ts'
import type { SessionFiles } from '../../core/session-files-interface.ts'
import type { Json } from '../../core/tool-value.ts'
import { PawlError } from '../../core/errors.ts'
import { isThenable } from '../../core/maybe-promise.ts'
import type { App, ToolContext } from '../../tools/context/tool-context.ts'
import { defaultRetry } from '../../tools/tool-options.ts'
import type { Tool } from '../../tools/tool.ts'
import { type SearchContext, toolSearchKey } from '../../tools/tool-search.ts'
import type { AttemptControl } from '../scheduling/nested-calls.ts'
import type { CallHost } from '../ports.ts'
import type { UsedConnections } from '../authorization/used-connections.ts'
import { contextFiles } from './session-files.ts'
import { type LiveOutput, createLiveOutput } from './live-output.ts'
import type { CallEnvironment } from './context-dependencies.ts'
import { searchTools } from './tool-search.ts'
import { type ContextMethods, createContextMethods } from './context-methods.ts'

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
  #live: LiveOutput | null = null
  #files: SessionFiles | null = null
  #connections: UsedConnections | null = null
  #listeners: Set<() => void> | null = null

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
    this.ctx = new BodyContext(this, prepared)
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

  get files(): SessionFiles {
    this.#files ??= contextFiles(this)
    return this.#files
  }

  get live(): LiveOutput {
    this.#live ??= createLiveOutput(this.execution, this.host)
    return this.#live
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
    this.#live?.end()
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

  #notify(): void {
    for (const listener of this.#listeners ?? []) listener()
  }
}

/** Uses getters so that bodies can destructure ctx and use its methods alone. */
class BodyContext implements SearchContext {
  readonly tenant: string
  readonly session: string
  readonly principal: string | null
  readonly frame: string | null
  readonly batch: string
  readonly callId: string
  readonly attempt: number
  readonly maxAttempts: number
  readonly prepared: Json
  readonly #context: Context
  #made: ContextMethods | null = null

  constructor(context: Context, prepared: Json) {
    const { execution, tool } = context
    const { position, principal } = execution.request
    this.tenant = position.tenant
    this.session = position.session
    this.principal = principal
    this.frame = execution.options.frame ?? null
    this.batch = execution.options.batch ?? position.batch
    this.callId = execution.callId
    this.attempt = execution.attempt
    this.maxAttempts = (tool.retry ?? defaultRetry).attempts
    this.prepared = prepared
    this.#context = context
  }

  get #methods(): ContextMethods {
    this.#made ??= createContextMethods(this.#context)
    return this.#made
  }

  get app(): App {
    return this.#context.app as App
  }
  get signal(): AbortSignal {
    return this.#context.signal
  }
  get idempotencyKey(): string {
    return this.#methods.idempotencyKey()
  }
  get key(): ToolContext['key'] {
    return this.#methods.key
  }
  get step(): ToolContext['step'] {
    return this.#methods.step
  }
  get sleep(): ToolContext['sleep'] {
    return this.#methods.sleep
  }
  get later(): ToolContext['later'] {
    return this.#methods.later
  }
  get ask(): ToolContext['ask'] {
    return this.#methods.ask
  }
  get connection(): ToolContext['connection'] {
    return this.#methods.connection
  }
  get now(): ToolContext['now'] {
    return this.#methods.now
  }
  get random(): ToolContext['random'] {
    return this.#methods.random
  }
  get uuid(): ToolContext['uuid'] {
    return this.#methods.uuid
  }
  get run(): ToolContext['run'] {
    return this.#methods.run
  }
  get call(): ToolContext['call'] {
    return this.#methods.call
  }
  get progress(): ToolContext['progress'] {
    return this.#methods.progress
  }
  get output(): ToolContext['output'] {
    return this.#methods.output
  }
  get log(): ToolContext['log'] {
    return this.#methods.log
  }
  get attachments(): ToolContext['attachments'] {
    return this.#methods.attachments
  }
  get files(): ToolContext['files'] {
    return this.#context.files
  }
  get values(): ToolContext['values'] {
    return this.#methods.values
  }
  get secrets(): ToolContext['secrets'] {
    return this.#methods.secrets
  }
  get task(): ToolContext['task'] {
    return this.#methods.task
  }
  get tasks(): ToolContext['tasks'] {
    return this.#methods.tasks
  }
  get triggers(): ToolContext['triggers'] {
    return this.#methods.triggers
  }
  get emit(): ToolContext['emit'] {
    return this.#methods.emit
  }
  get complete(): ToolContext['complete'] {
    return this.#methods.complete
  }
  get turn(): ToolContext['turn'] {
    return this.#methods.turn
  }
  [toolSearchKey](query: string): Promise<Json> {
    return searchTools(this.#context, query)
  }
  get outputs(): ToolContext['outputs'] {
    return this.#context.host.outputs({ tenant: this.tenant, session: this.session })
  }
}
