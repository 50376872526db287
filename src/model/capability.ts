// CAPABILITY: a named bundle of tools, instructions, limits and hooks that a session switches on. What is off is neither shown to a model nor run for one.

import { checkHooks, type Hook } from '../call/hook.ts'
import { PawlError } from '../kernel/errors.ts'
import { isTool, type Tool } from '../tool/tool.ts'
import { only, type Toolset } from '../tool/toolset.ts'
import type { TurnLimits } from './turn.ts'

export interface Capability {
  readonly name: string
  readonly description?: string
  readonly tools?: readonly Tool[]
  /** Read by the model of every turn while it is on. */
  readonly instructions?: string
  /** Of turns while it is on: the strictest of all that are holds. */
  readonly limits?: Pick<TurnLimits, 'steps' | 'invalid' | 'historyTokens'>
  /** Asked about calls of sessions where it is on. */
  readonly hooks?: readonly Hook[]
  /** Others that are switched on with it. */
  readonly requires?: readonly string[]
}

const shape = /^[A-Za-z0-9_.-]{1,64}$/

/** All that a runtime has. */
export class Capabilities {
  readonly #all: ReadonlyMap<string, Capability>
  /** Whose each tool is. */
  readonly #owners = new Map<string, string>()

  constructor(all: readonly Capability[]) {
    this.#all = new Map(all.map((each) => [checked(each).name, each]))
    if (this.#all.size < all.length) throw wrong('Two have the same name')
    for (const { name, tools = [], requires = [] } of all) {
      for (const { name: tool } of tools) {
        if (this.#owners.has(tool)) throw wrong(`'${name}' and '${this.#owners.get(tool)}' both have the tool '${tool}'`)
        this.#owners.set(tool, name)
      }
      for (const other of requires) if (!this.#all.has(other)) throw wrong(`'${name}' requires '${other}', which there is not`)
    }
  }

  get any(): boolean {
    return this.#all.size > 0
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
    for (const each of found) for (const other of this.#all.get(each)?.requires ?? []) if (!found.includes(other)) found.push(other)
    return found
  }

  /** What is left of the tools when only these are on. */
  offered(set: Toolset, on: ReadonlySet<string>): Toolset {
    const isOff = (tool: string): boolean => {
      const owner = this.#owners.get(tool)
      return owner !== undefined && !on.has(owner)
    }
    const names = set.entries.map(({ name }) => name)
    return names.some(isOff)
      ? only(
          set,
          names.filter((name) => !isOff(name)),
        )
      : set
  }

  /** After those of the frame; null if there are none. */
  instructions(on: ReadonlySet<string>, first: string | null): string | null {
    const own = this.#those(on).flatMap(({ name, instructions }) =>
      instructions === undefined ? [] : [`<capability name="${name}">\n${instructions}\n</capability>`],
    )
    const all = first === null ? own : [first, ...own]
    return all.length === 0 ? null : all.join('\n\n')
  }

  limits(on: ReadonlySet<string>): Required<NonNullable<Capability['limits']>> {
    const least = (of: 'steps' | 'invalid' | 'historyTokens'): number =>
      Math.min(...this.#those(on).map(({ limits }) => limits?.[of] ?? Infinity))
    return { steps: least('steps'), invalid: least('invalid'), historyTokens: least('historyTokens') }
  }

  /** Each silent where its capability is off. */
  hooks(isOn: (of: { tenant: string; session: string }, name: string) => Promise<boolean>): Hook[] {
    return [...this.#all.values()].flatMap(({ name, hooks = [] }) =>
      checkHooks(hooks).map(({ name: own, before, after, project }) => ({
        name: own,
        ...(before
          ? { before: async (facts: Parameters<typeof before>[0]) => ((await isOn(facts, name)) ? before(facts) : undefined) }
          : {}),
        ...(after
          ? { after: async (...given: Parameters<typeof after>) => ((await isOn(given[0], name)) ? after(...given) : undefined) }
          : {}),
        ...(project
          ? { project: async (...given: Parameters<typeof project>) => ((await isOn(given[0], name)) ? project(...given) : undefined) }
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

function checked(given: Capability): Capability {
  if (typeof given?.name !== 'string' || !shape.test(given.name)) throw wrong('A name is 1 to 64 of A-Z a-z 0-9 _ . -')
  for (const field of Object.keys(given)) if (!fields.has(field)) throw wrong(`'${given.name}' has '${field}', which no capability has`)
  const { tools = [], instructions, limits = {} } = given
  if (!tools.every(isTool)) throw wrong(`The tools of '${given.name}' are not all made by tool()`)
  if (instructions !== undefined && typeof instructions !== 'string') throw wrong(`The instructions of '${given.name}' are not a text`)
  for (const [what, value] of Object.entries(limits))
    if (!Number.isSafeInteger(value) || value < 1) throw wrong(`limits.${what} of '${given.name}' is not a whole number from 1 on`)
  return given
}
