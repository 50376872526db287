// What a body is handed: ctx, on whatever engine runs the call, and its life: it can be aborted, and once the attempt is over it records
// nothing more. What can be done with it is in context-methods.ts, made when a body first asks for any of it: most bodies never do.

import type { Execution } from '../../engine/engine.ts'
import type { SessionFiles } from '../../core/session-files.ts'
import type { Json } from '../../core/value.ts'
import { PawlError } from '../../core/errors.ts'
import { isThenable } from '../../core/maybe-promise.ts'
import type { App, ToolContext } from '../../tools/context/context.ts'
import { defaultRetry } from '../../tools/tool-options.ts'
import type { Tool } from '../../tools/tool.ts'
import { type SearchContext, searching } from '../../tools/tool-search.ts'
import type { Pace } from '../scheduling/nested-calls.ts'
import type { CallHost } from '../ports.ts'
import type { Connections } from '../authorization/known-connections.ts'
import { filesInBody } from './files.ts'
import { type Live, liveOf } from './live-output.ts'
import type { Around } from './call-environment.ts'
import { searchTools } from './tool-search.ts'
import { type Verbs, verbsOf } from './context-methods.ts'

export class Context implements Around {
  readonly execution: Execution
  readonly tool: Tool
  readonly host: CallHost
  readonly pace: Pace | null
  readonly ctx: ToolContext
  /** What the host hands to tools, once it is there. */
  app: unknown
  over = false
  /** The arguments it runs with, recorded form; those on record where it is none of a body. */
  args: string | null = null
  #abort: AbortController | null = null
  #abortedFor: Error | null = null
  #live: Live | null = null
  #files: SessionFiles | null = null
  #connections: Connections | null = null
  #listeners: Set<() => void> | null = null

  constructor(execution: Execution, tool: Tool, host: CallHost, pace: Pace | null = null, prepared: Json = null) {
    this.execution = execution
    this.tool = tool
    this.host = host
    this.pace = pace
    this.ctx = new BodyContext(this, prepared)
  }

  /** Runs it with what the host hands to tools: at once, if that is there. */
  handed<T>(run: (ctx: ToolContext) => T): T | Promise<T> {
    const { apps } = this.host
    const app = apps === null ? undefined : apps.of(this.execution.request.position)
    if (!isThenable(app)) {
      this.app = app
      return run(this.ctx)
    }
    return (app as Promise<unknown>).then((made) => {
      // Nobody wants it any more: then it does not begin.
      if (this.unwanted) throw new PawlError('attempt_over')
      this.app = made
      return run(this.ctx)
    })
  }

  /** Made when somebody asks for it: most bodies never look. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController()
    if (this.#abortedFor && !this.#abort.signal.aborted) this.#abort.abort(this.#abortedFor)
    return this.#abort.signal
  }

  /** What it was told of connections. */
  get connections(): Connections {
    this.#connections ??= { seen: new Map(), tokens: [] }
    return this.#connections
  }

  /** The same, if it was told anything. */
  get told(): Connections | null {
    return this.#connections
  }

  get files(): SessionFiles {
    this.#files ??= filesInBody(this)
    return this.#files
  }

  get live(): Live {
    this.#live ??= liveOf(this.execution, this.host)
    return this.#live
  }

  /** Tells the body that its work is no longer wanted. */
  abort(reason: string | Error): void {
    this.#abortedFor ??= typeof reason === 'string' ? new DOMException(reason, 'AbortError') : reason
    this.#abort?.abort(this.#abortedFor)
    this.#tell()
  }

  /** The attempt is over: the ctx records nothing more. */
  end(): void {
    this.over = true
    this.#live?.end()
    this.#tell()
  }

  get unwanted(): boolean {
    return this.over || this.#abortedFor !== null
  }

  onUnwanted(listener: () => void): () => void {
    this.#listeners ??= new Set()
    this.#listeners.add(listener)
    return () => void this.#listeners?.delete(listener)
  }

  #tell(): void {
    for (const listener of this.#listeners ?? []) listener()
  }
}

/** Getters, so that what they give can be taken out of ctx and used alone. */
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
  #made: Verbs | null = null

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

  get #verbs(): Verbs {
    this.#made ??= verbsOf(this.#context)
    return this.#made
  }

  get app(): App {
    return this.#context.app as App
  }
  get signal(): AbortSignal {
    return this.#context.signal
  }
  get idempotencyKey(): string {
    return this.#verbs.idempotencyKey()
  }
  get key(): ToolContext['key'] {
    return this.#verbs.key
  }
  get step(): ToolContext['step'] {
    return this.#verbs.step
  }
  get sleep(): ToolContext['sleep'] {
    return this.#verbs.sleep
  }
  get later(): ToolContext['later'] {
    return this.#verbs.later
  }
  get ask(): ToolContext['ask'] {
    return this.#verbs.ask
  }
  get connection(): ToolContext['connection'] {
    return this.#verbs.connection
  }
  get now(): ToolContext['now'] {
    return this.#verbs.now
  }
  get random(): ToolContext['random'] {
    return this.#verbs.random
  }
  get uuid(): ToolContext['uuid'] {
    return this.#verbs.uuid
  }
  get run(): ToolContext['run'] {
    return this.#verbs.run
  }
  get call(): ToolContext['call'] {
    return this.#verbs.call
  }
  get progress(): ToolContext['progress'] {
    return this.#verbs.progress
  }
  get output(): ToolContext['output'] {
    return this.#verbs.output
  }
  get log(): ToolContext['log'] {
    return this.#verbs.log
  }
  get attachments(): ToolContext['attachments'] {
    return this.#verbs.attachments
  }
  get files(): ToolContext['files'] {
    return this.#context.files
  }
  get values(): ToolContext['values'] {
    return this.#verbs.values
  }
  get secrets(): ToolContext['secrets'] {
    return this.#verbs.secrets
  }
  get task(): ToolContext['task'] {
    return this.#verbs.task
  }
  get tasks(): ToolContext['tasks'] {
    return this.#verbs.tasks
  }
  get triggers(): ToolContext['triggers'] {
    return this.#verbs.triggers
  }
  get emit(): ToolContext['emit'] {
    return this.#verbs.emit
  }
  get complete(): ToolContext['complete'] {
    return this.#verbs.complete
  }
  get turn(): ToolContext['turn'] {
    return this.#verbs.turn
  }
  [searching](query: string): Promise<Json> {
    return searchTools(this.#context, query)
  }
  get outputs(): ToolContext['outputs'] {
    return this.#context.host.outputs({ tenant: this.tenant, session: this.session })
  }
}
