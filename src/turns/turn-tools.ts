// The tools of a turn and how they are shown to its model. The model is shown exactly the tools it can call; if
// schemas are deferred, it also gets tool_search.

import { asSentence, PawlError } from '../core/errors.ts'
import type { Scope } from '../core/scope.ts'
import { similarNames } from '../core/similar-names.ts'
import type { ModelTool, ToolChoice } from '../models/model.ts'
import type { StartTurn } from '../models/turn-interface.ts'
import { readOutputName } from '../tools/read-output-tool.ts'
import type { Store, DocumentWrite } from '../store/store.ts'
import type { Tool } from '../tools/tool.ts'
import { anyInput, countOwnTools, deferredTools, toolSearchName, toolSearchTool } from '../tools/tool-search.ts'
import { restrictToolset, type Toolset, withEntry } from '../tools/toolset.ts'
import { tokensIn } from './conversation/history.ts'
import type { TurnHost } from './ports.ts'
import { checkTurnOptions } from './turn-request.ts'
import { collections } from '../store/collections.ts'

/**
 * Refuses a turn that names a tool which its session does not have. A name that a provider may add when it is back
 * passes, and so does every name in a process without workers, which may have no tools.
 */
export function checkToolNames({ registry, works }: TurnHost, { tenant, session }: Scope, turn: StartTurn): StartTurn {
  checkTurnOptions(turn)
  if (!works || registry.away.length > 0) return turn
  const { tools, toolChoice, settings } = turn
  const named = [
    ...(tools ?? []).map((name) => ['tools', name] as const),
    ...(typeof toolChoice === 'object' ? [['toolChoice', toolChoice.tool] as const] : []),
  ]
  const set = registry.toolsetFor(tenant, session)
  for (const { name } of settings?.providerTools ?? [])
    if (set.find(name))
      throw new PawlError(
        'turn_invalid',
        `\`settings.providerTools\` has the name '${name}', which a tool of the session has. Choose another name.`,
      )
  for (const [option, name] of named) {
    if (set.find(name) || set.findByKey(name)) continue
    const similar = similarNames(name, set.offered)
    const hint =
      similar.length > 0
        ? `did you mean ${similar.map((each) => `'${each}'`).join(' or ')}?`
        : 'add it to the runtime or to the session'
    throw new PawlError(
      'turn_invalid',
      asSentence(`\`${option}\` of turn() names '${name.slice(0, 80)}', which the session does not have; ${hint}`),
    )
  }
  return turn
}

export interface TurnTools {
  /** Tools that can run. */
  readonly set: Toolset
  /** Tools whose schema is shown only once they are revealed. */
  readonly deferred: ReadonlySet<Tool>
}

/**
 * `names`: null for all tools of the session. `deferFrom`: smallest number of tools for which schemas are deferred;
 * null: never.
 */
function selectTools(all: Toolset, names: readonly string[] | null, deferFrom: number | null): TurnTools {
  const set = names === null ? all : restrictToolset(all, names)
  const search = all.findByKey(toolSearchName)
  // If another tool uses the name tool_search, deferred schemas could not be found.
  const isFree = set.find(toolSearchName) === undefined && search?.tool === toolSearchTool
  const deferred = new Set(isFree ? deferredTools(set.tools, deferFrom) : [])
  return { set: search && deferred.size > 0 ? withEntry(set, search) : set, deferred }
}

/** Runtimes that have logged that tool search is on. */
const reported = new WeakSet<TurnHost>()

const fullTools = new WeakMap<Tool, ModelTool>()
const briefTools = new WeakMap<Tool, ModelTool>()

/** `revealed`: tool ids. */
const modelTools = ({ set, deferred }: TurnTools, revealed: ReadonlySet<string>): readonly ModelTool[] =>
  set.tools.map((tool) => {
    const isBrief = deferred.has(tool) && !revealed.has(tool.id)
    const cache = isBrief ? briefTools : fullTools
    const { name, description, input, examples } = tool
    const modelTool = cache.get(tool) ?? {
      name,
      description,
      ...(isBrief ? { parameters: anyInput, examples: [] } : { parameters: input.json, examples }),
    }
    cache.set(tool, modelTool)
    return modelTool
  })

const tokenCounts = new WeakMap<TurnTools, number>()

/** Estimated tokens of the tool definitions before any are revealed. */
export function toolTokens(tools: TurnTools): number {
  const tokens = tokenCounts.get(tools) ?? tokensIn(JSON.stringify(modelTools(tools, new Set())))
  tokenCounts.set(tools, tokens)
  return tokens
}

/** Ids of tools revealed in this session by any turn on any worker. */
async function revealedTools(store: Store, { tenant, session }: Scope): Promise<Set<string>> {
  const found = new Set<string>()
  for await (const { key } of collections.toolRevealed.iterate(store, { tenant, session })) found.add(key)
  return found
}

/**
 * The tools of a running turn: the session's toolset at the time this worker started the turn, filtered by frame and
 * capabilities.
 */
export class TurnToolset {
  readonly set: Toolset
  /** Capabilities that were on when the turn first started, on any worker. */
  readonly capabilities: ReadonlySet<string>
  readonly #host: TurnHost
  readonly #scope: Scope
  /** Ids of deferred tools that the model called with invalid arguments. */
  readonly #revealedIds = new Set<string>()
  #selected: { readonly names: readonly string[] | null; readonly tools: TurnTools } | null = null

  constructor(host: TurnHost, of: Scope, on: ReadonlySet<string>) {
    this.capabilities = on
    this.#host = host
    this.#scope = of
    this.set = host.registry.toolsetFor(of.tenant, of.session)
  }

  /** `names`: tools of the frame; null for all tools of the session. */
  forFrame(names: readonly string[] | null): TurnTools {
    if (!this.#selected || this.#selected.names !== names)
      this.#selected = { names, tools: selectTools(this.#enabledTools, names, this.#host.deferFrom) }
    this.#reportToolSearch(this.#selected.tools)
    return this.#selected.tools
  }

  /** Warns once per runtime that schemas are hidden because there are many tools, unless the host set `toolSearch`. */
  #reportToolSearch({ set, deferred }: TurnTools): void {
    const { deferFrom, deferByDefault, logger } = this.#host
    if (
      !deferByDefault ||
      reported.has(this.#host) ||
      deferFrom === null ||
      ![...deferred].some(({ defer }) => defer === 'auto')
    )
      return
    reported.add(this.#host)
    logger.warn(
      `Tool search is on: there are ${countOwnTools(set.tools)} tools, so models see only their names and descriptions ` +
        `until they load a schema with tool_search. It starts with ${deferFrom} tools; ` +
        'set toolSearch: { from: … } or toolSearch: false to change that',
    )
  }

  /** Tool names if the turn does not have all tools; a resumed tool_search is limited to them. */
  restrictedTo(names: readonly string[] | null): readonly string[] | null {
    const offered = this.#enabledTools
    return names?.filter((name) => offered.find(name)) ?? (offered === this.set ? null : offered.offered)
  }

  /** True if the model has the tool that reads the rest of a truncated result. */
  canReadOutput(names: readonly string[] | null): boolean {
    return this.forFrame(names).set.get(readOutputName) !== undefined
  }

  /** Tool definitions for the model, with schemas of revealed tools and of the one that it must call. */
  async forModel(names: readonly string[] | null, choice: ToolChoice): Promise<readonly ModelTool[]> {
    const tools = this.forFrame(names)
    const found = tools.deferred.size === 0 ? [] : await revealedTools(this.#host.store, this.#scope)
    const forced = typeof choice === 'object' ? tools.set.get(choice.tool)?.id : undefined
    return modelTools(tools, new Set([...found, ...this.#revealedIds, ...(forced === undefined ? [] : [forced])]))
  }

  /** Reveals the schema of deferred tools that the model called with invalid arguments. */
  reveal(names: readonly string[] | null, invalidCalls: readonly string[]): readonly DocumentWrite[] {
    const { set, deferred } = this.forFrame(names)
    const tools = invalidCalls.flatMap((name) => set.get(name) ?? []).filter((tool) => deferred.has(tool))
    return [...new Set(tools)].map(({ id }) => {
      this.#revealedIds.add(id)
      return { ...collections.toolRevealed.name(this.#scope, id), value: '1' }
    })
  }

  /** The turn's toolset without tools of capabilities that are off. */
  get #enabledTools(): Toolset {
    return this.#host.switches.all.enabledTools(this.set, this.capabilities)
  }
}
