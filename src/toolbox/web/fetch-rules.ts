// WEB: what may be fetched: the operator's options, compiled once, and the verdict about a URL before anybody is asked for its address.

import { type Duration, milliseconds } from '../../core/duration.ts'
import { PawlError } from '../../core/errors.ts'
import { fail, type ToolFailure } from '../../core/outcome.ts'
import { type Clock, systemClock } from '../../core/clock.ts'
import { isOwn, isPublic } from './public-address.ts'
import { type HostList, hostList, hostOf } from './host-lists.ts'

export interface WebLimits {
  /** Of a response as it comes and as it is once unpacked. 5,000,000 unless given. */
  readonly bytes?: number
  /** Of HTML that is made into markdown or text; the rest is left out. 2,000,000 unless given. */
  readonly htmlBytes?: number
  /** Until a server begins to answer, for each hop. '10s' unless given. */
  readonly firstByte?: Duration
  /** In all. '30s' unless given. */
  readonly total?: Duration
  /** 5 unless given. */
  readonly redirects?: number
}

export interface WebOptions {
  /** The only hosts that may be fetched. Every public one if left out. */
  readonly allow?: HostList
  /** Hosts that may not be fetched, whatever else is said. */
  readonly deny?: HostList
  /** Hosts that are fetched without asking a person. A redirect that leads from them to another host is not followed: the model is told where it leads. */
  readonly trusted?: HostList
  /** 80, 443, 8080 and 8443 unless given. */
  readonly ports?: readonly number[]
  readonly limits?: WebLimits
  /** Lets the model save what it fetches as a file of the session. */
  readonly saveFiles?: boolean
  /** What servers read about who asks. */
  readonly userAgent?: string
  /** Gives the addresses of a name; the system's resolver if left out. All of them must be allowed. */
  readonly lookup?: (host: string) => Promise<readonly string[]>
  /**
   * Has the last word about an address, beside the verdict of the rules (`allowed`): true to connect. For an internal service that is to be reached, or a
   * test server. It is asked about what the socket connects to, for every hop.
   */
  readonly allowAddress?: (
    address: string,
    about: { readonly host: string; readonly port: number; readonly allowed: boolean },
  ) => boolean
  /** The system's if left out. */
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
  /** Throws what the model reads if the URL may not be fetched. */
  check(url: URL): void
  mayConnect(address: string, host: string, port: number): boolean
}

const standardPorts = [80, 443, 8080, 8443]
const longestUrl = 8_192

export function rulesOf(options: WebOptions): WebRules {
  const {
    limits = {},
    ports = standardPorts,
    lookup,
    allowAddress,
    clock = systemClock,
    userAgent = 'Pawl/0 (web_fetch)',
  } = options
  const wrong = (why: string): never => {
    throw new PawlError('config_invalid', `web: ${why}.`)
  }
  const count = (name: 'bytes' | 'htmlBytes' | 'redirects', standard: number, least: number): number => {
    const given = limits[name] ?? standard
    return Number.isSafeInteger(given) && given >= least
      ? given
      : wrong(`limits.${name} must be a whole number from ${least}`)
  }
  if (!Array.isArray(ports) || !ports.every((port) => Number.isInteger(port) && port > 0 && port < 65_536))
    wrong('ports must be a list of numbers from 1 to 65535')
  if (!/^[\x20-\x7e]{1,200}$/.test(userAgent)) wrong('userAgent must be 1 to 200 plain characters')
  const mayName = hostList(options.allow, 'web: allow')
  const mayNot = hostList(options.deny, 'web: deny')
  const open = new Set(ports)
  return {
    isTrusted: hostList(options.trusted, 'web: trusted') ?? (() => false),
    bytes: count('bytes', 5_000_000, 1),
    htmlBytes: count('htmlBytes', 2_000_000, 1),
    firstByteMs: milliseconds(limits.firstByte ?? '10s', 'web: limits.firstByte'),
    totalMs: milliseconds(limits.total ?? '30s', 'web: limits.total'),
    redirects: count('redirects', 5, 0),
    userAgent,
    lookup,
    clock,
    check(url) {
      const host = hostOf(url)
      if (url.protocol !== 'http:' && url.protocol !== 'https:') throw badUrl('must start with http:// or https://')
      if (url.href.length > longestUrl) throw badUrl(`must have at most ${longestUrl} characters`)
      if (url.username !== '' || url.password !== '') throw badUrl('must not contain a user name or password')
      if (host === '') throw badUrl('has no host')
      if (!open.has(portOf(url))) throw blocked(`port ${portOf(url)} is not allowed`)
      if (mayNot?.(host) || (mayName && !mayName(host))) throw blocked('its host is not allowed')
    },
    mayConnect(address, host, port) {
      const allowed = isPublic(address) && !isOwn(address)
      return allowAddress ? allowAddress(address, { host, port, allowed }) : allowed
    },
  }
}

export const portOf = (url: URL): number =>
  url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)

export function badUrl(why: string): ToolFailure {
  return fail(`Invalid URL: ${why}`, { code: 'url_invalid', class: 'invalid_request' })
}

export function blocked(why: string): ToolFailure {
  return fail(`URL is blocked by policy: ${why}`, { code: 'url_blocked', class: 'permission_denied' })
}

/** As a browser reads it, so that what is checked is what is connected to: 0x7f.1, ①②⑦.0.0.1 and 127.0.0.1 are one host. */
export function parseUrl(text: string): URL {
  const url = URL.parse(text)
  if (!url) throw badUrl('it cannot be read as one; look at its host and port')
  url.hash = ''
  return url
}
