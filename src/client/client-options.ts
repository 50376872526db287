// Options of createClient(), their checks, and the settings that follow from them.

import { type Duration, parseDuration } from '../core/duration.ts'
import { option, optionProblem, type OptionTable } from '../core/check-options.ts'
import type { Clock } from '../core/clock.ts'
import { isHeaderValue } from './build-request.ts'
import { PawlHttpError } from './http-error.ts'

/** Options of createClient(). */
export interface ClientOptions {
  /** Address of the server, such as 'http://127.0.0.1:7717'. In a browser it may be relative to the page: '/'. */
  readonly url: string
  /** An API token. In a browser leave it out: the cookie of the page is the identity. */
  readonly token?: string
  /** The tenant to work in, for a token that is for all tenants. */
  readonly tenant?: string
  /** Sends the requests. Default: the global `fetch`. */
  readonly fetch?: typeof fetch
  /** Headers of every request, for proxies. */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * The longest time that a method may take, retries included; for a download or a stream, until it begins. Default:
   * no limit, because a request may wait ten minutes for a result.
   */
  readonly timeout?: Duration
  /**
   * How often a request is sent again after a network error or the status 429 or 503, if it is safe to do so: reads,
   * PUT, DELETE, and POST requests with an idempotency key. Default: 2.
   */
  readonly retries?: number
}

const headerValue = {
  expected: 'a string of printable ASCII characters',
  valid: (value: unknown) => typeof value === 'string' && isHeaderValue(value),
}

export const clientOptions = {
  url: option.required(option.string),
  token: option.hidden({
    expected: 'a string of ASCII characters without spaces',
    valid: (value) => typeof value === 'string' && /^[\x21-\x7e]+$/.test(value),
  }),
  tenant: option.identifier,
  fetch: option.func,
  headers: option.hidden(option.recordOf(option.hidden(headerValue))),
  timeout: option.positiveDuration,
  retries: option.wholeNumber(0, 10),
} satisfies OptionTable<ClientOptions>

/** Time and randomness, which tests replace. */
export interface ClientPorts {
  readonly clock: Pick<Clock, 'now' | 'timer' | 'hold'>
  /** A number from 0 to 1, for jitter. */
  random(): number
}

/** Validated options. */
export interface ClientSettings extends ClientPorts {
  /** Without a trailing slash and without query. */
  readonly base: string
  readonly headers: Readonly<Record<string, string>>
  readonly credentials: 'same-origin' | undefined
  readonly tenant: string | undefined
  readonly fetch: typeof fetch
  readonly timeoutMs: number | undefined
  readonly retries: number
}

const invalid = (message: string): PawlHttpError => new PawlHttpError(message, { code: 'config_invalid' })

export function readClientOptions(options: ClientOptions, ports: ClientPorts): ClientSettings {
  const problem = optionProblem(options, clientOptions, 'createClient()')
  if (problem !== undefined) throw invalid(problem.endsWith('?') ? problem : `${problem}.`)
  const { url, token, tenant, headers = {}, timeout, retries = 2 } = options
  return {
    ...ports,
    base: baseOf(url),
    headers: { ...headers, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
    // Some edge runtimes refuse this setting; there a token is the identity.
    credentials: token === undefined ? 'same-origin' : undefined,
    tenant,
    // Browsers refuse to run `fetch` as a method of another object.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    timeoutMs: parseDuration(timeout),
    retries,
  }
}

/** The URL may contain a password, so errors do not quote it. */
function baseOf(text: string): string {
  const page = (globalThis as { location?: { href?: string } }).location?.href
  const url = URL.canParse(text, page) ? new URL(text, page) : undefined
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw invalid("`url` must be the address of a server, such as 'http://127.0.0.1:7717'.")
  if (url.username !== '' || url.password !== '')
    throw invalid('`url` must not contain a user name or a password. Pass the `token` instead.')
  if (url.search !== '' || url.hash !== '') throw invalid('`url` must not contain a query or a fragment.')
  return url.origin + url.pathname.replace(/\/+$/, '')
}
