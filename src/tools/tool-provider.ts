// The provider interface (a live source of tools such as an MCP server) and the check of its tool list.
// tool-provider-connection.ts manages a provider.

import type { Hints } from './tool-hints.ts'
import { toolNamePattern, type Tool } from './tool.ts'

/** The listing of a tool, known before the tool itself is resolved. */
export interface Manifest {
  /** Name of the tool. */
  readonly name: string
  /** Default: the name. See ToolDefinition. */
  readonly id?: string
  /** Title for people. */
  readonly title?: string
  /** Description for the model. */
  readonly description: string
  /** Hints of the provider. They lower no risk class unless the provider is trusted. */
  readonly hints?: Hints
  /** See ToolDefinition. Set here, it applies before the tool is resolved. */
  readonly sensitive?: boolean
}

/** How a provider is reached. */
export interface ProviderDetails {
  /** Such as `stdio` or `http`. */
  readonly transport?: string
  /** The revision of the protocol that it speaks, if it is connected. */
  readonly protocol?: string
  /** How long it took to answer its last listing, in milliseconds. */
  readonly latencyMs?: number
}

/** A live source of tools, such as an MCP server. */
export interface Provider {
  /** Identifies the provider in records and logs. Must stay the same across restarts. */
  readonly name: string
  /**
   * The operator trusts the provider's hints. Default: false; then hints may only raise the risk, and its tools ask for
   * approval.
   */
  readonly trusted?: boolean
  /** Values that its results and errors may contain and that are never shown, such as its credentials. */
  readonly secrets?: readonly string[]
  /** Lists the tools. Throws while the provider is unavailable. */
  list(): readonly Manifest[] | Promise<readonly Manifest[]>
  /** Returns a tool made with tool(). Called when a call first needs it, and again after a change. */
  resolve(name: string): Tool | Promise<Tool>
  /**
   * Calls the listener when the list or a tool has changed, or the provider is available again. Returns an unsubscribe
   * function.
   */
  onChange?(listener: () => void): () => void
  /** How it is reached, for operators. Called for each list of providers, so it must be cheap. */
  details?(): ProviderDetails
  /** Ends the connection, so that the next listing makes a new one. Called when an operator asks for it. */
  reconnect?(): void | Promise<void>
  /** Releases resources. Called once, when the runtime closes or the provider is removed. */
  close?(): void | Promise<void>
}

/** Further tools are ignored: no model could use them, and a provider must not fill the memory. */
const maxTools = 2_000
const maxDescriptionLength = 16_384

/** The valid entries of a list, and the problems of the others. Throws only if the list is not an array. */
export function readManifests(listed: unknown): { manifests: readonly Manifest[]; problems: readonly string[] } {
  if (!Array.isArray(listed)) throw new TypeError('list() did not return an array')
  const byKey = new Set<string>()
  const manifests: Manifest[] = []
  const problems: string[] = []
  for (let index = 0; index < Math.min(listed.length, maxTools); index++) {
    try {
      const manifest = readManifest(listed[index])
      const keys = [manifest.name, ...(manifest.id === undefined ? [] : [manifest.id])]
      if (keys.some((key) => byKey.has(key))) throw new TypeError(`the name or id of '${manifest.name}' is used twice`)
      for (const key of keys) byKey.add(key)
      manifests.push(manifest)
    } catch (error) {
      problems.push(`[${index}]: ${errorText(error)}`)
    }
  }
  if (listed.length > maxTools) problems.push(`only the first ${maxTools} of ${listed.length} are used`)
  return { manifests, problems }
}

/** Reads each field once into a copy, so that a getter cannot return another value later. */
function readManifest(value: unknown): Manifest {
  if (typeof value !== 'object' || value === null) throw new TypeError('it is not an object')
  const { name, id, title, description, hints, sensitive } = value as Record<keyof Manifest, unknown>
  if (typeof name !== 'string' || !toolNamePattern.test(name))
    throw new TypeError(`the name ${quoted(name)} is not 1 to 64 characters of A-Z a-z 0-9 _ -`)
  // Harmless here, but provider packages look names up in plain objects.
  if (name in Object.prototype) throw new TypeError(`'${name}' is a property of every JavaScript object`)
  if (id !== undefined && (typeof id !== 'string' || !toolNamePattern.test(id)))
    throw new TypeError(`the id ${quoted(id)} of '${name}' is not 1 to 64 characters of A-Z a-z 0-9 _ -`)
  if (typeof description !== 'string' || description.length > maxDescriptionLength)
    throw new TypeError(`the description of '${name}' is not a string of at most ${maxDescriptionLength} characters`)
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

/** The provider of a tool is unavailable. The message says why, if the provider did. */
export class ProviderAway extends Error {
  override readonly name = 'ProviderAway'
}

/** The message of a thrown value. Reading a hostile error may throw. */
export function errorText(error: unknown): string {
  try {
    return String(error instanceof Error ? (error.message as unknown) : error).slice(0, 1_000)
  } catch {
    return 'something that cannot be read'
  }
}
