// Which tools a turn has, and how its model is told of them: what it sees and what can be run is the same list. Where schemas are deferred, it has
// tool_search besides (SESS-8).

import { revealedName } from '../journal/message.ts'
import type { ModelTool } from '../model/model.ts'
import { everyKept } from '../store/every-kept.ts'
import type { Store } from '../store/store.ts'
import type { Tool } from '../tool/tool.ts'
import { anything, deferredOf, toolSearchName, toolSearchTool } from '../tool/tool-search.ts'
import { only, type Toolset, withOne } from '../tool/toolset.ts'
import { tokensIn } from './history.ts'
import type { Scope } from './host.ts'

export interface TurnTools {
  /** What can be run. */
  readonly set: Toolset
  /** Of it: those whose schema is shown only once they are revealed. */
  readonly deferred: ReadonlySet<Tool>
}

/** `names`: null for all of the session's. `from`: from so many on schemas are deferred; null for never. */
export function toolsIn(all: Toolset, names: readonly string[] | null, from: number | null): TurnTools {
  const set = names === null ? all : only(all, names)
  const search = all.recorded(toolSearchName)
  // Where another tool has the name, nobody could look for anything.
  const isFree = set.find(toolSearchName) === undefined && search?.tool === toolSearchTool
  const deferred = new Set(isFree ? deferredOf(set.tools, from) : [])
  return { set: search && deferred.size > 0 ? withOne(set, search) : set, deferred }
}

const whole = new WeakMap<Tool, ModelTool>()
const brief = new WeakMap<Tool, ModelTool>()

/** `revealed`: by id. */
export const modelTools = ({ set, deferred }: TurnTools, revealed: ReadonlySet<string>): readonly ModelTool[] =>
  set.tools.map((tool) => {
    const isBrief = deferred.has(tool) && !revealed.has(tool.id)
    const known = isBrief ? brief : whole
    const { name, description, input, examples } = tool
    const told = known.get(tool) ?? {
      name,
      description,
      ...(isBrief ? { parameters: anything, examples: [] } : { parameters: input.json, examples }),
    }
    known.set(tool, told)
    return told
  })

const counted = new WeakMap<TurnTools, number>()

/** About how many tokens a model reads of them before it has looked for anything. */
export function toolTokens(tools: TurnTools): number {
  const known = counted.get(tools) ?? tokensIn(JSON.stringify(modelTools(tools, new Set())))
  counted.set(tools, known)
  return known
}

/** What the session has looked for, by id; on whatever worker, in whichever turn. */
export async function revealedIn(store: Store, { tenant, session }: Scope): Promise<Set<string>> {
  const found = new Set<string>()
  for await (const { key } of everyKept(store, { of: revealedName({ tenant, session }, '').of, tenant, session })) found.add(key)
  return found
}
