// The capabilities that one session handle knows to be on. `session.tools` is synchronous, so it uses the set read
// last.

import { PawlError } from '../core/errors.ts'
import type { Scope } from '../core/scope.ts'
import type { Toolset } from '../tools/toolset.ts'
import type { SessionCapabilities, CapabilitySwitches } from './capability-switches.ts'

export class EnabledCapabilities {
  readonly #switches: CapabilitySwitches
  readonly #scope: Scope
  readonly #initial: readonly string[] | undefined
  #switching: Promise<void> | undefined
  #on: ReadonlySet<string>

  /** `initial`: capabilities to switch on before anything runs. */
  constructor(switches: CapabilitySwitches, { tenant, session }: Scope, initial: readonly string[] | undefined) {
    this.#switches = switches
    this.#scope = { tenant, session }
    this.#initial = initial
    const { all } = switches
    this.#on = new Set(initial?.flatMap((name) => (all.has(name) ? all.withRequired(name) : [])))
  }

  /** Switches on the initial capabilities, once, before the first run. */
  switchOnInitial(): Promise<void> | undefined {
    return this.#initial && (this.#switching ??= this.#switches.switchOn(this.#scope, this.#initial))
  }

  /** The public `session.capabilities`. */
  get handle(): SessionCapabilities {
    return {
      list: () => this.list(),
      switchOn: (name) => this.#switchOn(name),
      switchOff: (name) => this.#switchOff(name),
    }
  }

  /** The enabled tools, according to the set read last. */
  cachedTools(set: Toolset): Toolset {
    return this.#switches.all.enabledTools(set, this.#on)
  }

  /** The enabled tools, read from the store. Synchronous if the runtime has no capabilities. */
  currentTools(set: () => Toolset): Toolset | Promise<Toolset> {
    if (!this.#switches.all.any && !this.#initial) return set()
    return this.list().then(() => this.cachedTools(set()))
  }

  async list(): Promise<string[]> {
    await this.switchOnInitial()
    this.#on = await this.#switches.enabledIn(this.#scope)
    return [...this.#on]
  }

  async #switchOn(name: string): Promise<void> {
    await this.#switches.switchOn(this.#scope, [name])
    await this.list()
  }

  async #switchOff(name: string): Promise<boolean> {
    if (typeof name !== 'string') throw new PawlError('capability_unknown', 'The name must be a string.')
    // The initial capabilities must be recorded first, or switching one off would be undone later.
    await this.switchOnInitial()
    const wasOn = await this.#switches.switchOff(this.#scope, name)
    await this.list()
    return wasOn
  }
}
