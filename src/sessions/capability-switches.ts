// Stores which capabilities a session has switched on, so that every worker sees the same set, even after a restart.

import type { Hook } from '../calls/admission/hook-definition.ts'
import { eventOf, sessionSubject, type NewEvent } from '../store/records/event.ts'
import type { Clock } from '../core/clock.ts'
import type { Scope } from '../core/scope.ts'
import type { Capabilities } from './define-capability.ts'
import type { Store, DocumentWrite } from '../store/store.ts'
import type { Registry } from '../tools/registry.ts'
import { collections } from '../store/collections.ts'
import { PawlError } from '../core/errors.ts'
import type { Toolset } from '../tools/toolset.ts'

/** Capabilities of one session. */
export interface SessionCapabilities {
  /** Names of the capabilities that are on. */
  list(): Promise<string[]>
  /** Also switches on what it requires. Takes effect for turns and batches that start later. */
  switchOn(name: string): Promise<void>
  /** Returns false if it was not on. Capabilities it required stay on. */
  switchOff(name: string): Promise<boolean>
}

export class CapabilitySwitches {
  readonly #store: Store
  readonly #clock: Clock
  readonly all: Capabilities

  constructor(store: Store, clock: Clock, all: Capabilities) {
    this.#store = store
    this.#clock = clock
    this.all = all
  }

  async enabledIn({ tenant, session }: Scope): Promise<ReadonlySet<string>> {
    const found = new Set<string>()
    if (!this.all.any) return found
    for await (const { key } of collections.capability.iterate(this.#store, { tenant, session })) found.add(key)
    return found
  }

  async isOn(of: Scope, name: string): Promise<boolean> {
    return (await this.#store.document(collections.capability.name(of, name))) !== undefined
  }

  /** The hooks of all capabilities. */
  hooks(registry: Registry): Hook[] {
    return this.all.hooks(
      (of, name) => this.isOn(of, name),
      (of, name) => registry.tool(of, name),
    )
  }

  /** Documents that record these capabilities as switched on. */
  documents(of: Scope, names: Iterable<string>): readonly DocumentWrite[] {
    return [...names].map((name) => ({ ...collections.capability.name(of, name), value: '1' }))
  }

  /** Events that announce the switch. */
  events(of: Scope, names: Iterable<string>, on: boolean): NewEvent[] {
    return [...names].map((name) => eventOf(sessionSubject(of), 'capability.switched', this.#clock.now(), { name, on }))
  }

  async switchOn(of: Scope, names: readonly string[]): Promise<void> {
    const before = await this.enabledIn(of)
    const added = [...new Set(names.flatMap((name) => this.all.withRequired(name)))].filter((name) => !before.has(name))
    if (added.length === 0) return
    await this.#store.commit({
      guards: [],
      documents: this.documents(of, added),
      events: this.events(of, added, true),
    })
  }

  async switchOff(of: Scope, name: string): Promise<boolean> {
    if (!(await this.isOn(of, name))) return false
    await this.#store.commit({
      guards: [],
      documents: [{ ...collections.capability.name(of, name), value: null }],
      events: this.events(of, [name], false),
    })
    return true
  }
}

/** What one session handle knows to be on. `session.tools` is synchronous, so it uses the set that was read last. */
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
