// An immutable, layered collection of tools. A duplicate name in one layer is an error; a higher layer shadows a lower
// one. Names are looked up in a Map, so `__proto__` and `constructor` are simply absent. Listings are sorted, so
// prompts can be cached.
//
// Ids and names share one namespace: a renamed tool is still found by its id. So a tool is shadowed when a higher layer
// uses its name or its id, and a recorded id never refers to two tools of one toolset.

import { option, type OptionCheck } from '../core/check-options.ts'
import { PawlError } from '../core/errors.ts'
import type { MaybePromise } from '../core/maybe-promise.ts'
import type { Concurrency } from './tool-options.ts'
import { isTool, type Tool } from './tool.ts'

/** An entry of a toolset. A provider's tool may not be resolved yet. */
export interface Entry {
  readonly name: string
  readonly id: string
  /**
   * Keys under which calls of the tool are recorded; new records use the first. They include the owner unless it is the
   * runtime, so that after a crash no other tool of the same name runs instead. See docs/decisions/0012.
   */
  readonly keys: readonly [string, ...string[]]
  readonly internal: boolean
  /** Its payloads are encrypted at rest. */
  readonly sensitive: boolean
  /** Its role in the batch order, or a safe assumption until the tool is resolved. */
  readonly kind: Concurrency['kind']
  /** The tool; undefined until it is resolved. */
  readonly tool: Tool | undefined
  /** Resolves the tool; only for tools of a provider. */
  readonly remote?: RemoteEntry
}

export interface RemoteEntry {
  readonly provider: string
  readonly title: string | undefined
  readonly description: string
  /** The provider is unavailable. */
  away(): boolean
  /** The last resolved definition was not the accepted one. */
  quarantined(): boolean
  /**
   * Resolves the tool; concurrent callers share one request. Rejects if the provider fails, and with ToolQuarantined if
   * the definition is not the accepted one. The next call tries again.
   */
  load(): Promise<Tool>
  /**
   * The current accepted tool, for a caller whose own copy may be outdated. Synchronous if it is already resolved;
   * undefined if the provider is unavailable or no longer has the tool. Otherwise a promise that rejects like load().
   */
  accepted(): MaybePromise<Tool | undefined>
}

export interface Toolset {
  /** Finds an entry by name or id. */
  find(name: string): Entry | undefined
  /** Finds an entry by record key. A tool that is shadowed now is still found. */
  findByKey(key: string): Entry | undefined
  /** Finds a resolved tool by name or id. */
  get(name: string): Tool | undefined
  /** All entries, including internal ones, sorted by name. */
  readonly entries: readonly Entry[]
  /** Names of the tools a model may see: without internal ones. */
  readonly offered: readonly string[]
  /** The resolved tools among those a model may see. */
  readonly tools: readonly Tool[]
}

/** createLayer() checks the items. */
export const toolsOption: OptionCheck = { ...option.array, expected: 'an array of tools, such as [search, refund]' }

/** The entries of one layer. `owner` is empty for the runtime's own. */
export function createLayer(tools: readonly Tool[], owner = ''): readonly Entry[] {
  const suffix = owner === '' ? '' : `@${owner}`
  const toolsByName = new Map<string, Tool>()
  return tools.map((tool) => {
    if (!isTool(tool)) throw new PawlError('tool_invalid', 'Every tool must be made with tool().')
    const { name, id, internal, sensitive, concurrency } = tool
    const other = toolsByName.get(name) ?? toolsByName.get(id)
    if (other?.name === name)
      throw new PawlError('tool_duplicate', `Two tools have the name '${name}'. Rename one of them.`)
    if (other)
      throw new PawlError(
        'tool_duplicate',
        `'${other.name}' and '${name}' both use '${toolsByName.has(id) ? id : name}', and names and ids share one namespace. Rename one of them.`,
      )
    toolsByName.set(name, tool).set(id, tool)
    const keys = id === name ? ([`${id}${suffix}`] as const) : ([`${id}${suffix}`, `${name}${suffix}`] as const)
    return { name, id, keys, internal, sensitive, kind: concurrency.kind, tool }
  })
}

/**
 * Combines layers, lowest first. `onShadowed` is called for each tool that a higher layer hides. `unlisted` entries are
 * found only by record key.
 */
export function combineLayers(
  layers: readonly (readonly Entry[])[],
  onShadowed?: (entry: Entry) => void,
  unlisted: readonly Entry[] = [],
): Toolset {
  const byName = new Map<string, Entry>()
  const byKey = new Map<string, Entry>()
  const all: Entry[] = []
  for (const layer of layers.toReversed()) {
    const visible = layer.filter((entry) => {
      const hidden = byName.has(entry.name) || byName.has(entry.id)
      if (hidden) onShadowed?.(entry)
      return !hidden
    })
    for (const entry of visible) byName.set(entry.name, entry).set(entry.id, entry)
    indexKeys(byKey, layer)
    all.push(...visible)
  }
  indexKeys(byKey, unlisted)
  return createToolset(
    all,
    (name) => byName.get(name),
    (key) => byKey.get(key),
  )
}

/** Ids take precedence over names: a tool may have a name that another tool had before. */
function indexKeys(byKey: Map<string, Entry>, layer: readonly Entry[]): void {
  for (const entry of layer) if (!byKey.has(entry.keys[0])) byKey.set(entry.keys[0], entry)
  for (const entry of layer) for (const key of entry.keys) if (!byKey.has(key)) byKey.set(key, entry)
}

function createToolset(all: readonly Entry[], find: Toolset['find'], findByKey: Toolset['findByKey']): Toolset {
  const entries = all.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const open = entries.filter(({ internal }) => !internal)
  return {
    find,
    findByKey,
    get: (name) => find(name)?.tool,
    entries,
    offered: open.map(({ name }) => name),
    get tools() {
      return open.flatMap(({ tool }) => tool ?? [])
    },
  }
}

/** The toolset restricted to these names. Record keys of the other tools still resolve. */
export function restrictToolset(set: Toolset, names: readonly string[]): Toolset {
  const included = new Set(names.flatMap((name) => set.find(name) ?? []))
  const find = (name: string): Entry | undefined => {
    const entry = set.find(name)
    return entry && included.has(entry) ? entry : undefined
  }
  return createToolset([...included], find, (key) => set.findByKey(key))
}

/** The toolset with one more entry, whose name must not be in use. */
export const withEntry = (set: Toolset, entry: Entry): Toolset =>
  createToolset(
    [...set.entries, entry],
    (name) => set.find(name) ?? (name === entry.name || name === entry.id ? entry : undefined),
    (key) => set.findByKey(key),
  )

export const toolset = (...layers: readonly (readonly Tool[])[]): Toolset =>
  combineLayers(layers.map((layer) => createLayer(layer)))
