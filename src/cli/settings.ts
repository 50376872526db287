// The effective configuration of a command: flags before environment variables before the file before defaults, each
// value with its source. Used by every command; `pawl config --effective` shows it.

import { existsSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { userInfo } from 'node:os'
import { pathToFileURL } from 'node:url'
import { checkOptions, option, type OptionTable } from '../core/check-options.ts'
import type { RuntimeOptions } from '../index.ts'
import type { PawlConfig, ServerSettings } from './config.ts'
import { CliError, exitCodes } from './exit-codes.ts'
import { maskedUrl } from './output/masked-url.ts'

export type Source = 'flag' | 'environment' | 'file' | 'default'

/** A value and where it comes from. */
export interface Setting<T> {
  readonly value: T
  readonly source: Source
  /** The flag, the variable or the file. */
  readonly from: string
}

/** The flags that every command has. */
export interface GlobalFlags {
  readonly url?: string
  readonly token?: string
  readonly store?: string
  readonly tenant?: string
  readonly as?: string
  readonly config?: string
  /** The servers file of the gateway; set by program.ts. */
  readonly servers?: string
  readonly json?: boolean
  readonly jsonl?: boolean
  readonly quiet?: boolean
  /** Of `serve` and `worker`: only log lines are written to stderr. */
  readonly log?: string
  /** False with `--no-color`. */
  readonly color?: boolean
}

export interface Settings {
  /** The configuration file; null if there is none. */
  readonly file: string | null
  readonly store: Setting<string>
  readonly url: Setting<string> | null
  readonly token: Setting<string> | null
  readonly tenant: Setting<string>
  /** The principal that acts on a local store. */
  readonly principal: Setting<string>
  readonly keys: Setting<NonNullable<RuntimeOptions['keys']>> | null
  readonly port: Setting<number>
  readonly host: Setting<string>
  readonly server: Omit<ServerSettings, 'port' | 'host'>
  readonly runtime: PawlConfig['runtime']
  /** The server that commands work on; null: the local store. */
  readonly remote: string | null
}

/** The hint of commands that need tools and find none. */
export const noToolsHint =
  "There are no tools. Name them in pawl.config.ts: export default { runtime: { tools: [refund] } }, or { runtime: () => import('./tools.ts') }."

const fileNames = ['pawl.config.ts', 'pawl.config.mjs', 'pawl.config.js']
export const defaultStore = 'sqlite:.pawl/pawl.db'

const serverTable = {
  port: option.wholeNumber(0, 65_535),
  host: option.nonEmptyString,
  allowedHosts: option.listOf(option.nonEmptyString),
  grace: option.duration,
  turn: option.nested({
    model: option.nonEmptyString,
    frame: option.either(option.nonEmptyString, option.object),
    instructions: option.string,
  }),
} satisfies OptionTable<ServerSettings>

const configTable = {
  store: option.hidden(option.nonEmptyString),
  keys: option.hidden(option.object),
  tenant: option.identifier,
  runtime: option.either(option.func, option.object),
  server: option.nested(serverTable),
  url: option.nonEmptyString,
  token: option.hidden(option.nonEmptyString),
} satisfies OptionTable<PawlConfig>

type Environment = Readonly<Record<string, string | undefined>>

export async function readSettings(
  flags: GlobalFlags,
  env: Environment = process.env,
  cwd: string = flags.servers === undefined ? process.cwd() : folderOfServersFile(flags.servers),
): Promise<Settings> {
  const file = findFile(flags.config ?? (env.PAWL_CONFIG || undefined), cwd)
  const config = file === null ? {} : await loadFile(file)
  const variable = (...names: string[]): Setting<string> | null => {
    for (const name of names) if (env[name]) return { value: env[name], source: 'environment', from: name }
    return null
  }
  const flag = (name: 'url' | 'token' | 'store' | 'tenant' | 'as'): Setting<string> | null =>
    flags[name] === undefined ? null : { value: flags[name], source: 'flag', from: `--${name}` }
  const fromFile = <T>(value: T | undefined): Setting<T> | null =>
    value === undefined ? null : { value, source: 'file', from: file ?? '' }
  const byDefault = <T>(value: T, from = ''): Setting<T> => ({ value, source: 'default', from })

  const base = file === null ? cwd : dirname(file)
  const store =
    flag('store') ??
    variable('PAWL_STORE', 'DATABASE_URL') ??
    fromFile(config.store === undefined ? undefined : relativeTo(base, config.store)) ??
    byDefault(relativeTo(base, defaultStore))
  const url = flag('url') ?? variable('PAWL_URL') ?? fromFile(config.url)
  const port = variable('PAWL_PORT')
  return {
    file,
    store,
    url,
    token: flag('token') ?? variable('PAWL_TOKEN') ?? fromFile(config.token),
    tenant: flag('tenant') ?? variable('PAWL_TENANT') ?? fromFile(config.tenant) ?? byDefault('default'),
    principal: flag('as') ?? variable('PAWL_AS') ?? byDefault(`user:${userName(env)}`, 'the user of this machine'),
    keys: keysOf(variable('PAWL_KEYS', 'PAWL_SECRET')) ?? fromFile(config.keys),
    port: port ? { ...port, value: portOf(port.value, port.from) } : (fromFile(config.server?.port) ?? byDefault(7717)),
    host: variable('PAWL_HOST') ?? fromFile(config.server?.host) ?? byDefault('127.0.0.1'),
    server: config.server ?? {},
    runtime: config.runtime,
    remote: url !== null && rank[url.source] <= rank[store.source] ? checkUrl(url) : null,
  }
}

/** A store that is named closer to the command than the server is the one that is meant. */
const rank: Readonly<Record<Source, number>> = { flag: 0, environment: 1, file: 2, default: 3 }

export function portOf(text: string, from: string): number {
  const port = Number(text)
  if (!/^\d{1,5}$/.test(text) || port > 65_535)
    throw new CliError(exitCodes.usage, `${from} is '${text}'; it must be a port from 0 to 65535.`)
  return port
}

function checkUrl({ value, from }: Setting<string>): string {
  if (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)) return value.replace(/\/+$/, '')
  throw new CliError(
    exitCodes.usage,
    `${from} is '${maskedUrl(value)}'; it must be the address of a server, like http://127.0.0.1:7717.`,
  )
}

/** The current secret, and earlier ones behind commas. */
function keysOf(variable: Setting<string> | null): Settings['keys'] {
  if (variable === null) return null
  const [secret = '', ...previous] = variable.from === 'PAWL_KEYS' ? variable.value.split(',') : [variable.value]
  return { ...variable, value: { secret, ...(previous.length > 0 ? { previous } : {}) } }
}

/**
 * The folder that a servers file belongs to: a host starts the gateway in any folder, and the configuration and the
 * store of that folder are not meant.
 */
export function folderOfServersFile(file: string): string {
  const folder = dirname(resolve(file))
  return basename(folder) === '.pawl' ? dirname(folder) : folder
}

/** A relative SQLite file of the configuration belongs to the project, wherever the command runs. */
function relativeTo(folder: string, store: string): string {
  const path = store.startsWith('sqlite:') ? store.slice('sqlite:'.length) : null
  return path === null || isAbsolute(path) || path.startsWith(':') ? store : `sqlite:${join(folder, path)}`
}

function findFile(given: string | undefined, cwd: string): string | null {
  if (given !== undefined) {
    const file = resolve(cwd, given)
    if (existsSync(file)) return file
    throw new CliError(exitCodes.usage, `There is no configuration file ${file}.`)
  }
  for (let folder = cwd; ; folder = dirname(folder)) {
    for (const name of fileNames) if (existsSync(join(folder, name))) return join(folder, name)
    if (existsSync(join(folder, '.git')) || dirname(folder) === folder) return null
  }
}

async function loadFile(file: string): Promise<PawlConfig> {
  let loaded: { readonly default?: unknown }
  try {
    loaded = (await import(pathToFileURL(file).href)) as typeof loaded
  } catch (error) {
    throw new CliError(
      exitCodes.usage,
      `The configuration ${file} cannot be loaded: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    )
  }
  if (loaded.default === undefined)
    throw new CliError(exitCodes.usage, `${file} has no default export. Write: export default defineConfig({ … })`)
  checkOptions(loaded.default, configTable, file)
  return loaded.default as PawlConfig
}

function userName(env: Environment): string {
  try {
    return userInfo().username
  } catch {
    return env.USER || 'unknown' // a container whose user id has no name
  }
}

/** The options of the runtime from the configuration. A function is called here, and only here. */
export async function loadRuntimeOptions({ runtime, file }: Settings): Promise<Partial<RuntimeOptions>> {
  if (typeof runtime !== 'function') return runtime ?? {}
  try {
    const given: unknown = await runtime()
    const isModule = typeof given === 'object' && given !== null && 'default' in given
    const options = isModule ? given.default : given
    if (typeof options === 'object' && options !== null) return options
  } catch (error) {
    throw new CliError(
      exitCodes.usage,
      `\`runtime\` of ${file} failed: ${error instanceof Error ? error.message : String(error)}`,
      { cause: error },
    )
  }
  throw new CliError(
    exitCodes.usage,
    `\`runtime\` of ${file} returned no options. It must return options of createRuntime(), or a module whose default export they are.`,
  )
}
