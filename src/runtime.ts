// createRuntime() comes here (index.ts) and this wires it: a store, the engine on it, the pipeline, the feed. Everything here has one place it comes from.

import { randomBytes } from 'node:crypto'
import { Alarms } from './call/alarms.ts'
import { type Announce, announcing } from './call/announce.ts'
import { callPipeline } from './call/call.ts'
import { closeNames } from './call/close-names.ts'
import { checkBudget, type OutputBudget } from './call/fit.ts'
import { type ExplainCall, explainCall, type Explained } from './call/explain.ts'
import { checkHooks, type Hook } from './call/hook.ts'
import { judgeAnswer } from './call/judge-answer.ts'
import { judgeEdit } from './call/judge-edit.ts'
import type { Limits } from './call/limits.ts'
import { Queue } from './call/queue.ts'
import { consoleLogger, neverThrowing } from './call/quiet-logger.ts'
import { wordsWithoutSecrets } from './call/redact-outcome.ts'
import { containStrays, scope } from './call/scope.ts'
import { showing } from './call/show.ts'
import type { Trouble } from './call/trouble.ts'
import type { Drive, Invocation, ResolveAnswer } from './engine/engine.ts'
import { LocalEngine } from './engine/local/local.ts'
import { announceTool } from './engine/local/announce-tool.ts'
import { Feed, type LiveEvent, type ReadFeed } from './feed/feed.ts'
import type { CallPosition, CallRecord } from './journal/call-state.ts'
import { type Diagnosis, doctor } from './keep/doctor.ts'
import { erase, type Erased, type ErasedWhole, type EraseOptions, type KeepHost, prune, type PruneOptions } from './keep/retention.ts'
import { type Duration, milliseconds } from './kernel/duration.ts'
import { PawlError } from './kernel/errors.ts'
import type { Ids } from './kernel/id.ts'
import type { Outcome } from './kernel/outcome.ts'
import { PinsOnRecord, type Quarantine } from './people/pins.ts'
import { checkedSecrets, Redactor, type Secrets } from './secret/redact.ts'
import { type Sizes, sizesOf } from './kernel/sizes.ts'
import { type Clock, systemClock } from './kernel/time.ts'
import { type Budgets, defineBudgets } from './policy/budget.ts'
import { definePolicy, type PolicyDefinition } from './policy/rules.ts'
import type { Connections } from './people/connections.ts'
import type { DecideAnswer } from './people/decide.ts'
import type { InboxItem, InboxQuery } from './people/inbox.ts'
import { openPeople } from './people/people.ts'
import type { RememberedRules } from './people/rules.ts'
import type { InboxDecision } from './people/word.ts'
import { Batches } from './session/batch.ts'
import { Records } from './session/records.ts'
import { Standing } from './session/standing.ts'
import { openSession, type Session, type SessionOptions } from './session/session.ts'
import { type KeyOptions, openKeys } from './store/open-keys.ts'
import { checkFormat, isStore, openStore, type PgPool } from './store/open-store.ts'
import { Seal } from './secret/seal.ts'
import { sealed } from './store/sealed.ts'
import type { Store } from './store/store.ts'
import type { Logger } from './tool/context.ts'
import type { Provider } from './tool/provider.ts'
import { Registry, type RuntimeTools } from './tool/registry.ts'
import type { SourceHost } from './tool/source.ts'
import type { Tool } from './tool/tool.ts'
import { withoutKeys } from './wait/key.ts'
import { type Answer, checkedAnswer } from './wait/resolution.ts'

export interface RuntimeOptions {
  /** `'memory:'`, `'sqlite:agent.db'`, `'postgres://user:password@host/database'`, a `pg` Pool (its settings are used), or a store object. */
  readonly store: string | Store | PgPool
  readonly tools?: readonly Tool[]
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
  readonly hooks?: readonly Hook[]
  /** How much of a result the model reads. */
  readonly output?: Partial<OutputBudget>
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
  trouble(uid: string): Promise<Trouble | undefined>
  /** The facts of all sessions. */
  readonly events: ReadFeed
  /** Forgets calls that settled long ago, with all that belongs to them. Sessions with open calls are left whole. */
  prune(options: PruneOptions): Promise<Erased>
  /** Forgets a session or a tenant, with steps, waits, events and attachments. Refused while calls are open, unless they are cancelled. */
  erase(options: EraseOptions): Promise<ErasedWhole>
  /** What is stuck and why. Changes nothing, and reads a bounded part. */
  doctor(): Promise<Diagnosis>
  /** Takes no more work, lets bodies finish for `grace` (default 5 s), hands the rest back for the next start. */
  close(options?: { grace?: Duration }): Promise<void>
}

export async function openRuntime(options: RuntimeOptions): Promise<Runtime> {
  for (const name of Object.keys(options)) {
    if (known.includes(name as keyof RuntimeOptions)) continue
    const close = closeNames(name, known).map((each) => `'${each}'`)
    throw new PawlError('config_invalid', `There is no option '${name}'${close.length > 0 ? `; did you mean ${close.join(' or ')}?` : '.'}`)
  }
  const clock = options.clock ?? systemClock
  const ids = options.ids ?? { next: timeOrderedId }
  const redact = new Redactor(checkedSecrets(options.secrets ?? []), withoutKeys)
  const logger = neverThrowing(options.logger ?? consoleLogger, redact)
  const leaseMs = milliseconds(options.lease ?? '30s', 'lease')
  if (leaseMs < 100) throw new PawlError('config_invalid', `lease is ${leaseMs} ms; it must be at least 100 ms.`)
  const { poisonAfter = 3, worker: works = true } = options
  if (!Number.isInteger(poisonAfter) || poisonAfter < 1) {
    throw new PawlError('config_invalid', `poisonAfter is ${poisonAfter}; it must be a whole number from 1 on.`)
  }
  const contain: SourceHost['contain'] = (name, run) => scope.run({ tool: `provider ${name}`, callId: '', call: '', logger }, run)
  // Providers come when the store is there.
  let pins: PinsOnRecord
  const registry = new Registry(options.tools ?? [], { clock, logger, contain, pins: { judge: (definition) => pins.judge(definition) } })
  const standing = new Standing((tenant, session) => registry.live(tenant, session))
  const queue = new Queue(clock, options.limits)
  const sizes = sizesOf(options.sizes)
  const output = checkBudget(options.output)
  const layers = options.policy === undefined ? [] : Array.isArray(options.policy) ? options.policy : [options.policy]
  const policies = (layers as readonly PolicyDefinition[]).map((layer) => definePolicy(layer))
  const { turn, session, tenant } = defineBudgets(options.budgets ?? {})
  const budgets = [tenant, session, turn].filter((budget) => budget !== undefined)
  const hooks = checkHooks(options.hooks ?? [])
  if (options.announce !== undefined && typeof options.announce !== 'function')
    throw new PawlError('config_invalid', 'announce is not a function.')
  const show = showing({ hooks, budget: output, clock, logger, redact })
  const own = !isStore(options.store)
  const inner = await openStore(options, clock)
  const release = containStrays()
  try {
    await checkFormat(inner)
    const keys = await openKeys(inner, options.keys)
    const seal = new Seal(keys)
    const { encrypt: sealAll = false } = options
    if (typeof sealAll !== 'boolean') throw new PawlError('config_invalid', `encrypt is ${JSON.stringify(sealAll)}, not true or false.`)
    const sealFor = (sensitive: boolean): Seal | null => (sealAll || sensitive ? seal : null)
    const words = (outcome: Outcome): Outcome => (redact.active ? wordsWithoutSecrets(outcome, redact) : outcome)
    const unreadable = (what: string, error: unknown): void => logger.error(`What is on record of ${what} cannot be opened`, { error })
    const store = sealed(inner, { seal, all: sealAll, unreadable })
    pins = new PinsOnRecord({ store, clock, logger })
    // Before the engine looks for work: it claims only what can be run here. A source that does not answer is not waited for long.
    await Promise.all((options.providers ?? []).map((provider) => registry.provide(provider)))
    const feed = new Feed(store, redact)
    const records = new Records(store, output, clock, redact)
    // The pipeline drives calls of the engine, and calls may make calls: the engine is reached when it is there.
    let engine: LocalEngine
    const mayAbort = hooks.some((hook) => hook.before ?? hook.after)
    const batches = new Batches({ engine: () => engine, queue, standing, show, sizes, ids, mayAbort, sealFor, words })
    const judging = { toolsOf: (call: CallRecord) => standing.of(call), clock, logger }
    const judge = judgeAnswer(judging)
    const deciding = {
      store,
      engine: () => engine,
      clock,
      ids,
      seal,
      mostBytes: sizes.result,
      judgeEdit: judgeEdit(judging),
      judgeAnswer: judge,
    }
    const people = openPeople({ ...deciding, redact })
    const pipeline = callPipeline({
      toolsOf: (request) => standing.of(request),
      away: () => registry.away,
      clock,
      logger,
      redact,
      alarms: new Alarms(clock),
      queue,
      hooks,
      policies,
      remembered: (of) => people.remembered(of),
      connection: (of, provider) => people.connection(of, provider),
      openSecret: (wait, sealed) => people.openSecret(wait, sealed),
      budgets,
      sizes,
      poisonAfter,
      nested: (parent, calls, how) => batches.nested(parent, calls, how),
      outputs: (of) => records.outputs(of),
      live: (about, type, body) => feed.publish(liveEvent(about, type, body, clock)),
    })
    const returning = (records: readonly CallRecord[]): void => batches.returning(records)
    const gone = (position: CallPosition): void => queue.turns.gone(position)
    const { announce } = options
    const deliver =
      announce && announcing({ announce, keys, poisonAfter, wait: (id) => store.wait(id), call: (uid) => store.call(uid), clock, logger })
    // A model that says this word means a tool of that name, and there is none.
    const isDelivery = ({ request, options: { absent } }: Invocation): boolean => request.tool === announceTool && !absent
    const drive: Drive = (invocation) => (deliver && isDelivery(invocation) ? deliver(invocation) : pipeline(invocation))
    const delivers = deliver ? [announceTool] : []
    const runnable = (): readonly string[] => registry.keys.concat(standing.keys, delivers)
    const parts = { store, clock, ids, keys, logger, leaseMs, tools: runnable, drive, judge, returning, gone, works }
    engine = await LocalEngine.open(parts, (made) => (engine = made))
    queue.inCompany = () => engine.lease.workers > 1
    registry.onChange(() => {
      standing.changed()
      engine.look()
    })
    const cancel = (uid: string, why: { reason: string; by: string | null }): Promise<boolean> => engine.cancel(uid, why)
    const keep: KeepHost = { store, clock, cancel }
    let closing: Promise<void> | null = null
    return {
      session: (id, about) => openSession({ batches, feed, records, ids, registry, works, people, cancel }, id, about),
      tools: {
        add: (tools) => registry.add(tools),
        remove: (name) => registry.remove(name),
        list: () => registry.list(),
        provide: (provider) => registry.provide(provider),
        withdraw: (provider) => registry.withdraw(provider),
      },
      quarantine: { list: () => pins.list(), accept: (change) => pins.accept(change) },
      async resolve(key, answer) {
        const checked = checkedAnswer(answer, sizes.result)
        return 'problems' in checked ? { answer: 'invalid', problems: checked.problems } : engine.resolve(key, checked)
      },
      inbox: (query) => people.inbox(query),
      decide: (id, decision) => people.decide(id, decision),
      rules: people.rules,
      connections: people.connections,
      explain: (call) =>
        explainCall({ toolsOf: (...of) => registry.live(...of), policies, remembered: people.remembered, clock, logger }, call),
      async trouble(uid) {
        const { trouble = null } = (await store.call(uid)) ?? {}
        return trouble === null ? undefined : (JSON.parse(trouble) as Trouble)
      },
      events: feed.reader(),
      prune: (query) => prune(keep, query),
      erase: (query) => erase(keep, query),
      doctor: () => doctor({ store, clock, tools: runnable }),
      async close({ grace = '5s' } = {}) {
        const graceMs = milliseconds(grace, 'grace')
        closing ??= (async () => {
          try {
            await engine.close(graceMs)
          } finally {
            await registry.close()
            feed.close()
            release()
            if (own) await inner.close()
          }
        })()
        return closing
      },
    }
  } catch (error) {
    await registry.close()
    release()
    if (own) await inner.close()
    throw error
  }
}

const known: readonly (keyof RuntimeOptions)[] = [
  'store',
  'tools',
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
  'hooks',
  'output',
  'announce',
  'logger',
  'clock',
  'ids',
]

function liveEvent({ request, callId }: Invocation, type: LiveEvent['type'], body: object, clock: Clock): LiveEvent {
  const { tenant, session } = request.position
  return { live: true, type, tenant, session, call: request.uid, callId, at: clock.now(), body }
}

let lastTime = 0
let timeText = ''
let count = 0
const ofThisProcess = randomBytes(10).toString('hex')
/** Time first, so that rows of one moment lie together; then what tells processes apart, and a count that tells calls apart. */
function timeOrderedId(): string {
  const now = Date.now()
  if (now > lastTime) {
    lastTime = now
    timeText = now.toString(36).padStart(9, '0')
  }
  return timeText + (count++).toString(36).padStart(6, '0') + ofThisProcess
}
