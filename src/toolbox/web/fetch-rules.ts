// The rules of web_fetch: compiles the operator's options once, and checks a URL before its name is resolved.

import { checkOptions, option, type OptionTable } from '../../core/check-options.ts'
import { type Duration, milliseconds } from '../../core/duration.ts'
import { fail, type ToolFailure } from '../../core/outcome.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { isOwnAddress, isPublicAddress } from './public-address.ts'
import { type HostList, compileHostList, hostOf } from './host-lists.ts'

/** Limits on one fetch. */
export interface WebLimits {
  /** Bytes of a response, both compressed and decompressed. Default: 5,000,000. */
  readonly bytes?: number
  /** Bytes of HTML that are converted to Markdown or text; the rest is dropped. Default: 2,000,000. */
  readonly htmlBytes?: number
  /** Time until a server starts to answer, for each hop. Default: '10s'. */
  readonly firstByte?: Duration
  /** Time for the whole fetch. Default: '30s'. */
  readonly total?: Duration
  /** Maximum number of redirects to follow. Default: 5. */
  readonly redirects?: number
}

/** The options of toolbox.web(). */
export interface WebOptions {
  /** The only hosts that may be fetched. Default: every public host. */
  readonly allow?: HostList
  /** Hosts that are never fetched; overrides all other options. Default: none. */
  readonly deny?: HostList
  /**
   * Hosts that are fetched without approval. A redirect from a trusted host to another host is not followed; the model
   * gets the target URL instead. Default: none.
   */
  readonly trusted?: HostList
  /** Default: 80, 443, 8080 and 8443. */
  readonly ports?: readonly number[]
  /** Limits on bytes, redirects and time. */
  readonly limits?: WebLimits
  /** Lets the model save a response as a file of the session. Default: false. */
  readonly saveFiles?: boolean
  /** The User-Agent header. */
  readonly userAgent?: string
  /** Resolves a host name to its addresses, which must all be allowed. Default: the system resolver. */
  readonly lookup?: (host: string) => Promise<readonly string[]>
  /**
   * Decides about an address: true to connect. `allowed` is the verdict of the built-in rules. Use it to reach an
   * internal service or a test server. Called for the address that the socket connects to, for every hop.
   */
  readonly allowAddress?: (
    address: string,
    about: { readonly host: string; readonly port: number; readonly allowed: boolean },
  ) => boolean
  /** Default: the system clock. */
  readonly clock?: Clock
}

export interface WebRules {
  readonly isTrusted: (host: string) => boolean
  readonly bytes: number
  readonly htmlBytes: number
  readonly firstByteMs: number
  readonly totalMs: number
  readonly redirects: number
  readonly userAgent: string
  readonly lookup: ((host: string) => Promise<readonly string[]>) | undefined
  readonly clock: Clock
  /** Throws a failure for the model if the URL may not be fetched. */
  check(url: URL): void
  mayConnect(address: string, host: string, port: number): boolean
}

const defaultPorts = [80, 443, 8080, 8443]
const maxUrlLength = 8_192

const hosts = option.either(option.string, option.array, option.func)
export const webOptions = {
  allow: hosts,
  deny: hosts,
  trusted: hosts,
  ports: option.listOf(option.wholeNumber(1, 65_535)),
  limits: option.nested({
    bytes: option.wholeNumber(1),
    htmlBytes: option.wholeNumber(1),
    firstByte: option.duration,
    total: option.duration,
    redirects: option.wholeNumber(0),
  } satisfies OptionTable<WebLimits>),
  saveFiles: option.boolean,
  userAgent: {
    expected: '1 to 200 printable ASCII characters',
    valid: (value) => typeof value === 'string' && /^[\x20-\x7e]{1,200}$/.test(value),
  },
  lookup: option.func,
  allowAddress: option.func,
  clock: option.object,
} satisfies OptionTable<WebOptions>

export function compileRules(options: WebOptions): WebRules {
  checkOptions(options, webOptions, 'toolbox.web()')
  const {
    limits = {},
    ports = defaultPorts,
    lookup,
    allowAddress,
    clock = systemClock,
    userAgent = 'Pawl/0 (web_fetch)',
  } = options
  const isAllowed = compileHostList(options.allow, 'web: allow')
  const isDenied = compileHostList(options.deny, 'web: deny')
  const openPorts = new Set(ports)
  return {
    isTrusted: compileHostList(options.trusted, 'web: trusted') ?? (() => false),
    bytes: limits.bytes ?? 5_000_000,
    htmlBytes: limits.htmlBytes ?? 2_000_000,
    firstByteMs: milliseconds(limits.firstByte ?? '10s', 'web: limits.firstByte'),
    totalMs: milliseconds(limits.total ?? '30s', 'web: limits.total'),
    redirects: limits.redirects ?? 5,
    userAgent,
    lookup,
    clock,
    check(url) {
      const host = hostOf(url)
      if (url.protocol !== 'http:' && url.protocol !== 'https:') throw invalidUrl('must start with http:// or https://')
      if (url.href.length > maxUrlLength) throw invalidUrl(`must have at most ${maxUrlLength} characters`)
      if (url.username !== '' || url.password !== '') throw invalidUrl('must not contain a user name or password')
      if (host === '') throw invalidUrl('has no host')
      if (!openPorts.has(portOf(url))) throw urlBlocked(`port ${portOf(url)} is not allowed`)
      if (isDenied?.(host) || (isAllowed && !isAllowed(host))) throw urlBlocked('its host is not allowed')
    },
    mayConnect(address, host, port) {
      const allowed = isPublicAddress(address) && !isOwnAddress(address)
      return allowAddress ? allowAddress(address, { host, port, allowed }) : allowed
    },
  }
}

export const portOf = (url: URL): number =>
  url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)

export function invalidUrl(why: string): ToolFailure {
  return fail(`Invalid URL: ${why}`, { code: 'url_invalid', class: 'invalid_request' })
}

export function urlBlocked(why: string): ToolFailure {
  return fail(`URL is blocked by policy: ${why}`, { code: 'url_blocked', class: 'permission_denied' })
}

/**
 * Parses as a browser does, so the checked host is the connected host: 0x7f.1, ①②⑦.0.0.1 and 127.0.0.1 are the same.
 */
export function parseUrl(text: string): URL {
  const url = URL.parse(text)
  if (!url) throw invalidUrl('it cannot be read as one; look at its host and port')
  url.hash = ''
  return url
}
