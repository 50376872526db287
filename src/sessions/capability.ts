// CAPABILITY: a named bundle of tools, instructions, limits and hooks that a session switches on. What is off is neither shown to a model nor run for one.

import { checkHooks, type Hook, type HookFacts } from '../calls/admission/hook.ts'
import { PawlError } from '../core/errors.ts'
import { isTool, type Tool } from '../tools/tool.ts'
import { type Entry, only, type Toolset } from '../tools/toolset.ts'
import { isCost } from '../models/cost-ledger.ts'
import type { TurnLimits } from '../models/turn-interface.ts'

export interface Capability {
  readonly name: string
  readonly description?: string
  readonly tools?: readonly Tool[]
  /** Read by the model of every turn while it is on. */
  readonly instructions?: string
  /** Of turns while it is on: the strictest of all that are holds. */
  readonly limits?: Pick<TurnLimits, 'steps' | 'invalid' | 'historyTokens' | 'cost'>
  /** Asked about calls of sessions where it is on. */
  readonly hooks?: readonly Hook[]
  /** Others that are switched on with it. */
  readonly requires?: readonly string[]
}

/** Infinity where nothing is said. */
export type CapabilityLimits = Required<NonNullable<Capability['limits']>>

interface Scope {
  readonly tenant: string
  readonly session: string
}

const shape = /^[A-Za-z0-9_.-]{1,64}$/

/** All that a runtime has. */
export class Capabilities {
  readonly #all: ReadonlyMap<string, Capability>
  /** Whose each tool is. Not by name: a session may have a tool of its own that is called the same. */
  readonly #owners = new Map<Tool, string>()
  readonly #forTasks: ReadonlySet<Tool>

  /** `forTasks`: the tools for tasks, which are there where some tool can run in the background. */
  constructor(all: readonly Capability[], forTasks: readonly Tool[]) {
    if (!Array.isArray(all)) throw wrong('They are not a list')
    this.#forTasks = new Set(forTasks)
    this.#all = new Map(all.map((each) => [checked(each).name, each]))
    if (this.#all.size < all.length) throw wrong('Two have the same name')
    const named = new Map<string, string>()
    for (const { name, tools = [], requires = [] } of all) {
      for (const tool of tools) {
        if (named.has(tool.name))
          throw wrong(`'${name}' and '${named.get(tool.name)}' both have the tool '${tool.name}'`)
        named.set(tool.name, name)
        this.#owners.set(tool, name)
      }
      for (const other of requires)
        if (!this.#all.has(other)) throw wrong(`'${name}' requires '${other}', which there is not`)
    }
  }

  get any(): boolean {
    return this.#all.size > 0
  }

  has(name: string): boolean {
    return this.#all.has(name)
  }

  get tools(): readonly Tool[] {
    return [...this.#all.values()].flatMap(({ tools = [] }) => tools)
  }

  /** With those that it requires. */
  needed(name: string): string[] {
    if (!this.#all.has(name))
      throw new PawlError(
        'capability_unknown',
        `The name is ${JSON.stringify(name)}; there are: ${[...this.#all.keys()].join(', ') || 'none'}.`,
      )
    const found = [name]
    for (const each of found)
      for (const other of this.#all.get(each)?.requires ?? []) if (!found.includes(other)) found.push(other)
    return found
  }

  /** What is left of the tools when only these are on. */
  offered(set: Toolset, on: ReadonlySet<string>): Toolset {
    const isOn = ({ tool }: Entry): boolean => {
      const owner = tool && this.#owners.get(tool)
      return owner === undefined || on.has(owner)
    }
    const left = set.entries.filter(isOn)
    if (left.length === set.entries.length) return set
    const handlesTasks = left.some(({ tool }) => tool?.background)
    return only(
      set,
      left.flatMap(({ name, tool }) => (tool && this.#forTasks.has(tool) && !handlesTasks ? [] : name)),
    )
  }

  /** After those of the frame; null if there are none. */
  instructions(on: ReadonlySet<string>, first: string | null): string | null {
    const own = this.#those(on).flatMap(({ name, instructions }) =>
      instructions === undefined || instructions.trim() === ''
        ? []
        : [`<capability name="${name}">\n${instructions}\n</capability>`],
    )
    const all = first === null ? own : [first, ...own]
    return all.length === 0 ? null : all.join('\n\n')
  }

  limits(on: ReadonlySet<string>): CapabilityLimits {
    const least = (of: keyof CapabilityLimits): number =>
      Math.min(...this.#those(on).map(({ limits }) => limits?.[of] ?? Infinity))
    return {
      steps: least('steps'),
      invalid: least('invalid'),
      historyTokens: least('historyTokens'),
      cost: least('cost'),
    }
  }

  /**
   * Each silent where its capability is off; but for calls of the capability's own tools: what was begun while it was on is not let go unwatched. `toolOf`: the
   * tool that a session means by a name.
   */
  hooks(
    switchedOn: (of: Scope, name: string) => Promise<boolean>,
    toolOf: (of: Scope, name: string) => Tool | undefined,
  ): Hook[] {
    const isOn = async (facts: HookFacts, name: string): Promise<boolean> => {
      const tool = toolOf(facts, facts.tool)
      return (tool !== undefined && this.#owners.get(tool) === name) || switchedOn(facts, name)
    }
    return [...this.#all.values()].flatMap(({ name, hooks = [] }) =>
      checkHooks(hooks).map(({ name: own, before, after, project }) => ({
        name: own,
        ...(before
          ? {
              before: async (facts: Parameters<typeof before>[0]) =>
                (await isOn(facts, name)) ? before(facts) : undefined,
            }
          : {}),
        ...(after
          ? {
              after: async (...given: Parameters<typeof after>) =>
                (await isOn(given[0], name)) ? after(...given) : undefined,
            }
          : {}),
        ...(project
          ? {
              project: async (...given: Parameters<typeof project>) =>
                (await isOn(given[0], name)) ? project(...given) : undefined,
            }
          : {}),
      })),
    )
  }

  #those(on: ReadonlySet<string>): Capability[] {
    return [...this.#all.values()].filter(({ name }) => on.has(name))
  }
}

const wrong = (why: string): PawlError => new PawlError('config_invalid', `capabilities: ${why}.`)

const fields = new Set(['name', 'description', 'tools', 'instructions', 'limits', 'hooks', 'requires'])

const limitFields = new Set(['steps', 'invalid', 'historyTokens', 'cost'])

function checked(given: Capability): Capability {
  if (typeof given?.name !== 'string' || !shape.test(given.name)) throw wrong('A name is 1 to 64 of A-Z a-z 0-9 _ . -')
  for (const field of Object.keys(given))
    if (!fields.has(field)) throw wrong(`'${given.name}' has '${field}', which no capability has`)
  const { tools = [], instructions, limits = {}, hooks = [], requires = [] } = given
  for (const [what, list] of Object.entries({ tools, hooks, requires }))
    if (!Array.isArray(list)) throw wrong(`${what} of '${given.name}' is not a list`)
  if (!tools.every(isTool)) throw wrong(`The tools of '${given.name}' are not all made by tool()`)
  if (instructions !== undefined && (typeof instructions !== 'string' || !instructions.isWellFormed()))
    throw wrong(`The instructions of '${given.name}' are not a text`)
  if (typeof limits !== 'object' || limits === null) throw wrong(`limits of '${given.name}' is not { steps, … }`)
  for (const [what, value] of Object.entries(limits)) {
    if (!limitFields.has(what)) throw wrong(`limits of '${given.name}' has '${what}', which no capability has`)
    if (what === 'cost') {
      if (!isCost(value)) throw wrong(`limits.cost of '${given.name}' is not a number above 0`)
    } else if (!Number.isSafeInteger(value) || value < 1)
      throw wrong(`limits.${what} of '${given.name}' is not a whole number from 1 on`)
  }
  return given
}
