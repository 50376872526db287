// One entry of `servers.json`: how to reach an MCP server, and what it may do. The keys `command`, `args`, `env`, `cwd`,
// `url` and `headers` are those of the hosts, so that an entry can be copied from their configuration.

import { checkOptions, option, type OptionTable } from '../../core/check-options.ts'
import { type Duration, milliseconds } from '../../core/duration.ts'
import { PawlError } from '../../core/errors.ts'
import { childEnvironment, resolveReferences } from './environment.ts'
import { defaultPrefix } from './tool-names.ts'

/** How to reach an MCP server, and what it may do. */
export interface McpServerConfig {
  /** The program of a stdio server. Either `command` or `url` is required. */
  readonly command?: string
  /** Arguments of the program. */
  readonly args?: readonly string[]
  /**
   * Variables of the child, besides PATH, HOME and the like. `${NAME}` is replaced by a variable of this process, so that
   * secrets need not be in the file.
   */
  readonly env?: Readonly<Record<string, string>>
  /** The working directory of the program. Default: that of this process. */
  readonly cwd?: string
  /** The address of a streamable HTTP server. */
  readonly url?: string
  /** Headers of each request; `${NAME}` as in `env`. */
  readonly headers?: Readonly<Record<string, string>>
  /** Believe its hints: its read-only tools run without approval. Default: false. */
  readonly trusted?: boolean
  /** Comes before the names of its tools: `<prefix>__<tool>`. Default: the name of the server. '' for none. */
  readonly prefix?: string
  /** Only these tools, by their names at the server; `*` matches any characters. Default: all. */
  readonly tools?: readonly string[]
  /** `idle`: without an answer or progress. `total`: in all. Default: 1 minute and 10 minutes. */
  readonly timeout?: { readonly idle?: Duration; readonly total?: Duration }
  /** Calls that run at the same time. Default: 10. */
  readonly concurrency?: number
  /** Calls of a rate window. Default: no limit. */
  readonly rate?: { readonly calls: number; readonly per: Duration }
  /** The server is configured but not used. */
  readonly disabled?: boolean
}

export const serverConfigOptions = {
  command: option.nonEmptyString,
  args: option.listOf(option.string),
  env: option.recordOf(option.hidden(option.string)),
  cwd: option.nonEmptyString,
  url: option.nonEmptyString,
  headers: option.recordOf(option.hidden(option.string)),
  trusted: option.boolean,
  prefix: {
    expected: 'at most 32 characters of A-Z a-z 0-9 _ -',
    valid: (value: unknown) => typeof value === 'string' && /^[A-Za-z0-9_-]{0,32}$/.test(value),
  },
  tools: option.listOf(option.nonEmptyString),
  timeout: option.nested({
    idle: option.positiveDuration,
    total: option.positiveDuration,
  } satisfies OptionTable<NonNullable<McpServerConfig['timeout']>>),
  concurrency: option.wholeNumber(1),
  rate: option.nested({
    calls: option.required(option.wholeNumber(1)),
    per: option.required(option.positiveDuration),
  } satisfies OptionTable<NonNullable<McpServerConfig['rate']>>),
  disabled: option.boolean,
} satisfies OptionTable<McpServerConfig>

/** A checked configuration with its references resolved. */
export interface ServerSettings {
  readonly name: string
  readonly target: StdioTarget | HttpTarget
  readonly trusted: boolean
  readonly prefix: string
  /** Whether the `tools` filter lets a tool of the server pass. */
  readonly wants: (tool: string) => boolean
  readonly idleMs: number
  readonly totalMs: number
  readonly concurrency: number
  readonly rate: { readonly calls: number; readonly perMs: number } | null
  /** Values that must not be shown: those of references, and literals under a name like `token`. */
  readonly secrets: readonly string[]
}

export interface StdioTarget {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string | undefined
}

export interface HttpTarget {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
}

const namePattern = /^[A-Za-z0-9_-]{1,64}$/

export function readServerConfig(name: string, config: McpServerConfig): ServerSettings {
  const refuse = (why: string): never => {
    throw new PawlError('config_invalid', `The MCP server ${JSON.stringify(name)}: ${why}.`)
  }
  if (typeof name !== 'string' || !namePattern.test(name)) refuse('a name has 1 to 64 characters of A-Z a-z 0-9 _ -')
  checkOptions(config, serverConfigOptions, `The MCP server '${name}'`)
  const { url, timeout = {}, rate, concurrency = 10, tools, trusted = false } = config
  if ((config.command === undefined) === (url === undefined)) refuse('exactly one of `command` and `url` must be set')
  const wrong = (['args', 'env', 'cwd'] as const).find((each) => url !== undefined && config[each] !== undefined)
  if (wrong) refuse(`\`${wrong}\` is only for a server with \`command\``)
  if (url === undefined && config.headers) refuse('`headers` is only for a server with `url`')
  const env = resolveReferences(config.env ?? {}, 'env', refuse)
  const headers = resolveReferences(config.headers ?? {}, 'headers', refuse)
  const target =
    url === undefined
      ? {
          command: config.command as string,
          args: config.args ?? [],
          env: { ...childEnvironment(), ...env.values },
          cwd: config.cwd,
        }
      : { url: readUrl(url, refuse), headers: checkedHeaders(headers.values, refuse) }
  const patterns = tools?.map(nameFilter)
  return {
    name,
    target,
    trusted,
    prefix: config.prefix ?? defaultPrefix(name),
    wants: (tool) => patterns === undefined || patterns.some((matches) => matches(tool)),
    idleMs: milliseconds(timeout.idle ?? '1m', 'timeout.idle'),
    totalMs: milliseconds(timeout.total ?? '10m', 'timeout.total'),
    concurrency,
    rate: rate ? { calls: rate.calls, perMs: milliseconds(rate.per, 'rate.per') } : null,
    secrets: [...new Set([...env.secrets, ...headers.secrets])],
  }
}

function readUrl(text: string, refuse: (why: string) => never): URL {
  const url = URL.canParse(text) ? new URL(text) : refuse('`url` is not a URL')
  if (url.protocol !== 'https:' && url.protocol !== 'http:') refuse('`url` must begin with https:// or http://')
  if (url.username !== '' || url.password !== '') refuse('`url` contains a password; use `headers` with a reference')
  return url
}

function checkedHeaders(headers: Record<string, string>, refuse: (why: string) => never): Record<string, string> {
  try {
    return Object.fromEntries(new Headers(headers))
  } catch {
    // The message of the error contains the value.
    return refuse('`headers` contains a name or value that HTTP does not allow')
  }
}

/** Matches names without a regular expression, whose `*` could take exponential time. */
function nameFilter(pattern: string): (name: string) => boolean {
  const [first = '', ...rest] = pattern.split('*')
  if (rest.length === 0) return (name) => name === pattern
  const last = rest.pop() as string
  return (name) => {
    if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false
    let from = first.length
    for (const part of rest) {
      const at = name.indexOf(part, from)
      if (at === -1) return false
      from = at + part.length
    }
    return from <= name.length - last.length
  }
}
