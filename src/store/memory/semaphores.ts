// Semaphores of the memory store (TakeSlots and SlotHold in store.ts).

import type { Clock } from '../../core/clock.ts'
import type { Change, SlotHold, TakeSlots } from '../store.ts'

interface HoldEntry extends SlotHold {
  /** When the slot frees itself. */
  readonly until: number
}

export class MemorySemaphores {
  readonly #byName = new Map<string, Map<string, HoldEntry>>()
  readonly #byHolder = new Map<string, Set<HoldEntry>>()
  readonly #clock: Clock
  readonly #alive: (worker: string) => boolean

  constructor(clock: Clock, alive: (worker: string) => boolean) {
    this.#clock = clock
    this.#alive = alive
  }

  /** Name of the first semaphore without a free slot for this request; null if all have one. */
  findFull({ holder, above = [], slots }: TakeSlots): string | null {
    for (const { name, capacity } of slots) {
      const active = this.#active(name)
      const isOwn = (each: HoldEntry): boolean => each.holder === holder || above.includes(each.holder)
      const skipsQueue = above.length > 0 || active.some((each) => isOwn(each) && each.ticket === null)
      const ownTicket = skipsQueue ? 0 : (this.#ticketOf(holder) ?? Infinity)
      const ahead = active.filter((each) => !isOwn(each) && (each.ticket ?? -1) < ownTicket)
      if (ahead.length >= capacity) return name
    }
    return null
  }

  take({ holder, worker, slots }: TakeSlots): void {
    for (const each of this.#byHolder.get(holder) ?? []) if (each.ticket !== null) this.#remove(each)
    for (const { name, lasts } of slots) {
      const until = lasts ? this.#clock.monotonic() + lasts.ms : Infinity
      this.#put({ name, holder: lasts?.entry ?? holder, worker, ticket: null, until })
    }
  }

  enqueue({ holder, worker, name }: NonNullable<Change['queueForSlot']>): void {
    if (this.#byName.get(name)?.get(holder)?.ticket === null) return
    const ticket = this.#ticketOf(holder) ?? this.#lastTicket() + 1
    for (const each of this.#byHolder.get(holder) ?? []) if (each.ticket !== null) this.#remove(each)
    this.#put({ name, holder, worker, ticket, until: Infinity })
  }

  release({ holder, names }: NonNullable<Change['releaseSlots']>): void {
    for (const each of this.#byHolder.get(holder) ?? []) if (names?.includes(each.name) ?? true) this.#remove(each)
  }

  all(): SlotHold[] {
    return [...this.#byName.keys()]
      .flatMap((name) => this.#active(name))
      .map(({ name, holder, worker, ticket }) => ({ name, holder, worker, ticket }))
  }

  /** Slots that have not expired, and tickets whose worker is alive. Expired slots are removed on the way. */
  #active(name: string): HoldEntry[] {
    const now = this.#clock.monotonic()
    const entries = [...(this.#byName.get(name)?.values() ?? [])]
    for (const each of entries) if (each.until <= now) this.#remove(each)
    return entries.filter((each) => each.until > now && (each.ticket === null || this.#alive(each.worker)))
  }

  #ticketOf(holder: string): number | undefined {
    for (const { ticket } of this.#byHolder.get(holder) ?? []) if (ticket !== null) return ticket
    return undefined
  }

  #lastTicket(): number {
    let last = 0
    for (const holds of this.#byHolder.values()) for (const { ticket } of holds) last = Math.max(last, ticket ?? 0)
    return last
  }

  #put(hold: HoldEntry): void {
    const own = this.#byName.get(hold.name) ?? new Map<string, HoldEntry>()
    const before = own.get(hold.holder)
    if (before) this.#byHolder.get(hold.holder)?.delete(before)
    this.#byName.set(hold.name, own.set(hold.holder, hold))
    this.#byHolder.set(hold.holder, (this.#byHolder.get(hold.holder) ?? new Set()).add(hold))
  }

  #remove(hold: HoldEntry): void {
    const named = this.#byName.get(hold.name)
    if (named?.get(hold.holder) === hold && named.delete(hold.holder) && named.size === 0)
      this.#byName.delete(hold.name)
    const holds = this.#byHolder.get(hold.holder)
    if (holds?.delete(hold) && holds.size === 0) this.#byHolder.delete(hold.holder)
  }
}
