// The options of createServer(), their table and defaults.

import { checkOptions, option, type OptionTable } from '../core/check-options.ts'
import { type Clock, systemClock } from '../core/clock.ts'
import { type Duration, milliseconds } from '../core/duration.ts'
import type { Logger, StartTurn } from '../index.ts'
import type { ContentSource } from '../mcp/mcp.ts'
import type { FixedToken, Identity } from './http/authenticate.ts'
import type { AllowedHosts } from './http/security-headers.ts'

/** Limits of a server. */
export interface ServerLimits {
  /** Largest JSON body in bytes. Default: 4 MiB. */
  readonly jsonBytes?: number
  /** Largest uploaded file in bytes. Default: 64 MiB. */
  readonly uploadBytes?: number
  /** Requests per second and token; twice as many may come at once. Default: 1,000. */
  readonly requestsPerSecond?: number
  /**
   * Requests with a wrong token, per minute and address. Above it, an address is answered 429, except for tokens that
   * this server has accepted before. Default: 60.
   */
  readonly refusalsPerMinute?: number
  /** Open streams per token. Default: 100. */
  readonly streams?: number
}

/** The endpoint for MCP clients. */
export interface McpEndpointOptions {
  /**
   * Issuers of the tokens that `authenticate` accepts, such as 'https://login.example.com'. MCP clients then find out
   * by themselves where to log in. Default: none; clients are given a token.
   */
  readonly authorizationServers?: readonly string[]
  /** Resources and prompts besides the tools. Default: none. */
  readonly content?: ContentSource
  /** The address of the endpoint for clients. Default: from the request, such as 'https://agents.example.com/mcp'. */
  readonly resource?: string
}

/** Options of createServer(). All are optional. */
export interface ServerOptions {
  /** Tokens besides those that `runtime.tokens` stores. */
  readonly tokens?: readonly FixedToken[]
  /** The host's own authentication, asked before tokens. It returns null for requests that it does not know. */
  readonly authenticate?: (request: Request) => Identity | null | Promise<Identity | null>
  /**
   * Host names under which the server answers, such as 'agents.example.com'; '*' for all. Default: names of this
   * machine, so that a page that was lured to a name of this machine reaches nothing. A server that listens on another
   * address also answers under addresses.
   */
  readonly allowedHosts?: readonly string[]
  /** Origins of pages on other servers that may use this one with a token, such as 'https://app.example.com'. */
  readonly allowedOrigins?: readonly string[]
  /** The path under which the host mounts the server, such as '/pawl'. Default: ''. */
  readonly basePath?: string
  /**
   * The console, a web page for people, at `/`. A string: the folder of a console that was built elsewhere. `false`: no
   * console. Default: the console of the package.
   */
  readonly console?: boolean | string
  /** Model, frame and instructions of turns whose request names neither model nor frame. */
  readonly turn?: Pick<StartTurn, 'model' | 'frame' | 'instructions'>
  /** The endpoint `/mcp`, with the tools of the runtime for MCP clients. False: there is none. Default: there is one. */
  readonly mcp?: boolean | McpEndpointOptions
  /** Limits on bodies, rates and streams. */
  readonly limits?: ServerLimits
  /** How often an idle stream sends a sign of life and tokens of streams are verified again. Default: '15s'. */
  readonly heartbeat?: Duration
  /** Receives one line for each failed request. Default: nothing. */
  readonly logger?: Logger
  /** Source of time, for tests. */
  readonly clock?: Clock
}

const nameOrObject = option.either(option.nonEmptyString, option.object)
const roles = option.oneOf('viewer', 'caller', 'approver', 'operator', 'admin')
const fixedToken = {
  token: option.required(
    option.hidden({
      expected: 'a text of at least 20 characters',
      valid: (value) => typeof value === 'string' && /^[\x21-\x3a\x3c-\x7e]{20,512}$/.test(value),
    }),
  ),
  roles: option.required(option.listOf(roles)),
  tenant: option.either(option.identifier, option.oneOf(null)),
  principal: option.required(option.identifier),
} satisfies OptionTable<FixedToken>

const httpUrl = {
  expected: 'an http or https address',
  valid: (value: unknown) => typeof value === 'string' && /^https?:$/.test(URL.parse(value)?.protocol ?? ''),
}

const mcp = {
  authorizationServers: option.listOf(httpUrl),
  content: option.object,
  resource: httpUrl,
} satisfies OptionTable<McpEndpointOptions>

const limits = {
  jsonBytes: option.wholeNumber(1_024),
  uploadBytes: option.wholeNumber(1_024),
  requestsPerSecond: option.positiveNumber,
  refusalsPerMinute: option.positiveNumber,
  streams: option.wholeNumber(1),
} satisfies OptionTable<ServerLimits>

export const serverOptions = {
  tokens: option.listOf(option.nested(fixedToken)),
  authenticate: option.func,
  allowedHosts: option.listOf(option.nonEmptyString),
  allowedOrigins: option.listOf(option.nonEmptyString),
  basePath: {
    expected: "a path such as '/pawl', without a slash at its end",
    valid: (value) => value === '' || (typeof value === 'string' && /^(\/[\w.~-]+)+$/.test(value)),
  },
  console: option.either(option.boolean, option.nonEmptyString),
  turn: option.nested({ model: nameOrObject, frame: nameOrObject, instructions: option.string }),
  mcp: option.either(option.boolean, option.nested(mcp)),
  limits: option.nested(limits),
  heartbeat: option.positiveDuration,
  logger: option.withMethods('debug', 'info', 'warn', 'error'),
  clock: option.withMethods('now', 'monotonic', 'timer', 'every', 'hold'),
} satisfies OptionTable<ServerOptions>

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

export interface ServerSettings {
  readonly tokens: readonly FixedToken[]
  readonly authenticate?: NonNullable<ServerOptions['authenticate']>
  readonly allowedHosts: AllowedHosts
  readonly allowedOrigins: readonly string[]
  readonly basePath: string
  /** Null: no console. */
  readonly console: { readonly folder?: string } | null
  readonly turnDefaults: Pick<StartTurn, 'model' | 'frame' | 'instructions'>
  readonly mcp: false | (McpEndpointOptions & { readonly authorizationServers: readonly string[] })
  readonly limits: Required<ServerLimits>
  readonly heartbeatMs: number
  readonly logger: Logger
  readonly clock: Clock
}

export function readServerOptions(options: ServerOptions = {}, defaultHosts: AllowedHosts = 'local'): ServerSettings {
  checkOptions(options, serverOptions, 'createServer()')
  const { tokens = [], authenticate, allowedHosts, allowedOrigins = [], basePath = '', turn = {} } = options
  return {
    tokens,
    ...(authenticate ? { authenticate } : {}),
    allowedHosts: allowedHosts ?? defaultHosts,
    allowedOrigins,
    basePath,
    console: options.console === false ? null : typeof options.console === 'string' ? { folder: options.console } : {},
    turnDefaults: turn,
    mcp: options.mcp === false ? false : { authorizationServers: [], ...(options.mcp === true ? {} : options.mcp) },
    limits: {
      jsonBytes: 4 * 1024 * 1024,
      uploadBytes: 64 * 1024 * 1024,
      requestsPerSecond: 1_000,
      refusalsPerMinute: 60,
      streams: 100,
      ...options.limits,
    },
    heartbeatMs: milliseconds(options.heartbeat ?? '15s', 'heartbeat'),
    logger: options.logger ?? silent,
    clock: options.clock ?? systemClock,
  }
}
