// What is kept beside a held call: gathered, and written with the next thing the holder writes, so that it is fenced like all of that.

import type { EventBodies, EventType } from '../../journal/event.ts'
import { frame } from '../../kernel/id.ts'
import type { Change, KeptName } from '../../store/store.ts'
import type { BesideCall } from '../engine.ts'
import type { HeldCall } from './held.ts'

const placeOf = ({ of, tenant, session, key }: KeptName): string => frame(of, tenant, session, key)

export class Beside implements BesideCall {
  readonly #held: HeldCall
  /** As this execution has written it, or is about to. */
  readonly #known = new Map<string, string | null>()

  constructor(held: HeldCall) {
    this.#held = held
  }

  async read(name: KeptName): Promise<string | null> {
    const place = placeOf(name)
    const known = this.#known.get(place)
    return known === undefined ? ((await this.#held.host.store.kept(name))?.value ?? null) : known
  }

  keep(...rows: NonNullable<Change['keep']>): void {
    this.#held.check()
    const { keep, events } = this.#waiting
    const places = new Set(rows.map(placeOf))
    // The last word on a name is enough.
    this.#held.beside = { keep: [...keep.filter((row) => !places.has(placeOf(row))), ...rows], events }
    for (const row of rows) this.#known.set(placeOf(row), row.value)
  }

  tell<T extends EventType>(type: T, body: EventBodies[T]): void {
    this.#held.check()
    const { keep, events } = this.#waiting
    this.#held.beside = { keep, events: [...events, this.#held.event(type, this.#held.host.clock.now(), body)] }
  }

  async flush(): Promise<void> {
    this.#held.check()
    if (this.#held.beside && this.#held.letGo === 'not yet') await this.#held.write(this.#held.held({ events: [] }))
  }

  get #waiting(): NonNullable<HeldCall['beside']> {
    return this.#held.beside ?? { keep: [], events: [] }
  }
}
