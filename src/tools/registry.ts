// The tools of a runtime, which come and go (TOOL-4, TOOL-5). Every change makes a new immutable toolset; who holds an older one is not
// disturbed. From the lowest layer to the uppermost: providers (of two, the one that came first wins), the runtime's own, a session's own.
// So a remote source never takes a local tool over.

import { PawlError } from '../core/errors.ts'
import { frame } from '../core/ids.ts'
import type { Hints } from './hints.ts'
import type { Provider } from './provider.ts'
import { ProviderConnection, type ProviderPorts } from './provider-connection.ts'
import type { Tool } from './tool.ts'
import { type Entry, layered, layerOf, type Toolset } from './toolset.ts'

/** A tool as `runtime.tools.list()` tells of it. */
export interface ToolListing {
  readonly name: string
  readonly id: string
  readonly title: string | undefined
  /** Until the contract has been fetched from its provider: what its list says, which is not what is pinned. */
  readonly description: string
  /** Changes when what the model is told does. Undefined while the contract has not been fetched from its provider. */
  readonly fingerprint: string | undefined
  readonly hints: Hints | undefined
  readonly internal: boolean
  /** Whose it is, if not the runtime's own. */
  readonly provider: string | undefined
  /** False while its provider is away, or it is in quarantine. */
  readonly available: boolean
  /** When it was last asked for, its definition was not the accepted one: see runtime.quarantine. Its words are not shown here. */
  readonly quarantined: boolean
}

/** The runtime's toolset, for its host. What changes is seen by batches that begin later; those under way keep what they have. */
export interface RuntimeTools {
  /** Adds tools to the runtime's own, all or none. A name or id that is there already is `tool_duplicate`: remove that one first. */
  add(tools: Tool | readonly Tool[]): void
  /** Takes one of the runtime's own tools away, by name or id. False if there is none. */
  remove(name: string): boolean
  /** The runtime's own and its providers' tools, internal ones too, sorted by name. */
  list(): readonly ToolListing[]
  /** Adds a live source of tools. Resolves when it has listed them, or was found to be away; it is asked again then. */
  provide(provider: Provider): Promise<void>
  /** Ends a provider, by its name. False if there is none. */
  withdraw(provider: string): Promise<boolean>
}

/** The own tools of one session, above whatever the runtime has at the moment. */
export interface SessionLayer {
  readonly toolset: Toolset
}

interface Layer extends SessionLayer {
  readonly entries: readonly Entry[]
}

export class Registry implements RuntimeTools {
  #own: readonly Entry[]
  /** With which models handle tasks: there as soon as a tool can run in the background. */
  readonly #forTasks: readonly Entry[]
  /** What turns offer by themselves: no session lists it, and every worker can go on with it. */
  readonly #unlisted: readonly Entry[]
  #base: Toolset
  #keys: readonly string[] = []
  readonly #host: ProviderPorts
  readonly #sources = new Map<string, ProviderConnection>()
  readonly #layers = new Map<string, Layer>()
  readonly #shadowed = new Set<string>()
  #changed = (): void => {}
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
    this.#forTasks = layerOf(backgroundTools)
    this.#unlisted = layerOf(unlisted)
    this.#own = layerOf(tools)
    this.#base = layered([this.#own])
    for (const tool of tools) this.#warn(tool)
    this.#rebuild()
  }

  /** One listener: the runtime, which tells batches and engine. */
  onChange(listener: () => void): void {
    this.#changed = listener
  }

  /** What records call the tools that can be run here now: a worker claims no others. */
  get keys(): readonly string[] {
    return this.#keys
  }

  /** What a batch of this session sees if it begins now. */
  live(tenant: string, session: string): Toolset {
    if (this.#layers.size === 0) return this.#base
    return this.#layers.get(frame(tenant, session))?.toolset ?? this.#base
  }

  /** The session's own tools from now on, until others are given; an empty list ends them. */
  layer(tenant: string, session: string, tools: readonly Tool[]): SessionLayer {
    const place = frame(tenant, session)
    const entries = layerOf(tools, `session:${place}`)
    for (const tool of tools) this.#warn(tool)
    let over = this.#base
    const base = (): Toolset => this.#base
    const rebuilt = (): Toolset => layered([...this.#lower(entries), entries], undefined, this.#unlisted)
    let set = rebuilt()
    const layer: Layer = {
      entries,
      get toolset() {
        if (over !== base()) [over, set] = [base(), rebuilt()]
        return set
      },
    }
    const had = this.#layers.delete(place)
    if (entries.length > 0) this.#layers.set(place, layer)
    if (had || entries.length > 0) this.#tell()
    return layer
  }

  add(tools: Tool | readonly Tool[]): void {
    const more = Array.isArray(tools) ? (tools as readonly Tool[]) : [tools as Tool]
    this.#own = layerOf([...this.#own.map(({ tool }) => tool as Tool), ...more])
    for (const tool of more) this.#warn(tool)
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
      const quarantined = remote?.held() ?? false
      // Who makes a list for a model of this must not pass on what nobody has accepted.
      const said = quarantined ? { title: undefined, description: '' } : (tool ?? remote)
      return {
        name,
        id,
        title: said?.title,
        description: said?.description ?? '',
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
    const source = new ProviderConnection(provider, this.#host)
    if (this.#sources.has(source.name))
      throw new PawlError('config_invalid', `There is a provider '${source.name}' already: withdraw it first.`)
    this.#sources.set(source.name, source)
    await source.open()
  }

  async withdraw(provider: string): Promise<boolean> {
    const source = this.#sources.get(provider)
    if (!source) return false
    this.#sources.delete(provider)
    this.#rebuild()
    await source.close()
    return true
  }

  /** Names of sources that cannot tell what they have. */
  get away(): readonly string[] {
    return [...this.#sources.values()].filter((source) => source.away).map(({ name }) => name)
  }

  async close(): Promise<void> {
    this.#closed = true
    await Promise.all([...this.#sources.values()].map((source) => source.close()))
  }

  /** `above`: what a session has of its own. */
  #lower(above: readonly Entry[] = []): readonly (readonly Entry[])[] {
    // The last of the list is the uppermost, and of two providers the first wins.
    const provided = [...this.#sources.values()].map(({ entries }) => entries).toReversed()
    const inBackground = [...this.#own, ...above].some(({ tool }) => tool?.background)
    return [...provided, ...(inBackground ? [this.#forTasks] : []), this.#own]
  }

  #rebuild(): void {
    this.#base = layered(this.#lower(), (entry) => this.#hidden(entry), this.#unlisted)
    this.#tell()
  }

  #tell(): void {
    const layers = [...this.#layers.values()].map(({ entries }) => entries)
    const ofSessions = layers.flat()
    const forTasks = ofSessions.some(({ tool }) => tool?.background) ? this.#forTasks : []
    const here = [...this.#base.entries, ...forTasks, ...ofSessions, ...this.#unlisted].filter(
      ({ remote }) => !remote?.away(),
    )
    // A tool that got an id later is on record by its name.
    this.#keys = here.flatMap(({ keys }) => keys)
    this.#changed()
  }

  /** Told once: a remote tool that nobody can reach is a surprise, or an attempt. */
  #hidden({ name, remote }: Entry): void {
    if (!remote) return // ours, and the host has its own
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

  #warn({ name, input, output }: Tool): void {
    for (const warning of [...input.warnings, ...(output?.warnings ?? [])])
      this.#host.logger.warn(`Tool '${name}': ${warning}`, { tool: name })
  }
}
