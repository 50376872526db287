// The options of createRuntime() and the interface of the runtime it returns.

import { checkRequiredOptions, option, type OptionTable } from './core/check-options.ts'
import type { DecisionLinks } from './access/decision-links.ts'
import type { Tokens } from './access/tokens.ts'
import { type FilesSettings, filesOption } from './storage/files/session-files.ts'
import { type ValueQuotas, valuesOption } from './storage/values/key-value-storage.ts'
import type { AppFactory } from './calls/context/app-context.ts'
import type { Announce } from './calls/deliver-wait-announcement.ts'
import { type OutputBudget, outputOption } from './calls/output/truncate.ts'
import type { ExplainCall, Explained } from './calls/authorization/explain-decision.ts'
import { type Hook, hooksOption } from './calls/admission/hook-definition.ts'
import { type Limits, limitsOption } from './calls/scheduling/limits.ts'
import type { DiagnosedCall, Diagnostics } from './calls/record-diagnostics.ts'
import type { ResolveAnswer } from './engine/engine.ts'
import type { EmittedEvent } from './schedules/emit-event.ts'
import { type ScheduleLimits, scheduleLimitsOption } from './schedules/schedule-limits.ts'
import type { Emit } from './schedules/triggers.ts'
import type { RuntimeSchedules } from './schedules/schedules-of-all-sessions.ts'
import type { ReadFeed, RecentEventPage } from './feed/event-feed.ts'
import type { RecentEventsQuery, RuntimeReadOptions } from './feed/read-options.ts'
import type { HealthReport } from './maintenance/health.ts'
import type { Erased, EraseResult, EraseOptions, PruneOptions } from './maintenance/retention.ts'
import type { Duration } from './core/duration.ts'
import { PawlError } from './core/errors.ts'
import type { Ids } from './core/ids.ts'
import type { Quarantine } from './approvals/definition-pins.ts'
import { type Secrets, secretsOption } from './security/redact.ts'
import { type Sizes, sizesOption } from './core/size-limits.ts'
import type { Clock } from './core/clock.ts'
import type { Observer } from './core/observer.ts'
import { type Capability, capabilitiesOption } from './sessions/define-capability.ts'
import { type Model, checkModel } from './models/model.ts'
import type { Compaction, Frame } from './models/turn-interface.ts'
import type { Budgets } from './policy/budgets.ts'
import type { PolicyRule, PolicyRulesQuery } from './policy/list-rules.ts'
import type { PolicyDefinition } from './policy/rules.ts'
import type { Connections } from './approvals/account-connections.ts'
import type { DecideAnswer, EndedItem } from './approvals/decide.ts'
import type { InboxItem, InboxQuery } from './approvals/inbox.ts'
import type { RememberedRules } from './approvals/remembered-rules.ts'
import type { InboxDecision } from './approvals/decision-input.ts'
import type { RuntimeSessions } from './sessions/list-sessions.ts'
import type { RuntimeCalls } from './sessions/runtime-calls.ts'
import type { Session } from './sessions/session.ts'
import type { SessionOptions } from './sessions/session-options.ts'
import { type KeyOptions, keysOption } from './store/check-host-secrets.ts'
import { type PgPool, storeOption } from './store/open-store.ts'
import type { Store } from './store/store.ts'
import type { Logger } from './tools/context/tool-context.ts'
import type { Provider } from './tools/tool-provider.ts'
import { checkProvider } from './tools/tool-provider-connection.ts'
import { frameOptions } from './turns/turn-request.ts'
import { wakeOption } from './schedules/wake-session.ts'
import type { RuntimeTools } from './tools/registry.ts'
import type { Tool } from './tools/tool.ts'
import { toolsOption } from './tools/toolset.ts'
import { type ToolSearch, toolSearchOption } from './tools/tool-search.ts'
import type { Answer } from './store/records/wait-resolution.ts'

/** The options of createRuntime(). Only `store` is required. */
export interface RuntimeOptions {
  /**
   * `'memory:'`, `'sqlite:agent.db'`, `'postgres://user:password@host/database'`, a `pg` Pool (used with its own
   * settings), or a store object.
   */
  readonly store: string | Store | PgPool
  /** The tools of this runtime. */
  readonly tools?: readonly Tool[]
  /**
   * Creates `ctx.app` for tool bodies, once per session. It is a function so that a worker that resumes a call after a
   * crash can create it again.
   */
  readonly app?: AppFactory
  /** Live sources of tools, such as MCP servers. */
  readonly providers?: readonly Provider[]
  /**
   * The failure an acknowledged write survives: a power cut (`power`) or a crash of the process (`process`). Default:
   * 'power'.
   */
  readonly commit?: 'power' | 'process'
  /** False: this process only records calls; other processes with the same tools and store run them. Default: true. */
  readonly worker?: boolean
  /** How long a worker that does not renew its lease counts as alive; at least 100 ms. Default: 30 s. */
  readonly lease?: Duration
  /** The host's secret (32 bytes or more) and earlier ones. Default with SQLite: one kept in a private file. */
  readonly keys?: KeyOptions
  /**
   * Encrypts the payloads of all calls at rest (AES-256-GCM), not only those of sensitive tools. Existing records stay
   * readable either way. Default: false.
   */
  readonly encrypt?: boolean
  /**
   * Secret values of 8 characters or more. They are redacted, in encoded forms too, from what models, feed readers and
   * logs see; code sees them unchanged. If it is a function, it is called every time.
   */
  readonly secrets?: Secrets
  /** A call that this many workers died of is not run again. Deaths in company do not count. Default: 3. */
  readonly poisonAfter?: number
  /** How many calls run at once, how many may queue, and rate limits. */
  readonly limits?: Limits
  /** Maximum sizes of arguments, results, steps, events, attachments, batches and journals, and the depth of nesting. */
  readonly sizes?: Partial<Sizes>
  /** Which calls are allowed. With several layers the strictest decision wins. */
  readonly policy?: PolicyDefinition | readonly PolicyDefinition[]
  /** Limits on tool use per turn, session and tenant, counted across all workers of the store. */
  readonly budgets?: Budgets
  /** How many schedules a session may have, their minimum interval, and how late a scheduled run may still start. */
  readonly schedules?: ScheduleLimits
  /** Models that turns refer to by name. After a crash a turn resumes on a worker that has its model. */
  readonly models?: readonly Model[]
  /** Bundles of tools, instructions, limits and hooks that sessions switch on. */
  readonly capabilities?: readonly Capability[]
  /** Agent contexts that turns refer to by name and may hand over to. */
  readonly frames?: readonly Frame[]
  /**
   * Shortens a conversation that no longer fits the model, or `limits.historyTokens`. If it throws, returns an invalid
   * plan, or takes longer than 5 minutes, the turn fails with `compaction_failed`. Use the same function on every
   * worker. Default: the model of the turn summarizes the older messages.
   */
  readonly compaction?: Compaction
  /**
   * With this many tools or more, a model sees the schema of a tool only after it found the tool with `tool_search`.
   * False: it always sees all schemas. Default: `{ from: 15 }`.
   */
  readonly toolSearch?: ToolSearch
  /** Functions that run before calls, after calls, and when results are shown to a model. */
  readonly hooks?: readonly Hook[]
  /** Files of sessions: quotas and location. */
  readonly files?: FilesSettings
  /** Quotas for the values of sessions. */
  readonly values?: Partial<ValueQuotas>
  /** How much of a result a model sees before it is truncated. */
  readonly output?: Partial<OutputBudget>
  /**
   * Starts a turn by itself when a session has new notices (a task ended, a schedule or trigger fired) and no turn is
   * open. The turn uses the settings of the last requested one, without a user message. At most `maxConsecutive`
   * (default 10) such turns run in a row; then none starts until a turn is requested. Use the same setting on every
   * worker. Default: false; the next requested turn reads them.
   */
  readonly wake?: boolean | { readonly maxConsecutive?: number }
  /**
   * Receives the announcements of calls that start to wait: for an external system, with the wait's key, and for a
   * person. Called at least once per announcement, until it returns without an error or the wait has an answer.
   */
  readonly announce?: Announce
  /**
   * Errors that a tool throws or rejects with outside its awaited body, such as in a timer, are logged and do not end
   * the process. False: they end it, as in any program. Errors of the application are never touched. Default: true.
   */
  readonly containErrors?: boolean
  /** Receives log lines, without secrets. Default: warnings and errors go to the console. */
  readonly logger?: Logger
  /**
   * Receives events about calls, attempts, waits and model requests of this worker, for metrics and traces. They
   * contain ids, names, numbers and states, never arguments or outputs. It is called synchronously, so it must be fast.
   */
  readonly observer?: Observer
  /** Source of time, for tests. Default: the system clock. */
  readonly clock?: Clock
  /** Source of ids, for tests. Default: ids that sort by time. */
  readonly ids?: Ids
}

/** Runs tools, turns and tasks on a store; made by createRuntime(). */
export interface Runtime {
  /**
   * Opens a session. Sessions with the same id and tenant share calls, files and messages, on every worker.
   *
   * @example
   * const session = runtime.session('chat-42', { tenant: 'acme', principal: 'user:ada' })
   */
  session(id: string, options?: SessionOptions): Session
  /** The sessions that have recorded calls. */
  readonly sessions: RuntimeSessions
  /** Recorded calls of all sessions. */
  readonly calls: RuntimeCalls
  /** The runtime's tools and providers, which can be added and removed. */
  readonly tools: RuntimeTools
  /** Provider tools whose definition has changed: they are not run or shown to models until the change is accepted. */
  readonly quarantine: Quarantine
  /**
   * Answers a wait by its key; the first answer wins.
   *
   * @example
   * await runtime.resolve(key, { value: { signed: true } })
   */
  resolve(key: string, answer: Answer): Promise<ResolveAnswer>
  /** Sends an event to all sessions of a tenant that subscribed to it. Default tenant: 'default'. */
  emit(event: string, payload: unknown, how: Emit & { readonly tenant?: string }): Promise<EmittedEvent>
  /** Open items for people to decide, oldest first. */
  inbox(query?: InboxQuery): Promise<InboxItem[]>
  /**
   * Records a person's decision about an inbox item; the first decision wins.
   *
   * @example
   * const [item] = await runtime.inbox({ tenant: 'acme' })
   * await runtime.decide(item.id, { approve: true, by: 'user:bea', fingerprint: item.fingerprint })
   */
  decide(id: string, decision: InboxDecision): Promise<DecideAnswer>
  /**
   * How an inbox item ended: who decided it, or that it expired or was withdrawn. Undefined if it is open or unknown.
   *
   * @example
   * const ended = await runtime.decided(item.id, { tenant: 'acme' })
   */
  decided(id: string, query?: { readonly tenant?: string }): Promise<EndedItem | undefined>
  /** Rules that people added when they decided. */
  readonly rules: RememberedRules
  /** Connected accounts: provider tokens per tenant and person. */
  readonly connections: Connections
  /** API tokens for servers on this store, with roles, a tenant and an expiry. Only their hashes are stored. */
  readonly tokens: Tokens
  /** Signed links with which a named person decides one inbox item, for mails and chat messages. */
  readonly links: DecisionLinks
  /** Explains the policy decision about a call. Runs nothing. */
  explain(call: ExplainCall): Promise<Explained>
  /**
   * The rules of the configured policies, in the order in which explain() numbers them. Without the policies of
   * sessions, and without policy functions.
   */
  policyRules(query?: PolicyRulesQuery): readonly PolicyRule[]
  /** The schedules of all sessions. */
  readonly schedules: RuntimeSchedules
  /**
   * Internal error details of a call, by its uid or by its session and the `callId` of its outcome; undefined if there
   * are none. For operators: models and the feed never see them.
   *
   * @example
   * const [outcome] = await session.run(calls)
   * await runtime.diagnostics({ session: session.id, callId: outcome.callId })
   */
  diagnostics(call: string | DiagnosedCall): Promise<Diagnostics | undefined>
  /** The events of all sessions, or of one tenant's with `{ tenant }`. */
  readonly events: ReadFeed<RuntimeReadOptions>
  /**
   * The newest events of some types, newest first, as they are recorded (`internal`). A page covers 20,000
   * positions at most, so it may have fewer than `limit`, or none, although `next` is set.
   *
   * @example
   * const { events } = await runtime.recentEvents({ types: ['decision.made'], limit: 20 })
   */
  recentEvents(query: RecentEventsQuery): Promise<RecentEventPage>
  /** The cursor of the newest event of the store: `events({ after: cursor })` reads what is recorded from now on. */
  cursor(): Promise<string>
  /** Deletes calls that settled long ago, with all their data. Sessions with open calls are skipped. */
  prune(options: PruneOptions): Promise<Erased>
  /**
   * Erases a session or a tenant, including its steps, waits, events and attachments. Fails while calls are open,
   * unless `open` is 'cancel'.
   */
  erase(options: EraseOptions): Promise<EraseResult>
  /**
   * Reports open calls that are stuck, or that the tools, models and frames of this runtime cannot continue, and why.
   * Changes nothing and reads a bounded number of rows. With `worker: false` it checks a deploy before it claims calls.
   */
  health(): Promise<HealthReport>
  /**
   * Adds an observer of the calls of this worker, such as the metrics of a server. Returns a function that removes it.
   *
   * @example
   * const stop = runtime.observe((event) => event.type === 'callSettled' && console.log(event.tool, event.status))
   */
  observe(observer: Observer): () => void
  /**
   * Stops accepting work, gives running bodies `grace` (default 5 s) to finish, then releases the remaining calls,
   * which resume at the next start.
   */
  close(options?: { grace?: Duration }): Promise<void>
}

export const runtimeOptions = {
  store: option.required(storeOption),
  tools: toolsOption,
  app: option.func,
  providers: option.array,
  commit: option.oneOf('power', 'process'),
  worker: option.boolean,
  lease: option.durationWithin('a duration of at least 100 ms', (ms) => ms >= 100),
  keys: keysOption,
  encrypt: option.boolean,
  secrets: secretsOption,
  poisonAfter: option.wholeNumber(1),
  limits: limitsOption,
  sizes: sizesOption,
  policy: option.either(option.object, option.array),
  budgets: option.object,
  schedules: scheduleLimitsOption,
  models: option.array,
  capabilities: capabilitiesOption,
  frames: option.listOf(option.nested(frameOptions)),
  compaction: option.func,
  toolSearch: toolSearchOption,
  hooks: hooksOption,
  files: filesOption,
  values: valuesOption,
  output: outputOption,
  wake: wakeOption,
  announce: option.func,
  containErrors: option.boolean,
  logger: option.withMethods('debug', 'info', 'warn', 'error'),
  observer: option.func,
  clock: option.withMethods('now', 'monotonic', 'timer', 'every', 'hold'),
  ids: option.withMethods('next'),
} satisfies OptionTable<RuntimeOptions>

/** Runs before the store is opened, so that invalid options leave no file and no key behind. */
export function checkRuntimeOptions(options: RuntimeOptions): void {
  checkRequiredOptions(options, runtimeOptions, 'createRuntime()')
  const { models = [], frames = [], providers = [] } = options
  for (const model of models) checkModel(model)
  for (const { model } of frames) if (typeof model === 'object') checkModel(model)
  for (const provider of providers) checkProvider(provider)
  for (const [kind, all] of Object.entries({ models, frames, providers })) {
    const twice = all.find(({ name }, index) => all.findIndex((each) => each.name === name) < index)
    if (twice) throw new PawlError('config_invalid', `Two ${kind} have the name '${twice.name}'.`)
  }
}

export const closeOptions = { grace: option.duration } satisfies OptionTable<{ grace?: Duration }>
