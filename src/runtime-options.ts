// What a runtime is made of, and what it can do: the interfaces of createRuntime().

import type { FilesSettings } from './storage/files/session-files.ts'
import type { ValueQuotas } from './storage/values/values.ts'
import type { AppFactory } from './calls/context/app-context.ts'
import type { Announce } from './calls/announce-wait.ts'
import { closeNames } from './core/similar-names.ts'
import type { OutputBudget } from './calls/output/truncate.ts'
import type { ExplainCall, Explained } from './calls/authorization/explain-decision.ts'
import type { Hook } from './calls/admission/hook.ts'
import type { Limits } from './calls/scheduling/limits.ts'
import type { Diagnostics } from './calls/diagnostics.ts'
import type { ResolveAnswer } from './engine/engine.ts'
import type { EmittedEvent } from './schedules/emit-event.ts'
import type { ScheduleLimits } from './schedules/schedule-limits.ts'
import type { Emit } from './schedules/triggers.ts'
import type { ReadFeed } from './feed/feed.ts'
import type { HealthReport } from './maintenance/health.ts'
import type { Erased, EraseResult, EraseOptions, PruneOptions } from './maintenance/retention.ts'
import type { Duration } from './core/duration.ts'
import { PawlError } from './core/errors.ts'
import type { Ids } from './core/ids.ts'
import type { Quarantine } from './approvals/pins.ts'
import type { Secrets } from './security/redact.ts'
import type { Sizes } from './core/size-limits.ts'
import type { Clock } from './core/clock.ts'
import type { Capability } from './sessions/capability.ts'
import type { Model } from './models/model.ts'
import type { Frame } from './models/turn-interface.ts'
import type { Budgets } from './policy/budgets.ts'
import type { PolicyDefinition } from './policy/rules.ts'
import type { Connections } from './approvals/connections.ts'
import type { DecideAnswer } from './approvals/decide.ts'
import type { InboxItem, InboxQuery } from './approvals/inbox.ts'
import type { RememberedRules } from './approvals/remembered-rules.ts'
import type { InboxDecision } from './approvals/decision-input.ts'
import type { Session, SessionOptions } from './sessions/session.ts'
import type { KeyOptions } from './store/open-keys.ts'
import type { PgPool } from './store/open-store.ts'
import type { Store } from './store/store.ts'
import type { Logger } from './tools/context/context.ts'
import type { Provider } from './tools/provider.ts'
import type { RuntimeTools } from './tools/registry.ts'
import type { Tool } from './tools/tool.ts'
import type { ToolSearch } from './tools/tool-search.ts'
import type { Answer } from './store/records/resolution.ts'

export interface RuntimeOptions {
  /** `'memory:'`, `'sqlite:agent.db'`, `'postgres://user:password@host/database'`, a `pg` Pool (its settings are used), or a store object. */
  readonly store: string | Store | PgPool
  readonly tools?: readonly Tool[]
  /** Makes what bodies get as `ctx.app`, per session: a function, so that a worker that takes a call up after a crash makes it again. */
  readonly app?: AppFactory
  /** Live sources of tools, such as MCP servers. */
  readonly providers?: readonly Provider[]
  /** When an acknowledged write is safe: from a power cut (`power`, the default) or from a crash of the process (`process`). */
  readonly commit?: 'power' | 'process'
  /** False: calls are put on record here and run by other processes, which have the same tools on the same store. Default: true. */
  readonly worker?: boolean
  /** How long a silent worker is believed to be alive. */
  readonly lease?: Duration
  /** The host's secret, 32 bytes or more, and those before it. SQLite keeps one in a private file if none is given. */
  readonly keys?: KeyOptions
  /** Seals the payloads of all calls at rest (AES-256-GCM), not only those of sensitive tools. What is on record is read either way. */
  readonly encrypt?: boolean
  /**
   * Values that are shown to nobody: of 8 characters or more, they are taken out of what models, readers of the feed and logs are told,
   * however they are written there. What code gets stays as it is. A function is asked each time.
   */
  readonly secrets?: Secrets
  /** A call over which so many workers have died is not run again (default 3). */
  readonly poisonAfter?: number
  /** How many calls run at once and how many may wait; rates. */
  readonly limits?: Limits
  /** How large arguments, results, steps, events, attachments, batches and journals may be. */
  readonly sizes?: Partial<Sizes>
  /** Who may call what; several layers: the strictest wins. */
  readonly policy?: PolicyDefinition | readonly PolicyDefinition[]
  /** How much a turn, a session and a tenant may ask of tools, on all workers of the store together. */
  readonly budgets?: Budgets
  /** How many schedules a session may have, how close together they run, and how late a slot may be. */
  readonly schedules?: ScheduleLimits
  /** Models that turns may name: a turn goes on after a crash where its model is known. */
  readonly models?: readonly Model[]
  /** Bundles of tools, instructions, limits and hooks that sessions switch on. */
  readonly capabilities?: readonly Capability[]
  /** Agent contexts that turns may name, and be handed to. */
  readonly frames?: readonly Frame[]
  /**
   * From how many tools on a model is shown their schemas only when it has looked for them with `tool_search` (default: `{ from: 15 }`); false: it is
   * shown all of them, always.
   */
  readonly toolSearch?: ToolSearch
  readonly hooks?: readonly Hook[]
  /** Files of sessions: how much of them, and where. */
  readonly files?: FilesSettings
  /** Values of sessions: how much of them. */
  readonly values?: Partial<ValueQuotas>
  /** How much of a result the model reads. */
  readonly output?: Partial<OutputBudget>
  /**
   * A session that is to be told something (the end of a task, a message of a schedule or a trigger), and in which no turn is open, has one by itself: like the
   * last that somebody asked for there, without a message. At most `maxConsecutive` of them (10) until somebody asks for one. Default: false; a turn hears it when it
   * is asked for. The same on every worker.
   */
  readonly wake?: boolean | { readonly maxConsecutive?: number }
  /** Gets what calls announce when they come to wait, with the key: at least once, until it returns without an error. */
  readonly announce?: Announce
  readonly logger?: Logger
  readonly clock?: Clock
  readonly ids?: Ids
}

export interface Runtime {
  session(id: string, options?: SessionOptions): Session
  /** The runtime's own tools and its providers, which may come and go. */
  readonly tools: RuntimeTools
  /** Tools of providers whose definition has changed: not run, and no model is told of them, until somebody accepts the change. */
  readonly quarantine: Quarantine
  /** Answers a wait by its key; the first answer wins. */
  resolve(key: string, answer: Answer): Promise<ResolveAnswer>
  /** Tells an event to all sessions of a tenant that subscribed to it; `default` if none is named. */
  emit(event: string, payload: unknown, how: Emit & { readonly tenant?: string }): Promise<EmittedEvent>
  /** What waits for people, oldest first. */
  inbox(query?: InboxQuery): Promise<InboxItem[]>
  /** A person decides about an item of the inbox; the first decision wins. */
  decide(id: string, decision: InboxDecision): Promise<DecideAnswer>
  /** Rules that people made when they decided. */
  readonly rules: RememberedRules
  /** What people have connected: tokens of providers, per tenant and person. */
  readonly connections: Connections
  /** What the policy says about a call, and why. Runs nothing. */
  explain(call: ExplainCall): Promise<Explained>
  /** What went wrong inside a call, by its uid; undefined if nothing did. For operators: neither models nor the feed are told. */
  diagnostics(uid: string): Promise<Diagnostics | undefined>
  /** The facts of all sessions. */
  readonly events: ReadFeed
  /** Forgets calls that settled long ago, with all that belongs to them. Sessions with open calls are left whole. */
  prune(options: PruneOptions): Promise<Erased>
  /** Forgets a session or a tenant, with steps, waits, events and attachments. Refused while calls are open, unless they are cancelled. */
  erase(options: EraseOptions): Promise<EraseResult>
  /** What is stuck and why. Changes nothing, and reads a bounded part. */
  health(): Promise<HealthReport>
  /** Takes no more work, lets bodies finish for `grace` (default 5 s), hands the rest back for the next start. */
  close(options?: { grace?: Duration }): Promise<void>
}

const known: readonly (keyof RuntimeOptions)[] = [
  'store',
  'tools',
  'app',
  'providers',
  'commit',
  'worker',
  'lease',
  'keys',
  'poisonAfter',
  'encrypt',
  'secrets',
  'limits',
  'sizes',
  'policy',
  'budgets',
  'schedules',
  'models',
  'capabilities',
  'frames',
  'toolSearch',
  'hooks',
  'files',
  'values',
  'output',
  'announce',
  'wake',
  'logger',
  'clock',
  'ids',
]

/** A name that does not exist is a misspelt one: silently left out, what it says would not hold. */
export function checkOptions(options: RuntimeOptions): void {
  for (const name of Object.keys(options)) {
    if (known.includes(name as keyof RuntimeOptions)) continue
    const close = closeNames(name, known).map((each) => `'${each}'`)
    throw new PawlError(
      'config_invalid',
      `There is no option '${name}'${close.length > 0 ? `; did you mean ${close.join(' or ')}?` : '.'}`,
    )
  }
  const { poisonAfter = 3 } = options
  if (!Number.isInteger(poisonAfter) || poisonAfter < 1)
    throw new PawlError('config_invalid', `poisonAfter is ${poisonAfter}; it must be a whole number from 1 on.`)
  for (const name of ['announce', 'app'] as const)
    if (options[name] !== undefined && typeof options[name] !== 'function')
      throw new PawlError('config_invalid', `${name} is not a function.`)
}
