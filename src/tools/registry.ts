// The registry of a runtime's tools. Every change creates a new immutable toolset, so running batches keep theirs.
// Layers from lowest to highest: providers (the one added first wins), the runtime's own tools, a session's own tools.
// So a provider can never shadow a local tool.

import { PawlError } from '../core/errors.ts'
import { lengthPrefixed } from '../core/ids.ts'
import type { Scope } from '../core/scope.ts'
import type { Hints } from './tool-hints.ts'
import type { Provider } from './tool-provider.ts'
import { ProviderConnection, type ProviderPorts, type ProviderState } from './tool-provider-connection.ts'
import type { Tool } from './tool.ts'
import { type Entry, combineLayers, createLayer, type Toolset } from './toolset.ts'

/** A tool as `runtime.tools.list()` returns it. */
export interface ToolListing {
  /** Name of the tool. */
  readonly name: string
  /** Id of the tool. */
  readonly id: string
  /** Title for people. */
  readonly title: string | undefined
  /** Until the tool is resolved this is the text from the provider's list, not the pinned text. */
  readonly description: string
  /** Changes when the model-visible definition changes. Undefined until the tool is resolved from its provider. */
  readonly fingerprint: string | undefined
  /** Its effective hints; undefined until it is resolved. */
  readonly hints: Hints | undefined
  /** True if models cannot call it. */
  readonly internal: boolean
  /** Name of the provider; undefined for the runtime's own tools. */
  readonly provider: string | undefined
  /** False while the provider is unavailable or the tool is in quarantine. */
  readonly available: boolean
  /**
   * The last resolved definition was not the accepted one; see runtime.quarantine. Title and description are left out
   * then.
   */
  readonly quarantined: boolean
}

/** The runtime's toolset. Changes apply to batches that start later; running batches keep their tools. */
export interface RuntimeTools {
  /**
   * Adds tools to the runtime's own, all or none. An existing name or id throws `tool_duplicate`: remove that tool
   * first.
   */
  add(tools: Tool | readonly Tool[]): void
  /** Removes one of the runtime's own tools, by name or id. Returns false if there is none. */
  remove(name: string): boolean
  /** The runtime's own tools and those of providers, including internal ones, sorted by name. */
  list(): readonly ToolListing[]
  /** Adds a provider. Resolves when it has listed its tools, or is known to be unavailable; then it is retried. */
  provide(provider: Provider): Promise<void>
  /** Removes and closes a provider, by name. Returns false if there is none. */
  withdraw(provider: string): Promise<boolean>
  /** The providers and their state, in the order in which they were added. */
  providers(): readonly ProviderState[]
  /**
   * Ends the connection of a provider, makes a new one and lists its tools. Returns false if there is none, or if it has
   * no `reconnect`.
   */
  reconnect(provider: string): Promise<boolean>
  /** Calls the listener when tools may have been added, removed or changed. Returns a function that stops it. */
  onChange(listener: () => void): () => void
}

/** A session's own tools on top of the runtime's current ones. */
export interface SessionLayer {
  readonly toolset: Toolset
}

interface Layer extends SessionLayer {
  readonly entries: readonly Entry[]
}

export class Registry implements RuntimeTools {
  #own: readonly Entry[]
  /** Tools for handling tasks. Present as soon as any tool can run in the background. */
  readonly #taskTools: readonly Entry[]
  /** Tools that turns add themselves. No session lists them, but every worker can resume their calls. */
  readonly #unlisted: readonly Entry[]
  #base: Toolset
  #keys: readonly string[] = []
  readonly #host: ProviderPorts
  readonly #providers = new Map<string, ProviderConnection>()
  readonly #layers = new Map<string, Layer>()
  readonly #shadowed = new Set<string>()
  readonly #listeners = new Set<() => void>()
  #closed = false

  constructor(
    tools: readonly Tool[],
    {
      backgroundTools = [],
      unlisted = [],
      ...host
    }: Omit<ProviderPorts, 'changed' | 'resolved'> & { backgroundTools?: readonly Tool[]; unlisted?: readonly Tool[] },
  ) {
    this.#host = { ...host, changed: () => this.#rebuild(), resolved: (tool) => this.#warn(tool) }
    this.#taskTools = createLayer(backgroundTools)
    this.#unlisted = createLayer(unlisted)
    this.#own = createLayer(tools)
    this.#base = combineLayers([this.#own])
    refuseUnenforced(tools)
    this.#rebuild()
  }

  /** Adds a listener. The first one is the runtime, which forwards changes to batches and engine. */
  onChange(listener: () => void): () => void {
    const own = (): void => listener()
    this.#listeners.add(own)
    return () => void this.#listeners.delete(own)
  }

  /** Record keys of the tools that can run on this worker now. The worker claims only their calls. */
  get keys(): readonly string[] {
    return this.#keys
  }

  /** The toolset for a batch of this session that starts now. */
  toolsetFor(tenant: string, session: string): Toolset {
    if (this.#layers.size === 0) return this.#base
    return this.#layers.get(lengthPrefixed(tenant, session))?.toolset ?? this.#base
  }

  /** The session's current tool with this name; undefined if there is none or its contract is not loaded. */
  tool({ tenant, session }: Scope, name: string): Tool | undefined {
    return this.toolsetFor(tenant, session).get(name)
  }

  /** Replaces the session's own tools; an empty list removes them. */
  setSessionTools(tenant: string, session: string, tools: readonly Tool[]): SessionLayer {
    const key = lengthPrefixed(tenant, session)
    const entries = createLayer(tools, `session:${key}`)
    refuseUnenforced(tools)
    let builtOn = this.#base
    const base = (): Toolset => this.#base
    const build = (): Toolset => combineLayers([...this.#lowerLayers(entries), entries], undefined, this.#unlisted)
    let cached = build()
    const layer: Layer = {
      entries,
      get toolset() {
        if (builtOn !== base()) [builtOn, cached] = [base(), build()]
        return cached
      },
    }
    const replaced = this.#layers.delete(key)
    if (entries.length > 0) this.#layers.set(key, layer)
    if (replaced || entries.length > 0) this.#publish()
    return layer
  }

  add(tools: Tool | readonly Tool[]): void {
    const more = Array.isArray(tools) ? (tools as readonly Tool[]) : [tools as Tool]
    refuseUnenforced(more)
    this.#own = createLayer([...this.#own.map(({ tool }) => tool as Tool), ...more])
    this.#rebuild()
  }

  remove(name: string): boolean {
    const rest = this.#own.filter((entry) => entry.name !== name && entry.id !== name)
    if (rest.length === this.#own.length) return false
    this.#own = rest
    this.#rebuild()
    return true
  }

  list(): readonly ToolListing[] {
    return this.#base.entries.map(({ name, id, internal, tool, remote }) => {
      const quarantined = remote?.quarantined() ?? false
      // The list may be shown to a model, so it must not contain text that was not accepted.
      const shown = quarantined ? { title: undefined, description: '' } : (tool ?? remote)
      return {
        name,
        id,
        title: shown?.title,
        description: shown?.description ?? '',
        fingerprint: tool?.fingerprint,
        hints: tool?.hints,
        internal,
        provider: remote?.provider,
        available: !quarantined && !remote?.away(),
        quarantined,
      }
    })
  }

  async provide(provider: Provider): Promise<void> {
    if (this.#closed) throw new PawlError('runtime_closed')
    const connection = new ProviderConnection(provider, this.#host)
    if (this.#providers.has(connection.name))
      throw new PawlError('config_invalid', `A provider named '${connection.name}' already exists. Withdraw it first.`)
    this.#providers.set(connection.name, connection)
    await connection.open()
  }

  async withdraw(provider: string): Promise<boolean> {
    const connection = this.#providers.get(provider)
    if (!connection) return false
    this.#providers.delete(provider)
    this.#rebuild()
    await connection.close()
    return true
  }

  providers(): readonly ProviderState[] {
    return [...this.#providers.values()].map(({ state }) => state)
  }

  reconnect(provider: string): Promise<boolean> {
    return this.#providers.get(provider)?.reconnect() ?? Promise.resolve(false)
  }

  /** Names of providers that are unavailable. */
  get away(): readonly string[] {
    return [...this.#providers.values()].filter((source) => source.away).map(({ name }) => name)
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#providers.values()].map((source) => source.close()))
  }

  /** @param above A session's own entries. */
  #lowerLayers(above: readonly Entry[] = []): readonly (readonly Entry[])[] {
    // The last layer is the highest, and the provider added first wins.
    const provided = [...this.#providers.values()].map(({ entries }) => entries).toReversed()
    const hasBackgroundTool = [...this.#own, ...above].some(({ tool }) => tool?.background)
    return [...provided, ...(hasBackgroundTool ? [this.#taskTools] : []), this.#own]
  }

  #rebuild(): void {
    this.#base = combineLayers(this.#lowerLayers(), (entry) => this.#warnShadowed(entry), this.#unlisted)
    this.#publish()
  }

  #publish(): void {
    const layers = [...this.#layers.values()].map(({ entries }) => entries)
    const sessionEntries = layers.flat()
    const taskTools = sessionEntries.some(({ tool }) => tool?.background) ? this.#taskTools : []
    const runnable = [...this.#base.entries, ...taskTools, ...sessionEntries, ...this.#unlisted].filter(
      ({ remote }) => !remote?.away(),
    )
    // A tool may have several keys: calls recorded before it was given an id are under its name.
    this.#keys = runnable.flatMap(({ keys }) => keys)
    for (const listener of this.#listeners) listener()
  }

  /**
   * Logs once per tool: a provider's tool that cannot be reached is a mistake or an attempt to impersonate a local
   * tool.
   */
  #warnShadowed({ name, remote }: Entry): void {
    if (!remote) return // a local tool shadowed by a session's tool, on purpose
    const key = `${remote.provider} ${name}`
    if (this.#shadowed.has(key)) return
    this.#shadowed.add(key)
    this.#host.logger.warn(
      `The tool '${name}' of provider '${remote.provider}' is not used: its name or id belongs to another tool`,
      {
        tool: name,
      },
    )
  }

  #warn(tool: Tool): void {
    for (const warning of warningsOf(tool))
      this.#host.logger.warn(`Tool '${tool.name}': ${warning} It is only shown to the model.`, { tool: tool.name })
  }
}

const warningsOf = ({ input, output }: Tool): readonly string[] => [...input.warnings, ...(output?.warnings ?? [])]

/** The host can change its own tools, so a pattern in them must hold. A remote schema is not in its hands. */
function refuseUnenforced(tools: readonly Tool[]): void {
  for (const tool of tools)
    for (const warning of warningsOf(tool)) throw new PawlError('tool_invalid', `Tool '${tool.name}': ${warning}`)
}
