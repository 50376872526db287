// An immutable, layered collection of tools (TOOL-4). A name twice in one layer is an error; an upper layer shadows a lower one on purpose.
// Names are looked up in a Map, so `__proto__` and `constructor` are ordinary absent names. Listings are sorted, so prompts cache.
//
// Ids and names are one space (TOOL-3): a renamed tool still answers to its id. So a lower tool is shadowed when an upper one uses its
// name or its id, and what is recorded under an id never means two tools of one toolset.

import { PawlError } from '../core/errors.ts'
import type { MaybePromise } from '../core/maybe-promise.ts'
import type { Concurrency } from './tool-options.ts'
import { isTool, type Tool } from './tool.ts'

/** A tool as a toolset holds it. Its contract may still have to be fetched. */
export interface Entry {
  readonly name: string
  readonly id: string
  /**
   * What records call it, the first of them on new ones. Says whose tool it is where that is not the runtime, so that after a crash
   * no other tool of the same name is run instead (docs/decisions/0012).
   */
  readonly keys: readonly [string, ...string[]]
  readonly internal: boolean
  /** Its payloads are sealed at rest. */
  readonly sensitive: boolean
  /** Its place in the order of a batch, as far as it is known before the contract is here. */
  readonly kind: Concurrency['kind']
  /** The contract, if it is here. */
  readonly tool: Tool | undefined
  /** Where to fetch the contract; for tools of a provider only. */
  readonly remote?: RemoteEntry
}

export interface RemoteEntry {
  readonly provider: string
  readonly title: string | undefined
  readonly description: string
  /** Its source does not answer. */
  away(): boolean
  /** When it was last asked for, its definition was not the accepted one (POL-9). */
  held(): boolean
  /**
   * Fetches the contract, once for all who ask. Rejects if the source does not give it, and with ToolQuarantined if it is not the accepted
   * one; asked again, it tries again.
   */
  load(): Promise<Tool>
  /**
   * For who has a contract, perhaps from before a change: at once, if the one that the source gives now is the accepted one, or if the
   * source is away or does not have the tool any more. Else a promise, which rejects as load() does.
   */
  accepted(): MaybePromise<Tool | undefined>
}

export interface Toolset {
  /** By name or by id: what is asked for. */
  find(name: string): Entry | undefined
  /** By what a record calls it: a tool that is shadowed now is still the one that a record means. */
  recorded(key: string): Entry | undefined
  /** The same, if its contract is here. */
  get(name: string): Tool | undefined
  /** All, internal ones too, sorted by name. */
  readonly entries: readonly Entry[]
  /** What a model may be told of: without the internal ones. */
  readonly offered: readonly string[]
  /** The same as tools, those whose contract is here. */
  readonly tools: readonly Tool[]
}

/** The entries of one layer. `where` says whose they are, if not the runtime's. */
export function layerOf(tools: readonly Tool[], where = ''): readonly Entry[] {
  const at = where === '' ? '' : `@${where}`
  const used = new Map<string, Tool>()
  return tools.map((tool) => {
    if (!isTool(tool)) throw new PawlError('tool_invalid', 'A toolset takes what tool() gives.')
    const { name, id, internal, sensitive, concurrency } = tool
    const other = used.get(name) ?? used.get(id)
    if (other?.name === name) throw new PawlError('tool_duplicate', `The name is '${name}'.`)
    if (other)
      throw new PawlError(
        'tool_duplicate',
        `'${other.name}' and '${name}' clash: ids and names are one space, and both use '${used.has(id) ? id : name}'.`,
      )
    used.set(name, tool).set(id, tool)
    const keys = id === name ? ([`${id}${at}`] as const) : ([`${id}${at}`, `${name}${at}`] as const)
    return { name, id, keys, internal, sensitive, kind: concurrency.kind, tool }
  })
}

/**
 * Layers from the lowest to the uppermost. `shadowed` hears of each tool that an upper layer hides. What is `unlisted` nobody is told of and nobody can
 * ask for: only records mean it.
 */
export function layered(
  layers: readonly (readonly Entry[])[],
  shadowed?: (entry: Entry) => void,
  unlisted: readonly Entry[] = [],
): Toolset {
  const byName = new Map<string, Entry>()
  const byKey = new Map<string, Entry>()
  const all: Entry[] = []
  for (const layer of layers.toReversed()) {
    const seen = layer.filter((entry) => {
      const hidden = byName.has(entry.name) || byName.has(entry.id)
      if (hidden) shadowed?.(entry)
      return !hidden
    })
    for (const entry of seen) byName.set(entry.name, entry).set(entry.id, entry)
    keyed(byKey, layer)
    all.push(...seen)
  }
  keyed(byKey, unlisted)
  return setOf(
    all,
    (name) => byName.get(name),
    (key) => byKey.get(key),
  )
}

/** An id comes before a name: a tool may have the name that another one had. */
function keyed(byKey: Map<string, Entry>, layer: readonly Entry[]): void {
  for (const entry of layer) if (!byKey.has(entry.keys[0])) byKey.set(entry.keys[0], entry)
  for (const entry of layer) for (const key of entry.keys) if (!byKey.has(key)) byKey.set(key, entry)
}

function setOf(all: readonly Entry[], find: Toolset['find'], recorded: Toolset['recorded']): Toolset {
  const entries = all.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const open = entries.filter(({ internal }) => !internal)
  return {
    find,
    recorded,
    get: (name) => find(name)?.tool,
    entries,
    offered: open.map(({ name }) => name),
    get tools() {
      return open.flatMap(({ tool }) => tool ?? [])
    },
  }
}

/** The same, with those of these names alone: what is on record of the others still means them. */
export function only(set: Toolset, names: readonly string[]): Toolset {
  const kept = new Set(names.flatMap((name) => set.find(name) ?? []))
  const find = (name: string): Entry | undefined => {
    const entry = set.find(name)
    return entry && kept.has(entry) ? entry : undefined
  }
  return setOf([...kept], find, (key) => set.recorded(key))
}

/** The same, with one more. Its name is free there. */
export const withOne = (set: Toolset, more: Entry): Toolset =>
  setOf(
    [...set.entries, more],
    (name) => set.find(name) ?? (name === more.name || name === more.id ? more : undefined),
    (key) => set.recorded(key),
  )

export const toolset = (...layers: readonly (readonly Tool[])[]): Toolset =>
  layered(layers.map((layer) => layerOf(layer)))
