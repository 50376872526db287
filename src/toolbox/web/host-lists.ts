// WEB: which hosts, by name: lists as an operator writes them.

import { PawlError } from '../../core/errors.ts'

/** 'example.com' is that host, '*.example.com' every host below it, '*' every host. */
export type HostList = readonly string[]

/** Compiled once; a name that no URL could have is a mistake in the configuration, not a rule that never holds. */
export function hostList(given: HostList | undefined, what: string): ((host: string) => boolean) | undefined {
  if (given === undefined) return undefined
  const wrong = (why: string): never => {
    throw new PawlError('config_invalid', `${what} ${why}.`)
  }
  if (!Array.isArray(given)) wrong('is not a list of hosts')
  const exact = new Set<string>()
  const below: string[] = []
  let all = false
  for (const entry of given as readonly unknown[]) {
    if (typeof entry !== 'string') return wrong(`has ${JSON.stringify(entry)}, which is no host`)
    const isBelow = entry.startsWith('*.')
    if (entry === '*') all = true
    else {
      const host = nameOf(isBelow ? entry.slice(2) : entry)
      if (host === undefined)
        return wrong(`has ${JSON.stringify(entry)}: give a host such as 'example.com' or '*.example.com'`)
      if (isBelow) below.push(`.${host}`)
      else exact.add(host)
    }
  }
  return (host) => all || exact.has(host) || below.some((end) => host.endsWith(end) && host.length > end.length)
}

/** The one form of a host: as URL makes it (lower case, punycode, addresses in full), without the dot of the root. */
function nameOf(entry: string): string | undefined {
  if (!/^[^\s/?#@\\*]+$/u.test(entry)) return undefined
  const bare = entry.includes(':') && !entry.startsWith('[') ? `[${entry}]` : entry
  try {
    const url = new URL(`http://${bare}/`)
    return url.port === '' && url.pathname === '/' ? hostOf(url) : undefined
  } catch {
    return undefined
  }
}

/** Of an IPv6 address without its brackets. */
export const hostOf = (url: URL): string => url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
