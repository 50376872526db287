// createRuntime() comes here (index.ts) and this wires it: a store, the engine on it, the pipeline, the feed. Everything here has one place it comes from.

import { createHash, randomBytes } from 'node:crypto'
import { Alarms } from './call/alarms.ts'
import { callPipeline } from './call/call.ts'
import { closeNames } from './call/close-names.ts'
import { checkBudget, type OutputBudget } from './call/fit.ts'
import type { Hook } from './call/hook.ts'
import { type Limits, Queue } from './call/queue.ts'
import { neverThrowing } from './call/quiet-logger.ts'
import { containStrays, scope } from './call/scope.ts'
import { showing } from './call/show.ts'
import { SessionUsage } from './call/usage.ts'
import type { Invocation, ResolveAnswer } from './engine/engine.ts'
import { LocalEngine } from './engine/local/local.ts'
import { Feed, type LiveEvent, type ReadFeed } from './feed/feed.ts'
import type { CallRecord } from './journal/call-state.ts'
import { type Duration, milliseconds } from './kernel/duration.ts'
import { PawlError } from './kernel/errors.ts'
import type { Ids } from './kernel/id.ts'
import { type Sizes, sizesOf } from './kernel/sizes.ts'
import { type Clock, systemClock } from './kernel/time.ts'
import { type BudgetLimits, defineBudgets } from './policy/budget.ts'
import { definePolicy, type PolicyDefinition } from './policy/rules.ts'
import { Batches } from './session/batch.ts'
import { Records } from './session/records.ts'
import { Standing } from './session/standing.ts'
import { openSession, type Session, type SessionOptions } from './session/session.ts'
import { memoryStore } from './store/memory.ts'
import type { Store } from './store/store.ts'
import type { Logger } from './tool/context.ts'
import type { Provider } from './tool/provider.ts'
import { Registry, type RuntimeTools } from './tool/registry.ts'
import type { SourceHost } from './tool/source.ts'
import type { Tool } from './tool/tool.ts'
import { type Answer, checkedAnswer } from './wait/resolution.ts'

export interface RuntimeOptions {
  /** `'memory:'`, `'sqlite:agent.db'`, `'postgres://user:password@host/database'`, or a store object. */
  readonly store: string | Store
  readonly tools?: readonly Tool[]
  /** Live sources of tools, such as MCP servers. */
  readonly providers?: readonly Provider[]
  /** When an acknowledged write is safe: from a power cut (`power`, the default) or from a crash of the process (`process`). */
  readonly commit?: 'power' | 'process'
  /** How long a silent worker is believed to be alive. */
  readonly lease?: Duration
  /** The host's secret, 32 bytes or more. SQLite keeps one in a private file if none is given. */
  readonly keys?: { readonly secret: Uint8Array | string }
  /** How many calls run at once and how many may wait; rates. */
  readonly limits?: Limits
  /** How large arguments, results, steps, events, attachments, batches and journals may be. */
  readonly sizes?: Partial<Sizes>
  /** Who may call what; several layers: the strictest wins. */
  readonly policy?: PolicyDefinition | readonly PolicyDefinition[]
  /** How much a session may ask of tools. */
  readonly budget?: BudgetLimits
  readonly hooks?: readonly Hook[]
  /** How much of a result the model reads. */
  readonly output?: Partial<OutputBudget>
  readonly logger?: Logger
  readonly clock?: Clock
  readonly ids?: Ids
}

export interface Runtime {
  session(id: string, options?: SessionOptions): Session
  /** The runtime's own tools and its providers, which may come and go. */
  readonly tools: RuntimeTools
  /** Answers a wait by its key; the first answer wins. */
  resolve(key: string, answer: Answer): Promise<ResolveAnswer>
  /** The facts of all sessions. */
  readonly events: ReadFeed
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
  const logger = neverThrowing(options.logger ?? consoleLogger)
  const leaseMs = milliseconds(options.lease ?? '30s', 'lease')
  if (leaseMs < 100) throw new PawlError('config_invalid', `lease is ${leaseMs} ms; it must be at least 100 ms.`)
  const contain: SourceHost['contain'] = (name, run) => scope.run({ tool: `provider ${name}`, callId: '', call: '', logger }, run)
  const registry = new Registry(options.tools ?? [], { clock, logger, contain })
  const standing = new Standing((tenant, session) => registry.live(tenant, session))
  const queue = new Queue(clock, options.limits)
  const sizes = sizesOf(options.sizes)
  const output = checkBudget(options.output)
  const layers = options.policy === undefined ? [] : Array.isArray(options.policy) ? options.policy : [options.policy]
  const policies = (layers as readonly PolicyDefinition[]).map((layer) => definePolicy(layer))
  const budget = defineBudgets(options.budget ? { session: options.budget } : {}).session
  const hooks = checkHooks(options.hooks ?? [])
  const show = showing({ hooks, budget: output, clock, logger })
  const own = typeof options.store === 'string'
  const store = await openStore(options, clock)
  const release = containStrays()
  try {
    const secret = await secretOf(store, options.keys?.secret)
    // Before the engine looks for work: it claims only what can be run here. A source that does not answer is not waited for long.
    await Promise.all((options.providers ?? []).map((provider) => registry.provide(provider)))
    const feed = new Feed(store)
    const usage = new SessionUsage(budget, store)
    const records = new Records(store, output, clock)
    // The pipeline drives calls of the engine, and calls may make calls: the engine is reached when it is there.
    let engine: LocalEngine
    const mayAbort = hooks.some((hook) => hook.before ?? hook.after)
    const batches = new Batches({ engine: () => engine, queue, standing, show, sizes, mayAbort })
    const drive = callPipeline({
      toolsOf: (request) => standing.of(request),
      away: () => registry.away,
      clock,
      logger,
      alarms: new Alarms(clock),
      queue,
      hooks,
      policies,
      usage,
      sizes,
      nested: (parent, calls, how) => batches.nested(parent, calls, how),
      outputs: (of) => records.outputs(of),
      live: (about, type, body) => feed.publish(liveEvent(about, type, body, clock)),
    })
    const returning = (records: readonly CallRecord[]): void => batches.returning(records)
    const runnable = (): readonly string[] => registry.keys.concat(standing.keys)
    engine = new LocalEngine({ store, clock, ids, secret, logger, leaseMs, tools: runnable, drive, returning })
    await engine.open()
    registry.onChange(() => {
      standing.changed()
      engine.look()
    })
    let closing: Promise<void> | null = null
    return {
      session: (id, about) => openSession({ batches, feed, records, ids, registry }, id, about),
      tools: {
        add: (tools) => registry.add(tools),
        remove: (name) => registry.remove(name),
        list: () => registry.list(),
        provide: (provider) => registry.provide(provider),
        withdraw: (provider) => registry.withdraw(provider),
      },
      async resolve(key, answer) {
        const checked = checkedAnswer(answer, sizes.result)
        return 'problems' in checked ? { answer: 'invalid', problems: checked.problems } : engine.resolve(key, checked)
      },
      events: feed.reader(),
      async close({ grace = '5s' } = {}) {
        const graceMs = milliseconds(grace, 'grace')
        closing ??= (async () => {
          try {
            await engine.close(graceMs)
          } finally {
            await registry.close()
            feed.close()
            release()
            if (own) await store.close()
          }
        })()
        return closing
      },
    }
  } catch (error) {
    await registry.close()
    release()
    if (own) await store.close()
    throw error
  }
}

const known: readonly (keyof RuntimeOptions)[] = [
  'store',
  'tools',
  'providers',
  'commit',
  'lease',
  'keys',
  'limits',
  'sizes',
  'policy',
  'budget',
  'hooks',
  'output',
  'logger',
  'clock',
  'ids',
]

function checkHooks(hooks: readonly Hook[]): readonly Hook[] {
  for (const [index, hook] of hooks.entries()) {
    const wrong = (why: string): never => {
      throw new PawlError('config_invalid', `hooks[${index}]: ${why}.`)
    }
    if (typeof hook?.name !== 'string' || hook.name === '') wrong('it needs a name')
    for (const when of ['before', 'after', 'project'] as const)
      if (hook[when] !== undefined && typeof hook[when] !== 'function') wrong(`${when} is not a function`)
  }
  return hooks
}

function liveEvent({ request, callId }: Invocation, type: LiveEvent['type'], body: object, clock: Clock): LiveEvent {
  const { tenant, session } = request.position
  return { live: true, type, tenant, session, call: request.uid, callId, at: clock.now(), body }
}

async function openStore({ store, commit }: RuntimeOptions, clock: Clock): Promise<Store> {
  if (typeof store === 'object' && store !== null) return store
  if (commit !== undefined && commit !== 'power' && commit !== 'process') {
    throw new PawlError('config_invalid', `commit is ${JSON.stringify(commit)}, not 'power' or 'process'.`)
  }
  if (store === 'memory:') return memoryStore({ clock })
  if (typeof store === 'string' && store.startsWith('sqlite:')) {
    const { sqliteStore } = await import('./store/sqlite/sqlite.ts')
    return sqliteStore({ file: store.slice('sqlite:'.length), clock, commit: commit ?? 'power' })
  }
  if (typeof store === 'string' && /^postgres(?:ql)?:\/\//.test(store)) return openPostgres(store, commit ?? 'power', clock)
  const told = JSON.stringify(typeof store === 'string' ? store.replace(/\/\/[^@/]*@/, '//…@') : store)
  throw new PawlError('config_invalid', `store is ${told}; use 'memory:', 'sqlite:<file>', 'postgres://…' or a store object.`)
}

async function openPostgres(connection: string, commit: 'power' | 'process', clock: Clock): Promise<Store> {
  const postgres = await import('./store/postgres/postgres.ts').catch((cause: unknown) => {
    throw new PawlError('config_invalid', "A 'postgres://' store needs the package 'pg': npm install pg.", { cause })
  })
  return postgres.postgresStore({ connection, commit, clock })
}

/** The host's secret, checked against the store it belongs to: with another one, keys handed out before would be dead. */
async function secretOf(store: Store, given: Uint8Array | string | undefined): Promise<Uint8Array> {
  const secret = given === undefined ? await store.secret() : Buffer.from(given)
  if (!secret) throw new PawlError('config_invalid', `A ${store.kind} store keeps no secret of its own: give keys: { secret }.`)
  if (secret.length < 32) throw new PawlError('config_invalid', `keys.secret has ${secret.length} bytes; give at least 32.`)
  const fingerprint = createHash('sha256').update('pawl secret v1').update(secret).digest('base64url')
  if ((await store.setting('secret_fingerprint', fingerprint)) !== fingerprint) throw new PawlError('keys_mismatch')
  return secret
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

const consoleLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: (message, fields) => console.warn(`pawl: ${message}`, fields ?? ''),
  error: (message, fields) => console.error(`pawl: ${message}`, fields ?? ''),
}
