// `x-mcp-header` in an input schema names a header in which the argument is sent too. A tool whose schema has an invalid
// one must not be used over HTTP: another server on the way could route the call by a header that means something else.

import { isRecord } from './any-object.ts'

const annotation = 'x-mcp-header'
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const headerTypes: readonly unknown[] = ['string', 'integer', 'boolean']
/** Keywords whose values are no schemas. */
const valueKeywords: readonly string[] = ['enum', 'const', 'default', 'examples', 'required', annotation]

/** The fault in the header annotations of a schema; null if there is none. */
export function headerProblem(inputSchema: unknown): string | null {
  const names = new Set<string>()
  // A list instead of recursion: a server may nest a schema as deep as a message allows.
  const pending: { node: unknown; isParameter: boolean; isReachable: boolean }[] = [
    { node: inputSchema, isParameter: false, isReachable: true },
  ]
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { node, isParameter, isReachable } = next
    if (Array.isArray(node)) {
      for (const each of node as unknown[]) pending.push({ node: each, isParameter: false, isReachable: false })
      continue
    }
    if (!isRecord(node)) continue
    if (Object.hasOwn(node, annotation)) {
      const problem = isParameter && isReachable ? invalidHeader(node, names) : 'is not on a parameter'
      if (problem !== null) return `its \`${annotation}\` ${problem}`
    }
    for (const [keyword, value] of Object.entries(node)) {
      if (valueKeywords.includes(keyword)) continue
      if (keyword !== 'properties') pending.push({ node: value, isParameter: false, isReachable: false })
      else if (isRecord(value))
        for (const child of Object.values(value)) pending.push({ node: child, isParameter: true, isReachable })
    }
  }
  return null
}

function invalidHeader(node: Readonly<Record<string, unknown>>, names: Set<string>): string | null {
  const name = node[annotation]
  if (typeof name !== 'string' || !token.test(name)) return 'is not the name of a header'
  if (!headerTypes.includes(node.type)) return 'is on a parameter that is no string, integer or boolean'
  const lower = name.toLowerCase()
  if (names.has(lower)) return 'names one header twice'
  names.add(lower)
  return null
}
