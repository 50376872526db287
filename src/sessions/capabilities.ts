// Which capabilities a session has switched on: kept with the session, the same on every worker and after a restart.

import type { Hook } from '../calls/admission/hook.ts'
import { eventOf, ofSession, type NewEvent } from '../store/records/event.ts'
import type { Clock } from '../core/clock.ts'
import type { Capabilities } from './capability.ts'
import { iterateDocuments } from '../store/iterate-documents.ts'
import type { Change, Store } from '../store/store.ts'
import type { Toolset } from '../tools/toolset.ts'

interface Scope {
  readonly tenant: string
  readonly session: string
}

/** Of one session. */
export interface SessionCapabilities {
  /** Those that are on, by name. */
  list(): Promise<string[]>
  /** With those that it requires. Turns and batches that begin later have it. */
  switchOn(name: string): Promise<void>
  /** False if it was not on. Those that it required stay. */
  switchOff(name: string): Promise<boolean>
}

const collection = 'capability'
const nameOf = ({ tenant, session }: Scope, key: string) => ({ of: collection, tenant, session, key })

export class CapabilitySwitches {
  readonly #store: () => Store
  readonly #clock: Clock
  readonly all: Capabilities

  constructor(store: () => Store, clock: Clock, all: Capabilities) {
    this.#store = store
    this.#clock = clock
    this.all = all
  }

  async on({ tenant, session }: Scope): Promise<ReadonlySet<string>> {
    const found = new Set<string>()
    if (!this.all.any) return found
    for await (const { key } of iterateDocuments(this.#store(), { of: collection, tenant, session })) found.add(key)
    return found
  }

  async isOn(of: Scope, name: string): Promise<boolean> {
    return (await this.#store().document(nameOf(of, name))) !== undefined
  }

  /** Of all capabilities. `live`: what a session has of tools now. */
  hooks(live: (tenant: string, session: string) => Toolset): Hook[] {
    return this.all.hooks(
      (of, name) => this.isOn(of, name),
      ({ tenant, session }, name) => live(tenant, session).get(name),
    )
  }

  /** What is kept where these are on. */
  rows(of: Scope, names: Iterable<string>): NonNullable<Change['documents']> {
    return [...names].map((name) => ({ ...nameOf(of, name), value: '1' }))
  }

  /** That they are on, or off, from now on. */
  told(of: Scope, names: Iterable<string>, on: boolean): NewEvent[] {
    return [...names].map((name) => eventOf(ofSession(of), 'capability.switched', this.#clock.now(), { name, on }))
  }

  async switchOn(of: Scope, names: readonly string[]): Promise<void> {
    const before = await this.on(of)
    const more = [...new Set(names.flatMap((name) => this.all.needed(name)))].filter((name) => !before.has(name))
    if (more.length === 0) return
    await this.#store().commit({ guards: [], documents: this.rows(of, more), events: this.told(of, more, true) })
  }

  async switchOff(of: Scope, name: string): Promise<boolean> {
    if (!(await this.isOn(of, name))) return false
    await this.#store().commit({
      guards: [],
      documents: [{ ...nameOf(of, name), value: null }],
      events: this.told(of, [name], false),
    })
    return true
  }
}
