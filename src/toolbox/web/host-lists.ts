// Host lists of the web options (`allow`, `deny`, `trusted`).

import { PawlError } from '../../core/errors.ts'

/** 'example.com' matches that host, '*.example.com' every host below it, '*' every host. */
export type HostList = readonly string[]

/** Compiles a list to a predicate. An entry that no URL host can match is a configuration error. */
export function compileHostList(given: HostList | undefined, what: string): ((host: string) => boolean) | undefined {
  if (given === undefined) return undefined
  const invalid = (why: string): never => {
    throw new PawlError('config_invalid', `${what} ${why}.`)
  }
  if (!Array.isArray(given)) invalid('must be an array of hosts')
  const exact = new Set<string>()
  const below: string[] = []
  let all = false
  for (const entry of given as readonly unknown[]) {
    if (typeof entry !== 'string') return invalid(`contains ${JSON.stringify(entry)}, which is not a string`)
    const isBelow = entry.startsWith('*.')
    if (entry === '*') all = true
    else {
      const host = normalizeHost(isBelow ? entry.slice(2) : entry)
      if (host === undefined)
        return invalid(`contains ${JSON.stringify(entry)}; use a host such as 'example.com' or '*.example.com'`)
      if (isBelow) below.push(`.${host}`)
      else exact.add(host)
    }
  }
  return (host) => all || exact.has(host) || below.some((end) => host.endsWith(end) && host.length > end.length)
}

/** The canonical form of a host, as URL makes it (lower case, punycode, full addresses), without a trailing dot. */
function normalizeHost(entry: string): string | undefined {
  if (!/^[^\s/?#@\\*]+$/u.test(entry)) return undefined
  const bare = entry.includes(':') && !entry.startsWith('[') ? `[${entry}]` : entry
  try {
    const url = new URL(`http://${bare}/`)
    return url.port === '' && url.pathname === '/' ? hostOf(url) : undefined
  } catch {
    return undefined
  }
}

/** The host of a URL; an IPv6 address without its brackets. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
