// What is switched on, as one handle of a session knows it: `session.tools` cannot wait, so it tells by what was last heard here.

import { PawlError } from '../core/errors.ts'
import type { Toolset } from '../tools/toolset.ts'
import type { SessionCapabilities, CapabilitySwitches } from './capabilities.ts'

interface Scope {
  readonly tenant: string
  readonly session: string
}

export class EnabledCapabilities {
  readonly #switches: CapabilitySwitches
  readonly #of: Scope
  readonly #first: readonly string[] | undefined
  #switching: Promise<void> | undefined
  #on: ReadonlySet<string>

  /** `first`: to be on before anything runs. */
  constructor(switches: CapabilitySwitches, { tenant, session }: Scope, first: readonly string[] | undefined) {
    if (first !== undefined && !Array.isArray(first))
      throw new PawlError('config_invalid', 'capabilities of a session are a list of names.')
    this.#switches = switches
    this.#of = { tenant, session }
    this.#first = first
    const { all } = switches
    this.#on = new Set(first?.flatMap((name) => (all.has(name) ? all.needed(name) : [])))
  }

  /** Once, before anything runs; not before somebody asks for something. */
  begun(): Promise<void> | undefined {
    return this.#first && (this.#switching ??= this.#switches.switchOn(this.#of, this.#first))
  }

  /** For the host. */
  get handle(): SessionCapabilities {
    return {
      list: () => this.list(),
      switchOn: (name) => this.#switchOn(name),
      switchOff: (name) => this.#switchOff(name),
    }
  }

  /** What a model has of these, as far as is known here. */
  known(set: Toolset): Toolset {
    return this.#switches.all.offered(set, this.#on)
  }

  /** The same, as it is now. At once where there are no capabilities. */
  offered(set: () => Toolset): Toolset | Promise<Toolset> {
    if (!this.#switches.all.any && !this.#first) return set()
    return this.list().then(() => this.known(set()))
  }

  async list(): Promise<string[]> {
    await this.begun()
    this.#on = await this.#switches.on(this.#of)
    return [...this.#on]
  }

  async #switchOn(name: string): Promise<void> {
    await this.#switches.switchOn(this.#of, [name])
    await this.list()
  }

  async #switchOff(name: string): Promise<boolean> {
    if (typeof name !== 'string') throw new PawlError('capability_unknown', 'A name is a text.')
    // What is to be on from the start is off only if it was on before.
    await this.begun()
    const was = await this.#switches.switchOff(this.#of, name)
    await this.list()
    return was
  }
}
