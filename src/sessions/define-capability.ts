// A capability is a named bundle of tools, instructions, limits and hooks that a session can switch on. A capability
// that is off is neither shown to a model nor run for one.

import { type Hook, type HookFacts, hooksOption } from '../calls/admission/hook-definition.ts'
import { option, type OptionTable } from '../core/check-options.ts'
import { PawlError } from '../core/errors.ts'
import type { Scope } from '../core/scope.ts'
import { isTool, type Tool } from '../tools/tool.ts'
import { type Entry, restrictToolset, type Toolset } from '../tools/toolset.ts'
import type { TurnLimits } from '../models/turn-interface.ts'

/** A bundle of tools, instructions, limits and hooks that sessions switch on. */
export interface Capability {
  /** For session.capabilities and `capabilities` of a session. */
  readonly name: string
  /** For people. */
  readonly description?: string
  /** Tools that models see only while it is on. */
  readonly tools?: readonly Tool[]
  /** Added to the instructions of every turn while it is on. */
  readonly instructions?: string
  /** Limits of turns while it is on; the strictest of all active limits applies. */
  readonly limits?: Pick<TurnLimits, 'steps' | 'invalid' | 'historyTokens' | 'cost'>
  /** Run for calls of sessions where it is on. */
  readonly hooks?: readonly Hook[]
  /** Other capabilities that are switched on with it. */
  readonly requires?: readonly string[]
}

/** Infinity where there is no limit. */
export type CapabilityLimits = Required<NonNullable<Capability['limits']>>

const namePattern = /^[A-Za-z0-9_.-]{1,64}$/

/** All capabilities of a runtime. */
export class Capabilities {
  readonly #all: ReadonlyMap<string, Capability>
  /** Capability of each tool. Keyed by tool, not by name: a session may have its own tool with the same name. */
  readonly #owners = new Map<Tool, string>()
  readonly #taskTools: ReadonlySet<Tool>
  /** The runtime has capabilities. A field: every call reads it. */
  readonly any: boolean

  /** `taskTools` are offered only if some tool can run in the background. */
  constructor(all: readonly Capability[], taskTools: readonly Tool[]) {
    this.#taskTools = new Set(taskTools)
    this.#all = new Map(all.map((each) => [each.name, each]))
    this.any = all.length > 0
    if (this.#all.size < all.length) throw invalid('two capabilities have the same name')
    const toolOwners = new Map<string, string>()
    for (const { name, tools = [], requires = [] } of all) {
      for (const tool of tools) {
        if (toolOwners.has(tool.name))
          throw invalid(`'${name}' and '${toolOwners.get(tool.name)}' both have the tool '${tool.name}'`)
        toolOwners.set(tool.name, name)
        this.#owners.set(tool, name)
      }
      for (const other of requires)
        if (!this.#all.has(other)) throw invalid(`'${name}' requires '${other}', which does not exist`)
    }
  }

  has(name: string): boolean {
    return this.#all.has(name)
  }

  get tools(): readonly Tool[] {
    return [...this.#all.values()].flatMap(({ tools = [] }) => tools)
  }

  /** The capability and everything it requires. */
  withRequired(name: string): string[] {
    if (!this.#all.has(name))
      throw new PawlError(
        'capability_unknown',
        `The name is ${JSON.stringify(name)}; known capabilities: ${[...this.#all.keys()].join(', ') || 'none'}.`,
      )
    const found = [name]
    for (const each of found)
      for (const other of this.#all.get(each)?.requires ?? []) if (!found.includes(other)) found.push(other)
    return found
  }

  /** The toolset without tools of capabilities that are off. */
  enabledTools(set: Toolset, on: ReadonlySet<string>): Toolset {
    const isOn = ({ tool }: Entry): boolean => {
      const owner = tool && this.#owners.get(tool)
      return owner === undefined || on.has(owner)
    }
    const remaining = set.entries.filter(isOn)
    if (remaining.length === set.entries.length) return set
    const anyBackground = remaining.some(({ tool }) => tool?.background)
    return restrictToolset(
      set,
      remaining.flatMap(({ name, tool }) => (tool && this.#taskTools.has(tool) && !anyBackground ? [] : name)),
    )
  }

  /** Instructions of the frame, then of the capabilities; null if there are none. */
  instructions(on: ReadonlySet<string>, first: string | null): string | null {
    const own = this.#enabled(on).flatMap(({ name, instructions }) =>
      instructions === undefined || instructions.trim() === ''
        ? []
        : [`<capability name="${name}">\n${instructions}\n</capability>`],
    )
    const all = first === null ? own : [first, ...own]
    return all.length === 0 ? null : all.join('\n\n')
  }

  limits(on: ReadonlySet<string>): CapabilityLimits {
    const strictest = (of: keyof CapabilityLimits): number =>
      Math.min(...this.#enabled(on).map(({ limits }) => limits?.[of] ?? Infinity))
    return {
      steps: strictest('steps'),
      invalid: strictest('invalid'),
      historyTokens: strictest('historyTokens'),
      cost: strictest('cost'),
    }
  }

  /**
   * Wraps each hook so that it runs only where its capability is on, or for a call of the capability's own tools:
   * calls started while it was on keep their hooks. `toolOf` resolves a tool name in a session.
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
      hooks.map(({ name: own, before, after, project }) => ({
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

  #enabled(on: ReadonlySet<string>): Capability[] {
    return [...this.#all.values()].filter(({ name }) => on.has(name))
  }
}

const invalid = (why: string): PawlError => new PawlError('config_invalid', `capabilities: ${why}.`)

const capabilityOptions = {
  name: option.required({
    expected: '1 to 64 characters of A-Z a-z 0-9 _ . -',
    valid: (value) => typeof value === 'string' && namePattern.test(value),
  }),
  description: option.string,
  tools: option.listOf({ expected: 'a tool made with tool()', valid: isTool }),
  instructions: option.wellFormedString,
  limits: option.nested({
    steps: option.wholeNumber(1),
    invalid: option.wholeNumber(1),
    historyTokens: option.wholeNumber(1),
    cost: option.positiveNumber,
  } satisfies OptionTable<NonNullable<Capability['limits']>>),
  hooks: hooksOption,
  requires: option.listOf(option.nonEmptyString),
} satisfies OptionTable<Capability>

export const capabilitiesOption = option.listOf(option.nested(capabilityOptions))
