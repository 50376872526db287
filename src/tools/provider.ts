// A provider is a live source of tools (TOOL-5): an MCP server, a plug-in. Here is what one must be able to do; provider-connection.ts lives with it.

import type { Hints } from './hints.ts'
import { nameShape, type Tool } from './tool.ts'

/** What is known of a tool before its contract is needed. */
export interface Manifest {
  readonly name: string
  /** The name if not given; see ToolDefinition. */
  readonly id?: string
  readonly title?: string
  readonly description: string
  readonly hints?: Hints
  /** See ToolDefinition; said here, it holds before the contract is fetched. */
  readonly sensitive?: boolean
}

export interface Provider {
  /** Tells its tools apart from those of others, in records and in the log. Must be the same after a restart. */
  readonly name: string
  /** The operator vouches for what it says about its tools. Else its hints may raise a risk and never lower one, and its tools ask. */
  readonly trusted?: boolean
  /** What there is. Throws while it cannot tell. */
  list(): readonly Manifest[] | Promise<readonly Manifest[]>
  /** The contract of one, made with tool(). Asked when a call first needs it, and again after a change. */
  resolve(name: string): Tool | Promise<Tool>
  /** Calls the listener when the list or a contract has changed, and when it is back. What it returns stops that. */
  onChange?(listener: () => void): () => void
  /** Lets go of what it holds; called once, when the runtime closes or the provider is withdrawn. */
  close?(): void | Promise<void>
}

/** More than this of one source is left out: no model could be told of them, and a source must not fill our memory. */
const mostTools = 2_000
const longestDescription = 16_384

/** The entries of a list that can be used, and in words what is wrong with the others. Nothing a list holds makes this throw. */
export function readManifests(listed: unknown): { manifests: readonly Manifest[]; problems: readonly string[] } {
  if (!Array.isArray(listed)) throw new TypeError('Its list is not an array')
  const byKey = new Set<string>()
  const manifests: Manifest[] = []
  const problems: string[] = []
  for (let index = 0; index < Math.min(listed.length, mostTools); index++) {
    try {
      const manifest = readManifest(listed[index])
      const keys = [manifest.name, ...(manifest.id === undefined ? [] : [manifest.id])]
      if (keys.some((key) => byKey.has(key))) throw new TypeError(`'${manifest.name}' or its id is there twice`)
      for (const key of keys) byKey.add(key)
      manifests.push(manifest)
    } catch (error) {
      problems.push(`[${index}]: ${saying(error)}`)
    }
  }
  if (listed.length > mostTools) problems.push(`only the first ${mostTools} of ${listed.length} are used`)
  return { manifests, problems }
}

/** A copy, each field read once: what a getter answers the second time does not matter. */
function readManifest(value: unknown): Manifest {
  if (typeof value !== 'object' || value === null) throw new TypeError('it is not an object')
  const { name, id, title, description, hints, sensitive } = value as Record<keyof Manifest, unknown>
  if (typeof name !== 'string' || !nameShape.test(name))
    throw new TypeError(`the name ${quoted(name)} is not 1 to 64 of A-Z a-z 0-9 _ -`)
  // Harmless here, but other people's code makes objects of what it is told.
  if (name in Object.prototype) throw new TypeError(`'${name}' is a word of the language`)
  if (id !== undefined && (typeof id !== 'string' || !nameShape.test(id)))
    throw new TypeError(`the id ${quoted(id)} of '${name}' is not 1 to 64 of A-Z a-z 0-9 _ -`)
  if (typeof description !== 'string' || description.length > longestDescription)
    throw new TypeError(`the description of '${name}' is no text of reasonable length`)
  const readOnly = typeof hints === 'object' && hints !== null && (hints as Hints).readOnly === true
  return {
    name,
    ...(id === undefined ? {} : { id }),
    ...(typeof title === 'string' ? { title } : {}),
    description,
    hints: { readOnly },
    ...(sensitive === true ? { sensitive } : {}),
  }
}

const quoted = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : `of type ${typeof value}`

/** What was thrown, in words; a hostile error may throw when it is read. */
export function saying(error: unknown): string {
  try {
    return String(error instanceof Error ? (error.message as unknown) : error).slice(0, 300)
  } catch {
    return 'something that cannot be read'
  }
}
