// The names under which models see the tools of a server: `<prefix>__<tool>`, at most 64 characters of A-Z a-z 0-9 _ -.
// See docs/decisions/0051.

import { createHash } from 'node:crypto'

const maxLength = 64
const maxPrefixLength = 32
const hashLength = 8

/** The tool of each name at the server. Names depend only on the list as a set, not on its order. */
export function toolNames(prefix: string, names: readonly string[]): Map<string, string> {
  const before = prefix === '' ? '' : `${prefix}__`
  const plain = new Map(names.map((name) => [name, before + name.replaceAll(/[^A-Za-z0-9_-]/g, '_')]))
  const uses = new Map<string, number>()
  for (const shown of plain.values()) uses.set(shown, (uses.get(shown) ?? 0) + 1)
  const result = new Map<string, string>()
  const taken = new Set<string>()
  const take = (name: string, shown: string): void => {
    result.set(name, shown)
    taken.add(shown)
  }
  const isExact = (name: string): boolean =>
    plain.get(name) === before + name && before.length + name.length <= maxLength
  // A tool whose name needs no change keeps it, whatever other tools there are.
  for (const name of names) if (isExact(name)) take(name, before + name)
  for (const name of names) {
    if (result.has(name)) continue
    const shown = plain.get(name) as string
    const isFree = shown.length <= maxLength && uses.get(shown) === 1 && !taken.has(shown)
    take(name, isFree ? shown : withHash(shown, name, maxLength))
  }
  return result
}

/** The name of the server; a long one is cut, so that there is room for the names of its tools. */
export const defaultPrefix = (server: string): string =>
  server.length <= maxPrefixLength ? server : withHash(server, server, maxPrefixLength)

function withHash(shown: string, name: string, length: number): string {
  const hash = createHash('sha256').update(name).digest('hex').slice(0, hashLength)
  return `${shown.slice(0, length - hashLength - 1)}_${hash}`
}
