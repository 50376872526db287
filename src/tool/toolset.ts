// An immutable, layered collection of tools (TOOL-4). A name twice in one layer is an error; an upper layer shadows a lower one on purpose.
// Names are looked up in a Map, so `__proto__` and `constructor` are ordinary absent names. Listings are sorted, so prompts cache.

import { PawlError } from '../kernel/errors.ts'
import type { Tool } from './tool.ts'

export interface Toolset {
  get(name: string): Tool | undefined
  /** All, internal ones too: what a worker can run. */
  readonly names: readonly string[]
  /** What a model may be told of: without the internal ones. */
  readonly offered: readonly string[]
  readonly tools: readonly Tool[]
}

/** Layers from the lowest to the uppermost. */
export function toolset(...layers: readonly (readonly Tool[])[]): Toolset {
  const byName = new Map<string, Tool>()
  for (const layer of layers) {
    const seen = new Set<string>()
    for (const each of layer) {
      if (seen.has(each.name)) throw new PawlError('tool_duplicate', `The name is '${each.name}'.`)
      seen.add(each.name)
      byName.set(each.name, each)
    }
  }
  const tools = [...byName.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const offered = tools.filter(({ internal }) => !internal)
  return {
    get: (name) => byName.get(name),
    names: tools.map(({ name }) => name),
    offered: offered.map(({ name }) => name),
    tools: offered,
  }
}
