// A provider as the runtime lives with it (TOOL-5). It may throw, hang, lie, come and go: none of that reaches a batch. What is asked of
// it is bounded in time, what it says is read once and checked, and while it is away it is asked again, less and less often. A contract is
// given only while its definition is the accepted one (POL-9).

import { PawlError } from '../core/errors.ts'
import type { Clock } from '../core/clock.ts'
import type { MaybePromise } from '../core/maybe-promise.ts'
import type { Logger } from './context/context.ts'
import { definitionOf, type Pins, ToolQuarantined } from './definition-pin.ts'
import { type Manifest, type Provider, readManifests, saying } from './provider.ts'
import { isTool, nameShape, type Tool } from './tool.ts'
import { remoteTool } from './derive-tool.ts'
import type { Entry, RemoteEntry } from './toolset.ts'

/** How long a source may take to answer. */
const patienceMs = 10_000
/** Changes that come faster are heard together: a source that always says "changed" must not keep the process busy. */
const gapMs = 100
const firstRetryMs = 1_000
const longestRetryMs = 60_000

export interface ProviderPorts {
  readonly clock: Clock
  readonly logger: Logger
  readonly pins: Pins
  /** Its entries are others now. */
  changed(): void
  /** Hears of each contract as it comes. */
  resolved(tool: Tool): void
  /** Runs code of the provider so that what it throws astray is known to be its own (CALL-11). */
  contain<T>(provider: string, run: () => T): T
}

export class ProviderConnection {
  readonly name: string
  readonly trusted: boolean
  entries: readonly Entry[] = []
  away = true
  readonly #provider: Provider
  readonly #host: ProviderPorts
  #manifests: readonly Manifest[] = []
  /** Its entries by id: batches under way may hold older ones. */
  #current: ReadonlyMap<string, Entry> = new Map()
  /** What is in quarantine, by id: the fingerprint that was told of. */
  readonly #held = new Map<string, string>()
  #refreshing: Promise<void> | null = null
  #again = false
  #lastLook = -Infinity
  #retryMs = firstRetryMs
  #callOff = (): void => {}
  #unsubscribe: unknown
  #told = ''
  #closed = false

  constructor(provider: Provider, host: ProviderPorts) {
    this.#provider = provider
    this.#host = host
    const { name, trusted } = checkProvider(provider)
    this.name = name
    this.trusted = trusted
  }

  /** Resolves when it has listed its tools, or was found to be away. */
  async open(): Promise<void> {
    try {
      this.#unsubscribe = this.#contained(() => this.#provider.onChange?.(() => this.#changed()))
    } catch (error) {
      this.#host.logger.warn(`Provider '${this.name}': onChange threw, so its changes are not heard: ${saying(error)}`)
    }
    await this.#refresh()
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#callOff()
    try {
      if (typeof this.#unsubscribe === 'function') this.#contained(this.#unsubscribe as () => void)
    } catch (error) {
      this.#host.logger.warn(`Provider '${this.name}': it could not be unsubscribed: ${saying(error)}`)
    }
    try {
      await this.#bounded(() => this.#provider.close?.())
    } catch (error) {
      this.#host.logger.warn(`Provider '${this.name}': close failed: ${saying(error)}`)
    }
  }

  #changed(): void {
    if (this.#closed) return
    this.#again = true
    if (!this.#refreshing) this.#soon(Math.max(0, this.#lastLook + gapMs - this.#host.clock.now()))
  }

  #soon(ms: number): void {
    this.#callOff()
    if (ms === 0) return void this.#refresh()
    this.#callOff = this.#host.clock.timer(ms, () => void this.#refresh())
  }

  /** Asks for the list. Never rejects; one at a time. */
  #refresh(): Promise<void> {
    this.#refreshing ??= this.#look().finally(() => {
      this.#refreshing = null
      if (this.#closed) return
      if (this.#again) this.#soon(gapMs)
      else if (this.away) {
        this.#soon(this.#retryMs)
        this.#retryMs = Math.min(this.#retryMs * 2, longestRetryMs)
      }
    })
    return this.#refreshing
  }

  async #look(): Promise<void> {
    this.#again = false
    this.#lastLook = this.#host.clock.now()
    let problems: readonly string[] = []
    try {
      const read = readManifests(await this.#bounded(() => this.#provider.list()))
      this.#manifests = read.manifests
      problems = read.problems
      this.away = false
      this.#retryMs = firstRetryMs
    } catch (error) {
      // What it had listed stays known by name, so that a call of it hears that the source is away, not that there is no such tool.
      this.away = true
      problems = [`it is away and is asked again later: ${saying(error)}`]
    }
    if (this.#closed) return
    this.#tell(problems)
    // Contracts are fetched anew: what a source says has changed may be any of them.
    this.entries = this.#manifests.map((manifest) => this.#entryOf(manifest))
    this.#current = new Map(this.entries.map((entry) => [entry.id, entry]))
    this.#host.changed()
  }

  /** Once, however often it stays the same. */
  #tell(problems: readonly string[]): void {
    const said =
      problems.length > 5 ? `${problems.slice(0, 5).join('; ')}; and ${problems.length - 5} more` : problems.join('; ')
    if (said !== '' && said !== this.#told)
      this.#host.logger.warn(`Provider '${this.name}': ${said}`, { provider: this.name })
    this.#told = said
  }

  #entryOf({ name, id = name, title, description, hints, sensitive = false }: Manifest): Entry {
    let contract: Tool | undefined
    let loading: Promise<Tool> | undefined
    /** The entry of the last look, if that is another one. */
    const newer = (): RemoteEntry | undefined => {
      const current = this.#current.get(id)?.remote
      return current === remote ? undefined : current
    }
    const load = (): Promise<Tool> => {
      if (this.away || this.#closed) return Promise.reject(new Error('The source is away'))
      loading ??= (newer()?.load() ?? this.#resolve(name, id)).then(
        (tool) => (contract = tool),
        // What is in quarantine is asked for again too: somebody may have accepted it, or the source returned to what it was.
        (error: unknown) => {
          loading = undefined
          throw error
        },
      )
      return loading
    }
    const accepted = (): MaybePromise<Tool | undefined> => {
      // One that has the name under another id now is another tool, and still tells what became of this one.
      const now = this.#current.get(id) ?? this.entries.find((entry) => entry.name === name)
      if (this.away || this.#closed || !now?.remote) return undefined
      return now.remote === remote ? (contract ?? load()) : now.remote.accepted()
    }
    // A barrier is always right, if slower: only a source that is trusted may say beforehand that its tool runs beside others.
    const guess = this.trusted && hints?.readOnly ? 'parallel' : 'barrier'
    const about = { provider: this.name, title, description }
    const held = (): boolean => contract === undefined && this.#held.has(id)
    const remote: RemoteEntry = { ...about, away: () => this.away, held, load, accepted }
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
        return contract?.concurrency.kind ?? guess
      },
      get tool() {
        return contract
      },
      remote,
    }
  }

  async #resolve(name: string, id: string): Promise<Tool> {
    try {
      const tool = await this.#bounded(() => this.#provider.resolve(name))
      if (!isTool(tool)) throw new TypeError('what it resolved to was not made with tool()')
      if (tool.name !== name) throw new TypeError(`what it resolved to is named '${tool.name}'`)
      const own = remoteTool(tool, { id, provider: this.name, trusted: this.trusted })
      const definition = definitionOf(own, this.name)
      if (!(await this.#host.pins.judge(definition))) throw this.#quarantined(id, definition.fingerprint)
      this.#held.delete(id)
      this.#host.resolved(own)
      return own
    } catch (error) {
      if (!(error instanceof ToolQuarantined))
        this.#host.logger.warn(`Provider '${this.name}': it did not give the tool '${name}': ${saying(error)}`, {
          tool: name,
        })
      throw error
    }
  }

  #quarantined(id: string, fingerprint: string): ToolQuarantined {
    const why = `Provider '${this.name}': the definition of its tool '${id}' is not the accepted one any more, so it is in quarantine`
    if (this.#held.get(id) !== fingerprint)
      this.#host.logger.error(`${why}. See runtime.quarantine.list().`, { provider: this.name, tool: id, fingerprint })
    this.#held.set(id, fingerprint)
    return new ToolQuarantined(why)
  }

  /** What the provider answers, or an error when it takes too long. What it says after that is dropped. */
  #bounded<T>(ask: () => T | Promise<T>): Promise<T> {
    const { clock } = this.#host
    return new Promise((resolve, reject) => {
      const letGo = clock.hold()
      const callOff = clock.timer(patienceMs, () => {
        letGo()
        reject(new Error(`it did not answer within ${patienceMs / 1_000} s`))
      })
      const asked = this.#contained(async () => await ask())
      void asked.then(resolve, reject).finally(() => {
        callOff()
        letGo()
      })
    })
  }

  #contained<T>(run: () => T): T {
    return this.#host.contain(this.name, run)
  }
}

function checkProvider(provider: Provider): { name: string; trusted: boolean } {
  const wrong = (why: string): never => {
    throw new PawlError('config_invalid', `A provider ${why}.`)
  }
  if (typeof provider !== 'object' || provider === null) wrong('is an object with a name, list and resolve')
  const { name, trusted = false } = provider
  if (typeof name !== 'string' || !nameShape.test(name))
    wrong(`has the name ${JSON.stringify(name)}; it must be 1 to 64 of A-Z a-z 0-9 _ -`)
  for (const each of ['list', 'resolve'] as const)
    if (typeof provider[each] !== 'function') wrong(`('${name}') has no function ${each}`)
  for (const each of ['onChange', 'close'] as const)
    if (provider[each] !== undefined && typeof provider[each] !== 'function')
      wrong(`('${name}') has a ${each} that is not a function`)
  if (typeof trusted !== 'boolean')
    wrong(`('${name}') has trusted: ${JSON.stringify(trusted)}; it must be true or false`)
  return { name, trusted }
}
