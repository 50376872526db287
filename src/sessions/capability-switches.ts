// Stores which capabilities a session has switched on, so that every worker sees the same set, even after a restart.

import type { Hook } from '../calls/admission/hook-definition.ts'
import { eventOf, sessionSubject, type NewEvent } from '../store/records/event.ts'
import type { Clock } from '../core/clock.ts'
import type { Scope } from '../core/scope.ts'
import type { Capabilities } from './define-capability.ts'
import type { Store, DocumentWrite } from '../store/store.ts'
import type { Registry } from '../tools/registry.ts'
import { collections } from '../store/collections.ts'

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
