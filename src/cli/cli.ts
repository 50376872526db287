// The context of a command: output, settings, a client of the server or the local store, and the signal of Ctrl-C.

import type { Client } from '../client/client-types.ts'
import type { Runtime, RuntimeOptions } from '../index.ts'
import type { ServerSettings } from './config.ts'
import { CliError, exitCodes, type ExitCode } from './exit-codes.ts'
import { openLocalRuntime, type StoreNeeds } from './open-store.ts'
import type { Output } from './output/output.ts'
import type { Settings } from './settings.ts'

export interface CliOptions {
  readonly output: Output
  readonly settings: () => Promise<Settings>
  readonly signal: AbortSignal
  /** A person can be asked: stdin and stderr are a terminal, and this is no CI run. */
  readonly interactive: boolean
}

/** An open local store. */
export interface LocalStore {
  readonly runtime: Runtime
  readonly client: Client
  /** Model, frame and instructions of turns that name none. */
  readonly turnDefaults: NonNullable<ServerSettings['turn']>
}

/** The context of one run of `pawl`. */
export class Cli {
  readonly output: Output
  /** Aborts with Ctrl-C and SIGTERM. */
  readonly signal: AbortSignal
  readonly interactive: boolean
  readonly #readSettings: () => Promise<Settings>
  readonly #runtimes: Runtime[] = []

  constructor({ output, settings, signal, interactive }: CliOptions) {
    this.output = output
    this.signal = signal
    this.interactive = interactive
    this.#readSettings = settings
  }

  settings(): Promise<Settings> {
    return this.#readSettings()
  }

  /** The client of the server that `--url` names, or of the local store. */
  async client(needs: StoreNeeds = {}): Promise<Client> {
    const settings = await this.settings()
    if (settings.remote !== null) return openRemote(settings.remote, settings)
    const { client } = await this.local(needs)
    return client
  }

  /**
   * A runtime on the local store, and a client of it. It is closed when the command ends. `given`: options that replace
   * those of the configuration.
   */
  async local(needs: StoreNeeds, given?: Partial<RuntimeOptions>): Promise<LocalStore> {
    const settings = await this.settings()
    const { runtime, options } = await openLocalRuntime(settings, needs, this.output, given)
    this.#runtimes.push(runtime)
    const { localClient } = await import('./local-client.ts')
    const [model, another] = options.models ?? []
    const onlyModel = model && !another ? { model: model.name } : {}
    const turnDefaults = { ...onlyModel, ...settings.server.turn }
    const client = await localClient({
      runtime,
      tenant: settings.tenant.value,
      principal: settings.principal.value,
      turnDefaults,
      signal: this.signal,
    })
    return { runtime, client, turnDefaults }
  }

  /** Refuses a server: the command works on the store itself. */
  async requireLocal(command: string): Promise<Settings> {
    const settings = await this.settings()
    if (settings.remote !== null && settings.url?.source === 'flag')
      throw new CliError(exitCodes.usage, `\`pawl ${command}\` works on a local store; leave out --url.`)
    return settings
  }

  async close(): Promise<void> {
    for (const runtime of this.#runtimes.splice(0)) await runtime.close({ grace: this.signal.aborted ? 0 : '1s' })
  }
}

async function openRemote(url: string, { token, tenant }: Settings): Promise<Client> {
  const { createClient } = await import('../client/client.ts')
  return createClient({
    url,
    ...(token === null ? {} : { token: token.value }),
    // The token has a tenant; only a token for all tenants may name one.
    ...(tenant.source === 'default' ? {} : { tenant: tenant.value }),
  })
}

/** The implementation of a command. No result means success. */
export type Run<F> = (cli: Cli, args: readonly string[], flags: F) => Promise<ExitCode | void>
