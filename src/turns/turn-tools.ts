// Which tools a turn has, and how its model is told of them: what it sees and what can be run is the same list. Where schemas are deferred, it has
// tool_search besides (SESS-8).

import { revealedName } from '../store/records/conversation.ts'
import type { ModelTool } from '../models/model.ts'
import { iterateDocuments } from '../store/iterate-documents.ts'
import { readOutputName } from '../tools/read-output-tool.ts'
import type { Change, Store } from '../store/store.ts'
import type { Tool } from '../tools/tool.ts'
import { anything, deferredOf, toolSearchName, toolSearchTool } from '../tools/tool-search.ts'
import { only, type Toolset, withOne } from '../tools/toolset.ts'
import { tokensIn } from './conversation/history.ts'
import type { Scope, TurnHost } from './ports.ts'

export interface TurnTools {
  /** What can be run. */
  readonly set: Toolset
  /** Of it: those whose schema is shown only once they are revealed. */
  readonly deferred: ReadonlySet<Tool>
}

/** `names`: null for all of the session's. `from`: from so many on schemas are deferred; null for never. */
function toolsIn(all: Toolset, names: readonly string[] | null, from: number | null): TurnTools {
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
const modelTools = ({ set, deferred }: TurnTools, revealed: ReadonlySet<string>): readonly ModelTool[] =>
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
async function revealedIn(store: Store, { tenant, session }: Scope): Promise<Set<string>> {
  const found = new Set<string>()
  for await (const { key } of iterateDocuments(store, {
    of: revealedName({ tenant, session }, '').of,
    tenant,
    session,
  }))
    found.add(key)
  return found
}

/** The tools of a turn on its way: what stood when it began here (TOOL-4), as the frame that it works in has it. */
export class ToolsOfTurn {
  readonly set: Toolset
  /** Capabilities that were on when it began, on whatever worker. */
  readonly on: ReadonlySet<string>
  readonly #host: TurnHost
  readonly #of: Scope
  /** Those that the model called wrongly, by id. */
  readonly #mistaken = new Set<string>()
  #known: { readonly names: readonly string[] | null; readonly tools: TurnTools } | null = null

  constructor(host: TurnHost, of: Scope, on: ReadonlySet<string>) {
    this.on = on
    this.#host = host
    this.#of = of
    this.set = host.tools(of)
  }

  /** `names`: of the frame; null for all that the session has. */
  in(names: readonly string[] | null): TurnTools {
    if (!this.#known || this.#known.names !== names)
      this.#known = { names, tools: toolsIn(this.#offered, names, this.#host.searchFrom) }
    return this.#known.tools
  }

  /** By name, where it does not have all that there is: whoever takes a search up looks among these. */
  within(names: readonly string[] | null): readonly string[] | null {
    const offered = this.#offered
    return names?.filter((name) => offered.find(name)) ?? (offered === this.set ? null : offered.offered)
  }

  /** Whether the model can read on in a result that it was shown a part of. */
  reads(names: readonly string[] | null): boolean {
    return this.in(names).set.get(readOutputName) !== undefined
  }

  /** As the model is told of them: with the schemas of those that it has looked for. */
  async told(names: readonly string[] | null): Promise<readonly ModelTool[]> {
    const tools = this.in(names)
    const found = tools.deferred.size === 0 ? [] : await revealedIn(this.#host.store, this.#of)
    return modelTools(tools, new Set([...found, ...this.#mistaken]))
  }

  /** A model that called a tool without its schema, and wrongly, is shown it next time. */
  reveal(names: readonly string[] | null, mistaken: readonly string[]): NonNullable<Change['documents']> {
    const { set, deferred } = this.in(names)
    const tools = mistaken.flatMap((name) => set.get(name) ?? []).filter((tool) => deferred.has(tool))
    return [...new Set(tools)].map(({ id }) => {
      this.#mistaken.add(id)
      return { ...revealedName(this.#of, id), value: '1' }
    })
  }

  /** What the session has of what stood when the turn began. */
  get #offered(): Toolset {
    return this.#host.switches.all.offered(this.set, this.on)
  }
}
