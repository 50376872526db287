// The runtime's connection to a provider; the registry owns it. A provider may throw, hang, return garbage or
// disappear, and a batch must not fail because of that. Every request has a timeout, every answer is read once and
// checked, and an unavailable provider is retried with backoff. A tool is handed out only while its definition is the
// accepted one.

import { PawlError } from '../core/errors.ts'
import type { Clock } from '../core/clock.ts'
import type { MaybePromise } from '../core/maybe-promise.ts'
import type { Logger } from './context/tool-context.ts'
import { definitionOf, type Pins, ToolQuarantined } from './pinned-definition.ts'
import {
  errorText,
  type Manifest,
  type Provider,
  ProviderAway,
  type ProviderDetails,
  readManifests,
} from './tool-provider.ts'
import { isTool, toolNamePattern, type Tool } from './tool.ts'
import { remoteTool } from './derive-tool.ts'
import type { Entry, RemoteEntry } from './toolset.ts'

/** A provider of the runtime and what became of its last listing. */
export interface ProviderState {
  /** Name of the provider. */
  readonly name: string
  /** The operator trusts its hints. */
  readonly trusted: boolean
  /** False: its calls fail until it answers again. It is retried with backoff. */
  readonly available: boolean
  /** Why it is not available; null if it is. */
  readonly problem: string | null
  /** Since when it has been available or not, in milliseconds since 1970. */
  readonly since: number
  /** Tools of its last listing. */
  readonly tools: number
  /** Those of them that are known to be in quarantine. */
  readonly quarantined: number
  /** How it is reached, if it reports that. */
  readonly details: ProviderDetails
  /** It can be reconnected with `runtime.tools.reconnect()`. */
  readonly reconnectable: boolean
}

/** How long a provider may take to answer. */
const answerTimeoutMs = 10_000
/**
 * Changes within this time are handled together: a provider that always reports changes must not keep the process busy.
 */
const minRefreshGapMs = 100
const firstRetryMs = 1_000
const maxRetryMs = 60_000

export interface ProviderPorts {
  readonly clock: Clock
  readonly logger: Logger
  readonly pins: Pins
  /** Redacts these secrets of a provider, and the host's own keys, which a remote tool may read from a file. */
  learnSecrets(secrets: readonly string[]): void
  /** Called when the entries changed. */
  changed(): void
  /** Called for each tool that was resolved. */
  resolved(tool: Tool): void
  /** Runs code of the provider so that stray exceptions (timers, rejected promises) are attributed to it. */
  contain<T>(provider: string, run: () => T): T
}

export class ProviderConnection {
  readonly name: string
  readonly trusted: boolean
  entries: readonly Entry[] = []
  away = true
  #since: number
  readonly #provider: Provider
  readonly #host: ProviderPorts
  #manifests: readonly Manifest[] = []
  /** Current entries by id. Running batches may still use older ones. */
  #current: ReadonlyMap<string, Entry> = new Map()
  /** Quarantined tools by id, with the fingerprint that was logged. */
  readonly #quarantinedFingerprints = new Map<string, string>()
  #refreshing: Promise<void> | null = null
  #refreshRequested = false
  #lastRefreshAt = -Infinity
  #retryMs = firstRetryMs
  #cancelTimer = (): void => {}
  #unsubscribe: unknown
  #lastWarning = ''
  /** Why the provider is unavailable. */
  #reason = ''
  #closed = false

  constructor(provider: Provider, host: ProviderPorts) {
    this.#provider = provider
    this.#host = host
    const { name, trusted } = checkProvider(provider)
    this.name = name
    this.trusted = trusted
    host.learnSecrets(secretsOf(provider))
    this.#since = host.clock.now()
  }

  get state(): ProviderState {
    const { name, trusted, away, entries } = this
    return {
      name,
      trusted,
      available: !away,
      problem: away ? this.#reason : null,
      since: this.#since,
      tools: entries.length,
      quarantined: entries.filter(({ remote }) => remote?.quarantined() ?? false).length,
      details: this.#details(),
      reconnectable: typeof this.#provider.reconnect === 'function',
    }
  }

  /** Ends the connection of the provider and lists its tools again. False: it has no way to do so. */
  async reconnect(): Promise<boolean> {
    if (typeof this.#provider.reconnect !== 'function' || this.#closed) return false
    await this.#withTimeout(() => this.#provider.reconnect?.())
    await this.#refreshing
    await this.#refresh()
    return true
  }

  #details(): ProviderDetails {
    try {
      const { transport, protocol, latencyMs } = this.#contain(() => this.#provider.details?.()) ?? {}
      return {
        ...(typeof transport === 'string' ? { transport: transport.slice(0, 80) } : {}),
        ...(typeof protocol === 'string' ? { protocol: protocol.slice(0, 80) } : {}),
        ...(typeof latencyMs === 'number' && Number.isFinite(latencyMs) ? { latencyMs } : {}),
      }
    } catch {
      return {}
    }
  }

  /** Resolves when the provider has listed its tools, or is known to be unavailable. */
  async open(): Promise<void> {
    try {
      this.#unsubscribe = this.#contain(() => this.#provider.onChange?.(() => this.#changed()))
    } catch (error) {
      this.#host.logger.warn(
        `Provider '${this.name}': onChange threw, so its changes will not be noticed: ${errorText(error)}`,
      )
    }
    await this.#refresh()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#cancelTimer()
    try {
      if (typeof this.#unsubscribe === 'function') this.#contain(this.#unsubscribe as () => void)
    } catch (error) {
      this.#host.logger.warn(`Provider '${this.name}': unsubscribing failed: ${errorText(error)}`)
    }
    try {
      await this.#withTimeout(() => this.#provider.close?.())
    } catch (error) {
      this.#host.logger.warn(`Provider '${this.name}': close failed: ${errorText(error)}`)
    }
  }

  #changed(): void {
    if (this.#closed) return
    this.#refreshRequested = true
    if (!this.#refreshing)
      this.#scheduleRefresh(Math.max(0, this.#lastRefreshAt + minRefreshGapMs - this.#host.clock.now()))
  }

  #scheduleRefresh(ms: number): void {
    this.#cancelTimer()
    if (ms === 0) return void this.#refresh()
    this.#cancelTimer = this.#host.clock.timer(ms, () => void this.#refresh())
  }

  /** Lists the tools. Never rejects; only one list request runs at a time. */
  #refresh(): Promise<void> {
    this.#refreshing ??= this.#refreshOnce().finally(() => {
      this.#refreshing = null
      if (this.#closed) return
      if (this.#refreshRequested) this.#scheduleRefresh(minRefreshGapMs)
      else if (this.away) {
        this.#scheduleRefresh(this.#retryMs)
        this.#retryMs = Math.min(this.#retryMs * 2, maxRetryMs)
      }
    })
    return this.#refreshing
  }

  async #refreshOnce(): Promise<void> {
    this.#refreshRequested = false
    this.#lastRefreshAt = this.#host.clock.now()
    let problems: readonly string[] = []
    const wasAway = this.away
    try {
      const read = readManifests(await this.#withTimeout(() => this.#provider.list()))
      this.#manifests = read.manifests
      problems = read.problems
      this.away = false
      this.#retryMs = firstRetryMs
    } catch (error) {
      // Keep the last list, so that a call gets "provider unavailable" and not "no such tool".
      this.away = true
      this.#reason = errorText(error)
      problems = [`it will be tried again. ${this.#reason}`]
    }
    if (this.away !== wasAway) this.#since = this.#host.clock.now()
    if (this.#closed) return
    this.#warnOnce(problems)
    // New entries resolve their tools again: any of them may have changed.
    this.entries = this.#manifests.map((manifest) => this.#entryOf(manifest))
    this.#current = new Map(this.entries.map((entry) => [entry.id, entry]))
    this.#host.changed()
  }

  /** Logs the problems once as long as they stay the same. */
  #warnOnce(problems: readonly string[]): void {
    const warning =
      problems.length > 5 ? `${problems.slice(0, 5).join('; ')}; and ${problems.length - 5} more` : problems.join('; ')
    if (warning !== '' && warning !== this.#lastWarning)
      this.#host.logger.warn(`Provider '${this.name}': ${warning}`, { provider: this.name })
    this.#lastWarning = warning
  }

  #entryOf({ name, id = name, title, description, hints, sensitive = false }: Manifest): Entry {
    let contract: Tool | undefined
    let loading: Promise<Tool> | undefined
    /** The entry of the last refresh, if it is not this one. */
    const newer = (): RemoteEntry | undefined => {
      const current = this.#current.get(id)?.remote
      return current === remote ? undefined : current
    }
    const load = (): Promise<Tool> => {
      if (this.away || this.#closed) return Promise.reject(new ProviderAway(this.#reason))
      loading ??= (newer()?.load() ?? this.#resolve(name, id)).then(
        (tool) => (contract = tool),
        // A quarantined tool is resolved again too: the change may be accepted by now, or reverted by the provider.
        (error: unknown) => {
          loading = undefined
          throw error
        },
      )
      return loading
    }
    const accepted = (): MaybePromise<Tool | undefined> => {
      // If the id is gone, look for a tool that replaced this one under the same name.
      const now = this.#current.get(id) ?? this.entries.find((entry) => entry.name === name)
      if (this.away || this.#closed || !now?.remote) return undefined
      return now.remote === remote ? (contract ?? load()) : now.remote.accepted()
    }
    // A barrier is always safe but slower. Only a trusted provider may declare a tool parallel before it is resolved.
    const kindBeforeLoad = this.trusted && hints?.readOnly ? 'parallel' : 'barrier'
    const about = { provider: this.name, title, description }
    const quarantined = (): boolean => contract === undefined && this.#quarantinedFingerprints.has(id)
    const remote: RemoteEntry = { ...about, away: () => this.away, quarantined, load, accepted }
    const key = `${id}@provider:${this.name}` as const
    const keys = id === name ? ([key] as const) : ([key, `${name}@provider:${this.name}`] as const)
    return {
      name,
      id,
      keys,
      internal: false,
      get sensitive() {
        return sensitive || (contract?.sensitive ?? false)
      },
      get kind() {
        return contract?.concurrency.kind ?? kindBeforeLoad
      },
      get tool() {
        return contract
      },
      remote,
    }
  }

  async #resolve(name: string, id: string): Promise<Tool> {
    try {
      const tool = await this.#withTimeout(() => this.#provider.resolve(name))
      if (!isTool(tool)) throw new TypeError('it did not return a tool made with tool()')
      if (tool.name !== name) throw new TypeError(`it returned a tool named '${tool.name}'`)
      const own = remoteTool(tool, { id, provider: this.name, trusted: this.trusted })
      const definition = definitionOf(own, this.name)
      if (!(await this.#host.pins.isAccepted(definition))) throw this.#quarantine(id, definition.fingerprint)
      this.#quarantinedFingerprints.delete(id)
      this.#host.resolved(own)
      return own
    } catch (error) {
      if (!(error instanceof ToolQuarantined))
        this.#host.logger.warn(`Provider '${this.name}': resolving the tool '${name}' failed: ${errorText(error)}`, {
          tool: name,
        })
      throw error
    }
  }

  #quarantine(id: string, fingerprint: string): ToolQuarantined {
    const message = `Provider '${this.name}': the definition of its tool '${id}' is no longer the accepted one, so the tool is in quarantine`
    if (this.#quarantinedFingerprints.get(id) !== fingerprint)
      this.#host.logger.error(
        `${message}. It is not run until a person accepts the change: runtime.quarantine.accept(), or \`pawl mcp accept ${this.name} ${id}\`.`,
        {
          provider: this.name,
          tool: id,
          fingerprint,
        },
      )
    this.#quarantinedFingerprints.set(id, fingerprint)
    return new ToolQuarantined(message)
  }

  /** Rejects if the provider does not answer in time. A later answer is ignored. */
  #withTimeout<T>(ask: () => T | Promise<T>): Promise<T> {
    const { clock } = this.#host
    return new Promise((resolve, reject) => {
      const release = clock.hold()
      const cancelTimer = clock.timer(answerTimeoutMs, () => {
        release()
        reject(new Error(`it did not answer within ${answerTimeoutMs / 1_000} s`))
      })
      const answer = this.#contain(async () => await ask())
      void answer.then(resolve, reject).finally(() => {
        cancelTimer()
        release()
      })
    })
  }

  #contain<T>(run: () => T): T {
    return this.#host.contain(this.name, run)
  }
}

const secretsOf = ({ secrets = [] }: Provider): readonly string[] =>
  Array.isArray(secrets) ? secrets.filter((each) => typeof each === 'string') : []

export function checkProvider(provider: Provider): { name: string; trusted: boolean } {
  const refuse = (why: string): never => {
    throw new PawlError('config_invalid', `A provider ${why}.`)
  }
  if (typeof provider !== 'object' || provider === null) refuse('must be an object with name, list and resolve')
  const { name, trusted = false } = provider
  if (typeof name !== 'string' || !toolNamePattern.test(name))
    refuse(`has the name ${JSON.stringify(name)}; it must be 1 to 64 characters of A-Z a-z 0-9 _ -`)
  for (const each of ['list', 'resolve'] as const)
    if (typeof provider[each] !== 'function') refuse(`('${name}') has no function ${each}`)
  for (const each of ['onChange', 'close'] as const)
    if (provider[each] !== undefined && typeof provider[each] !== 'function')
      refuse(`('${name}') has a ${each} that is not a function`)
  if (typeof trusted !== 'boolean')
    refuse(`('${name}') has trusted: ${JSON.stringify(trusted)}; it must be true or false`)
  return { name, trusted }
}
