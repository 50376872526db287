// Opens the runtime on the local store for a command, with as much of the configuration as the command needs.

import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Logger, Runtime, RuntimeOptions } from '../index.ts'
import type { Output } from './output/output.ts'
import { yellow } from './output/output.ts'
import { CliError, exitCodes } from './exit-codes.ts'
import { loadRuntimeOptions, type Settings } from './settings.ts'

/** Formats of log lines, besides the text for people. */
export type LogFormat = 'json'

/** The needs of a command of the local store. */
export interface StoreNeeds {
  /** Load tools and models from the configuration. */
  readonly tools?: boolean
  /** Run calls in this process. */
  readonly worker?: boolean
  /** Create the store if there is none. */
  readonly create?: boolean
  /** Log lines as JSON, whatever logger the configuration has. */
  readonly log?: LogFormat | undefined
}

/** Options that change how a store is read; a configuration that is an object is loaded anyway. */
const readingOptions = ['secrets', 'encrypt', 'sizes', 'values', 'files', 'output', 'commit'] as const

/** The file of an SQLite store. */
export const fileOf = (store: string): string | null =>
  store.startsWith('sqlite:') ? store.slice('sqlite:'.length) : null

export async function openLocalRuntime(
  settings: Settings,
  { tools = false, worker = false, create = false, log }: StoreNeeds,
  output: Output,
  given?: Partial<RuntimeOptions>,
): Promise<{ readonly runtime: Runtime; readonly options: Partial<RuntimeOptions> }> {
  const { store, keys } = settings
  const options = given ?? (tools ? await loadRuntimeOptions(settings) : readingPart(settings))
  prepareFile(typeof given?.store === 'string' ? given.store : store.value, create)
  const { createRuntime, jsonLogger } = await import('../index.ts')
  const runtime = await createRuntime({
    // A store object of the configuration is used unless a store is named.
    ...(keys === null ? {} : { keys: keys.value }),
    logger: loggerOf(output),
    ...options,
    ...(log === 'json' ? { logger: jsonLogger() } : {}),
    store: options.store !== undefined && store.source === 'default' ? options.store : store.value,
    worker,
  })
  return { runtime, options }
}

function readingPart({ runtime }: Settings): Partial<RuntimeOptions> {
  if (typeof runtime !== 'object') return {}
  return Object.fromEntries(
    readingOptions.flatMap((name) => (runtime[name] === undefined ? [] : [[name, runtime[name]]])),
  )
}

function prepareFile(store: string, create: boolean): void {
  const file = fileOf(store)
  if (file === null || existsSync(file)) return
  if (!create)
    throw new CliError(
      exitCodes.notFound,
      `There is no store ${file} yet. \`pawl serve\`, \`pawl worker\` or \`pawl call\` creates it; --store names another one.`,
    )
  mkdirSync(dirname(file), { recursive: true })
}

/** Warnings and errors of the runtime on stderr, without the control characters of what they quote. */
export function loggerOf(output: Output): Logger {
  const write = (message: string, fields: Record<string, unknown> = {}): void => {
    const { error, causes, ...rest } = fields
    const shown = Object.entries(rest).flatMap(([name, value]) =>
      typeof value === 'string' || typeof value === 'number' ? [`${name}=${value}`] : [],
    )
    // `causes` are stack traces; the first line of each is its message.
    const traces = Array.isArray(causes) ? causes.map((each) => String(each).split('\n', 1)[0] ?? '') : []
    const cause = error instanceof Error ? [error.message] : traces
    output.note(yellow('! '), [message, ...shown, ...cause].join('  '))
  }
  return { debug() {}, info() {}, warn: write, error: write }
}
