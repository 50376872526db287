// An MCP server as a provider of tools.

import type { Logger, Manifest, Provider, ProviderDetails, Tool } from '../../index.ts'
import { checkOptions, option, type OptionTable } from '../../core/check-options.ts'
import { systemClock } from '../../core/clock.ts'
import type { ContentSource } from '../content-source.ts'
import { isRecord } from './any-object.ts'
import { CallGate } from './call-gate.ts'
import { ServerConnection, ServerUnavailable } from './connection.ts'
import { convertTool, manifestOf, type RemoteDefinition } from './convert-tool.ts'
import { listPages } from './list-pages.ts'
import { deepWithoutSecrets } from './plain-text.ts'
import { type McpServerConfig, readServerConfig } from './server-config.ts'
import { serverContent } from './server-content.ts'
import { toolNames } from './tool-names.ts'

/** A provider whose tools are those of an MCP server. */
export interface McpProvider extends Provider {
  /** The resources and prompts of the server. */
  readonly content: ContentSource
}

/** Options of mcpProvider() that are not part of an entry in a configuration file. */
export interface McpProviderOptions {
  /** Receives what is wrong with the lists of the server. Default: none. */
  readonly logger?: Logger
}

export const mcpProviderOptions = { logger: option.object } satisfies OptionTable<McpProviderOptions>

/**
 * Connects to an MCP server when its tools are first listed, and again whenever the connection is lost.
 *
 * @example
 * const files = mcpProvider('files', { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '.'] })
 * const runtime = await createRuntime({ store: 'sqlite:agent.db', providers: [files] })
 */
export function mcpProvider(name: string, config: McpServerConfig, options: McpProviderOptions = {}): McpProvider {
  checkOptions(options, mcpProviderOptions, 'mcpProvider()')
  const connection = new ServerConnection(readServerConfig(name, config))
  return new ServerTools(connection, options.logger)
}

/** A server that needs longer for its first listing, such as one that `npx` downloads, is reported by a change. */
const patienceMs = 5_000

interface Listing {
  readonly manifests: readonly Manifest[]
  readonly tools: ReadonlyMap<string, RemoteDefinition>
}

class ServerTools implements McpProvider {
  readonly name: string
  readonly trusted: boolean
  readonly secrets: readonly string[]
  readonly content: ContentSource
  readonly #connection: ServerConnection
  readonly #gate: CallGate
  readonly #logger: Logger | undefined
  #lastWarning = ''
  /** How long the last listing took. */
  #latencyMs: number | undefined
  #tools: Listing['tools'] = new Map()
  #listing: Promise<Listing> | null = null
  /** A listing that finished after its caller had stopped waiting for it. */
  #late: Listing | null = null

  constructor(connection: ServerConnection, logger: Logger | undefined) {
    this.#logger = logger
    const { settings } = connection
    this.name = settings.name
    this.trusted = settings.trusted
    this.secrets = settings.secrets
    this.content = serverContent(connection)
    this.#connection = connection
    this.#gate = new CallGate(settings)
  }

  async list(): Promise<readonly Manifest[]> {
    const listing = this.#late ?? (await this.#inTime())
    this.#late = null
    this.#tools = listing.tools
    return listing.manifests
  }

  resolve(name: string): Tool {
    const definition = this.#tools.get(name)
    if (!definition) throw new Error(`The MCP server '${this.name}' has no such tool any more`)
    return convertTool(name, definition, this.#connection, this.#gate)
  }

  onChange(listener: () => void): () => void {
    return this.#connection.onChange((change) => (change === 'tools' ? listener() : undefined))
  }

  details(): ProviderDetails {
    const { protocol, settings } = this.#connection
    const transport = 'url' in settings.target ? 'http' : 'stdio'
    return {
      transport,
      ...(protocol === undefined ? {} : { protocol }),
      ...(this.#latencyMs === undefined ? {} : { latencyMs: this.#latencyMs }),
    }
  }

  reconnect(): void {
    this.#connection.reconnect()
  }

  close(): Promise<void> {
    return this.#connection.close()
  }

  #inTime(): Promise<Listing> {
    this.#listing ??= this.#read().finally(() => (this.#listing = null))
    const listing = this.#listing
    return new Promise((resolve, reject) => {
      const cancelTimer = systemClock.timer(patienceMs, () => {
        reject(new ServerUnavailable(`The MCP server '${this.name}' is still starting. Its tools will come later.`))
        listing.then(
          (late) => {
            this.#late = late
            this.#connection.emitTools()
          },
          () => {},
        )
      })
      listing.then(resolve, reject).finally(cancelTimer)
    })
  }

  async #read(): Promise<Listing> {
    const { settings } = this.#connection
    const client = await this.#connection.connect()
    if (!client.getServerCapabilities()?.tools) return { manifests: [], tools: new Map() }
    const startedAt = systemClock.monotonic()
    const { entries, problems } = await listPages(client, 'tools/list', 'tools', { timeout: settings.idleMs }).catch(
      (error: unknown) => {
        const why = this.#connection.describe(error)
        this.#connection.drop(client, `${why}.`)
        throw new ServerUnavailable(`The MCP server '${this.name}' did not list its tools: ${why}`)
      },
    )
    this.#latencyMs = Math.round(systemClock.monotonic() - startedAt)
    const byName = new Map<string, RemoteDefinition>()
    for (const entry of deepWithoutSecrets(entries, settings.secrets)) {
      const { name, execution } = entry
      if (typeof name !== 'string' || name === '' || name.length > 1_000) continue
      // Our client does not declare the tasks extension, so such a tool would refuse every call.
      if (isRecord(execution) && execution.taskSupport === 'required') continue
      // The first of two tools with one name is used: a later one must not replace it.
      if (settings.wants(name) && !byName.has(name)) byName.set(name, entry as RemoteDefinition)
    }
    const names = toolNames(settings.prefix, [...byName.keys()])
    const tools = new Map([...byName].map(([name, definition]) => [names.get(name) as string, definition]))
    this.#warnOnce(problems)
    return { manifests: [...tools].map(([shown, definition]) => manifestOf(shown, definition)), tools }
  }
  /** Logs the problems once as long as they stay the same. */
  #warnOnce(problems: readonly string[]): void {
    const warning = problems.join('; ')
    if (warning !== '' && warning !== this.#lastWarning)
      this.#logger?.warn(`The list of tools of the MCP server '${this.name}': ${warning}`, { provider: this.name })
    this.#lastWarning = warning
  }
}
