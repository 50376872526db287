// Finds the operation of a request by its method and path.

import { endpoints, type OperationName } from '../endpoints.ts'

export interface RouteMatch {
  readonly name: OperationName
  /** Decoded parameters of the path. */
  readonly params: Readonly<Record<string, string>>
}

interface Node {
  readonly fixed: Map<string, Node>
  param: Node | null
  /** Operations that end here, by method, with the names of their parameters in order. */
  readonly ends: Map<string, { readonly name: OperationName; readonly params: readonly string[] }>
  /** Operations whose last parameter takes the rest of the path. */
  readonly rest: Map<string, { readonly name: OperationName; readonly params: readonly string[] }>
}

const emptyNode = (): Node => ({ fixed: new Map(), param: null, ends: new Map(), rest: new Map() })

function buildTree(): Node {
  const root = emptyNode()
  for (const [name, endpoint] of Object.entries(endpoints)) {
    const [method, path] = endpoint.split(' ') as [string, string]
    const params: string[] = []
    let node = root
    let ends = (): Node['ends'] => node.ends
    for (const segment of path.split('/').slice(1)) {
      if (segment.startsWith('*')) {
        params.push(segment.slice(1))
        const { rest } = node
        ends = () => rest
      } else if (segment.startsWith(':')) {
        params.push(segment.slice(1))
        node = node.param ??= emptyNode()
      } else {
        const next: Node = node.fixed.get(segment) ?? emptyNode()
        node.fixed.set(segment, next)
        node = next
      }
    }
    ends().set(method, { name: name as OperationName, params })
  }
  return root
}

const root = buildTree()

/** The decoded segment; null if its percent encoding is malformed. */
function decodeSegment(segment: string): string | null {
  if (!segment.includes('%')) return segment
  try {
    return decodeURIComponent(segment)
  } catch {
    return null
  }
}

/**
 * The operation; the allowed methods if the path has no such method; null if there is no such path. A fixed segment
 * wins over a parameter.
 */
export function matchRoute(method: string, path: string): RouteMatch | { readonly allow: readonly string[] } | null {
  const segments = path.split('/').slice(1)
  const values: string[] = []
  let node = root
  for (const [index, segment] of segments.entries()) {
    if (node.rest.size > 0 && !node.fixed.has(segment)) {
      const rest = segments.slice(index).map(decodeSegment)
      return rest.includes(null) ? null : pick(node.rest, method, [...values, rest.join('/')])
    }
    const fixed = node.fixed.get(segment)
    if (fixed) {
      node = fixed
      continue
    }
    const value = decodeSegment(segment)
    if (!node.param || value === null || value === '') return null
    values.push(value)
    node = node.param
  }
  return node.ends.size === 0 ? null : pick(node.ends, method, values)
}

function pick(
  ends: Node['ends'],
  method: string,
  values: readonly string[],
): RouteMatch | { readonly allow: readonly string[] } {
  const end = ends.get(method === 'HEAD' ? 'GET' : method)
  if (!end) return { allow: [...ends.keys()] }
  return { name: end.name, params: Object.fromEntries(end.params.map((name, at) => [name, values[at] as string])) }
}
