// Places that calls hold, as the store in memory keeps them (Take and Hold in store.ts).

import type { Clock } from '../../core/clock.ts'
import type { Change, Hold, Take } from '../store.ts'

interface Kept extends Hold {
  /** When the place is free by itself. */
  readonly until: number
}

export class HeldPlaces {
  readonly #byName = new Map<string, Map<string, Kept>>()
  readonly #byHolder = new Map<string, Set<Kept>>()
  readonly #clock: Clock
  readonly #alive: (worker: string) => boolean

  constructor(clock: Clock, alive: (worker: string) => boolean) {
    this.#clock = clock
    this.#alive = alive
  }

  /** The first name under which there is no room; null if there is room under all. */
  full({ holder, above = [], places }: Take): string | null {
    for (const { name, capacity } of places) {
      const counting = this.#counting(name)
      const isOwn = (each: Kept): boolean => each.holder === holder || above.includes(each.holder)
      const hurries = above.length > 0 || counting.some((each) => isOwn(each) && each.ticket === null)
      const turn = hurries ? 0 : (this.#ticketOf(holder) ?? Infinity)
      const before = counting.filter((each) => !isOwn(each) && (each.ticket ?? -1) < turn)
      if (before.length >= capacity) return name
    }
    return null
  }

  take({ holder, worker, places }: Take): void {
    for (const each of this.#byHolder.get(holder) ?? []) if (each.ticket !== null) this.#remove(each)
    for (const { name, lasts } of places) {
      const until = lasts ? this.#clock.monotonic() + lasts.ms : Infinity
      this.#put({ name, holder: lasts?.entry ?? holder, worker, ticket: null, until })
    }
  }

  line({ holder, worker, name }: NonNullable<Change['line']>): void {
    if (this.#byName.get(name)?.get(holder)?.ticket === null) return
    const ticket = this.#ticketOf(holder) ?? this.#lastTicket() + 1
    for (const each of this.#byHolder.get(holder) ?? []) if (each.ticket !== null) this.#remove(each)
    this.#put({ name, holder, worker, ticket, until: Infinity })
  }

  give({ holder, names }: NonNullable<Change['give']>): void {
    for (const each of this.#byHolder.get(holder) ?? []) if (names?.includes(each.name) ?? true) this.#remove(each)
  }

  all(): Hold[] {
    return [...this.#byName.keys()]
      .flatMap((name) => this.#counting(name))
      .map(({ name, holder, worker, ticket }) => ({ name, holder, worker, ticket }))
  }

  /** Those whose time has not passed, and of those in line the ones whose worker lives. */
  #counting(name: string): Kept[] {
    const now = this.#clock.monotonic()
    const kept = [...(this.#byName.get(name)?.values() ?? [])]
    for (const each of kept) if (each.until <= now) this.#remove(each)
    return kept.filter((each) => each.until > now && (each.ticket === null || this.#alive(each.worker)))
  }

  #ticketOf(holder: string): number | undefined {
    for (const { ticket } of this.#byHolder.get(holder) ?? []) if (ticket !== null) return ticket
    return undefined
  }

  #lastTicket(): number {
    let last = 0
    for (const held of this.#byHolder.values()) for (const { ticket } of held) last = Math.max(last, ticket ?? 0)
    return last
  }

  #put(hold: Kept): void {
    const own = this.#byName.get(hold.name) ?? new Map<string, Kept>()
    const before = own.get(hold.holder)
    if (before) this.#byHolder.get(hold.holder)?.delete(before)
    this.#byName.set(hold.name, own.set(hold.holder, hold))
    this.#byHolder.set(hold.holder, (this.#byHolder.get(hold.holder) ?? new Set()).add(hold))
  }

  #remove(hold: Kept): void {
    const named = this.#byName.get(hold.name)
    if (named?.get(hold.holder) === hold && named.delete(hold.holder) && named.size === 0)
      this.#byName.delete(hold.name)
    const held = this.#byHolder.get(hold.holder)
    if (held?.delete(hold) && held.size === 0) this.#byHolder.delete(hold.holder)
  }
}
