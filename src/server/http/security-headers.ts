// Headers of every response, and the checks that keep pages of other origins away from a server on this machine.

import { hash } from 'node:crypto'
import { isIP } from 'node:net'
import type { Reply } from './reply.ts'

const nothingAllowed = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"

const base: Reply['headers'] = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  // Answers contain data of a tenant.
  'cache-control': 'no-store',
  'content-security-policy': nothingAllowed,
}

/** A policy for a page with one inline style sheet and forms that post to this server. */
export const pagePolicy = (style: string): string =>
  `${nothingAllowed}; style-src 'sha256-${hash('sha256', style, 'base64')}'; form-action 'self'`

/** Adds the headers that the reply does not have yet. */
export const withSecurityHeaders = ({ status, headers, body }: Reply, requestId: string): Reply => ({
  status,
  headers: { ...base, ...headers, 'x-request-id': requestId },
  body,
})

/** `localhost:8080` → `localhost`; IPv6 addresses keep their brackets. */
const withoutPort = (host: string): string => host.replace(/:\d+$/, '').toLowerCase()

const isLoopback = (host: string): boolean => /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(host)

/** Any IPv4 or IPv6 address, the latter in brackets. */
const isAddress = (host: string): boolean => isIP(host.replace(/^\[(.*)\]$/, '$1')) !== 0

/**
 * The hosts that a request may name: the listed ones, names of this machine, or these and all addresses. A browser that
 * was lured to a name which resolves to this machine sends that name (DNS rebinding); an address cannot be made to
 * resolve to another machine.
 */
export type AllowedHosts = readonly string[] | 'local' | 'addresses'

export function isAllowedHost(host: string, allowed: AllowedHosts): boolean {
  const name = withoutPort(host)
  if (typeof allowed === 'string') return isLoopback(name) || (allowed === 'addresses' && isAddress(name))
  return (
    allowed.includes('*') ||
    allowed.some((each) => each.toLowerCase() === host.toLowerCase() || each.toLowerCase() === name)
  )
}

/** A page of this server itself. */
const isOwnOrigin = (origin: string, host: string): boolean =>
  origin === `http://${host}` || origin === `https://${host}`

/**
 * Pages of allowed origins send tokens. A cookie is added by the browser, also to requests that a page should not make.
 */
export const mayUseCookie = ({ headers, url }: Request): boolean => {
  const origin = headers.get('origin')
  return origin === null || isOwnOrigin(origin, headers.get('host') ?? new URL(url).host)
}

/** Requests of pages carry their origin. `null` is the origin of sandboxed pages and files. */
export function isAllowedOrigin(request: Request, host: string, allowed: readonly string[]): boolean {
  const origin = request.headers.get('origin')
  if (origin !== null && allowed.includes(origin)) return true
  if (origin !== null) return isOwnOrigin(origin, host)
  // Without an origin: programs, and pages that a person opened. Frames and images of other pages are refused.
  const site = request.headers.get('sec-fetch-site')
  if (site === null || site === 'same-origin' || site === 'none') return true
  const isPage = (request.headers.get('sec-fetch-dest') ?? 'document') === 'document'
  return isPage && request.headers.get('sec-fetch-mode') === 'navigate' && request.method === 'GET'
}
