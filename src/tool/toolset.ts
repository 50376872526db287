// An immutable collection of tools. Names are looked up in a Map, so `__proto__` and `constructor` are ordinary absent names.

import { PawlError } from '../kernel/errors.ts'
import type { Tool } from './tool.ts'

export interface Toolset {
  get(name: string): Tool | undefined
  readonly names: readonly string[]
}

export function toolset(tools: readonly Tool[]): Toolset {
  const byName = new Map<string, Tool>()
  for (const each of tools) {
    if (byName.has(each.name)) throw new PawlError('tool_duplicate', `The name is '${each.name}'.`)
    byName.set(each.name, each)
  }
  const names = [...byName.keys()].toSorted()
  return { get: (name) => byName.get(name), names }
}
