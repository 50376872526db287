// Which tools a turn has, and how its model is told of them: what it sees and what can be run is the same list.

import type { ModelTool } from '../model/model.ts'
import { only, type Toolset } from '../tool/toolset.ts'

/** Null: all of the session's. */
export const toolsIn = (set: Toolset, names: readonly string[] | null): Toolset => (names === null ? set : only(set, names))

const known = new WeakMap<Toolset, readonly ModelTool[]>()

export function modelTools(set: Toolset): readonly ModelTool[] {
  const before = known.get(set)
  if (before) return before
  const tools = set.tools.map(({ name, description, input, examples }) => ({ name, description, parameters: input.json, examples }))
  known.set(set, tools)
  return tools
}
