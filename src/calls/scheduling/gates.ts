// What a call passes on its way to running: places, keys and rates. Each lets callers in first come, first served; passing a free one
// costs no await. Tenants are served in turn, so that none starves another (SCHED-3). Who waits for one of them holds none of the others.

import type { Clock } from '../../core/clock.ts'

/** Who wants to pass. */
export interface Guest {
  readonly uid: string
  readonly tenant: string
  /** The calls it runs under, the outermost first. */
  readonly above: readonly string[]
}

/** Somebody who waits; called off, it is skipped. */
export interface Waiter {
  readonly guest: Guest
  readonly wake: () => void
  gone: boolean
}

/** Waiters in turn: by tenant round robin, within a tenant first come, first served. */
class FairLine {
  readonly #byTenant = new Map<string, Waiter[]>()
  /** The tenants in turn. */
  readonly #round: Waiter[][] = []
  size = 0
  /** How many of them run under other calls. */
  nested = 0

  /** `first`: it had its turn here already and could not use it. */
  add(waiter: Waiter, first: boolean): void {
    this.size++
    if (waiter.guest.above.length > 0) this.nested++
    const own = this.#byTenant.get(waiter.guest.tenant)
    if (own) return void (first ? own.unshift(waiter) : own.push(waiter))
    const fresh = [waiter]
    this.#byTenant.set(waiter.guest.tenant, fresh)
    this.#round.push(fresh)
  }

  /** The next in turn; its tenant goes to the end of the round. */
  next(): Waiter | undefined {
    for (let own = this.#round.shift(); own; own = this.#round.shift()) {
      const tenant = own[0]?.guest.tenant ?? ''
      let waiter: Waiter | undefined
      while ((waiter = own.shift()) && (this.#counted(waiter), waiter.gone));
      if (own.length > 0) this.#round.push(own)
      else this.#byTenant.delete(tenant)
      if (waiter) return waiter
    }
    return undefined
  }

  /** The first that may go out of turn. */
  pick(may: (guest: Guest) => boolean): Waiter | undefined {
    for (const own of this.#round) {
      const at = own.findIndex((waiter) => !waiter.gone && may(waiter.guest))
      const [found] = at === -1 ? [] : own.splice(at, 1)
      if (!found) continue
      this.#counted(found)
      if (own.length === 0) {
        this.#byTenant.delete(found.guest.tenant)
        this.#round.splice(this.#round.indexOf(own), 1)
      }
      return found
    }
    return undefined
  }

  #counted(waiter: Waiter): void {
    this.size--
    if (waiter.guest.above.length > 0) this.nested--
  }
}

export interface Gate {
  /** Somebody is on the way to it, waits, or is inside. Without any it may be forgotten. */
  used(by: 1 | -1): void
  /** In at once, or not. */
  tryEnter(guest: Guest): boolean
  /** The place is handed over, so that nobody slips in between. */
  wait(waiter: Waiter, first: boolean): void
  /** `began`: it did what it came for. */
  leave(guest: Guest, began: boolean): void
}

/** At most so many inside. */
export class CountGate implements Gate {
  readonly #capacity: number
  readonly #unused: () => void
  readonly #line = new FairLine()
  #inside = 0
  #users = 0

  /** `unused` is told when nobody needs it any more: sessions of the past cost nothing. */
  constructor(capacity: number, unused: () => void = () => {}) {
    this.#capacity = capacity
    this.#unused = unused
  }

  used(by: 1 | -1): void {
    this.#users += by
    if (this.#users === 0) this.#unused()
  }

  tryEnter(): boolean {
    if (this.#inside >= this.#capacity) return false
    this.#inside++
    return true
  }

  wait(waiter: Waiter, first: boolean): void {
    this.#line.add(waiter, first)
    this.#admit()
  }

  leave(): void {
    this.#inside--
    this.#admit()
  }

  #admit(): void {
    while (this.#inside < this.#capacity) {
      const waiter = this.#line.next()
      if (!waiter) return
      this.#inside++
      waiter.wake()
    }
  }
}

/** At most `count` entries in any window of `perMs`; leaving gives nothing back to whoever began. */
export class RateGate implements Gate {
  readonly #count: number
  readonly #perMs: number
  readonly #clock: Clock
  readonly #unused: () => void
  readonly #line = new FairLine()
  readonly #entered: number[] = []
  #users = 0
  #waking = false

  constructor(clock: Clock, count: number, perMs: number, unused: () => void = () => {}) {
    this.#clock = clock
    this.#count = count
    this.#perMs = perMs
    this.#unused = unused
  }

  /** What happened in its window must not be forgotten. */
  used(by: 1 | -1): void {
    this.#users += by
    if (this.#users === 0) this.#later(this.#perMs)
  }

  tryEnter(): boolean {
    if (this.#line.size > 0 || !this.#room()) return false
    this.#entered.push(this.#clock.monotonic())
    return true
  }

  wait(waiter: Waiter, first: boolean): void {
    this.#line.add(waiter, first)
    this.#admit()
  }

  leave(_: Guest, began: boolean): void {
    if (began) return
    this.#entered.pop()
    this.#admit()
  }

  #room(): boolean {
    const since = this.#clock.monotonic() - this.#perMs
    while (this.#entered.length > 0 && (this.#entered[0] as number) <= since) this.#entered.shift()
    return this.#entered.length < this.#count
  }

  #admit(): void {
    while (this.#room()) {
      const waiter = this.#line.next()
      if (!waiter) break
      this.#entered.push(this.#clock.monotonic())
      waiter.wake()
    }
    if (this.#line.size > 0) this.#later((this.#entered[0] as number) + this.#perMs - this.#clock.monotonic())
    else if (this.#users > 0) return
    else if (this.#entered.length === 0) this.#unused()
    else this.#later((this.#entered.at(-1) as number) + this.#perMs - this.#clock.monotonic())
  }

  #later(ms: number): void {
    if (this.#waking) return
    this.#waking = true
    this.#clock.timer(Math.max(1, ms), () => {
      this.#waking = false
      this.#admit()
    })
  }
}

interface Hold {
  readonly guest: Guest
  /** Whose place it is in, if that was lent. */
  from: Hold | null
  lent: boolean
}

/**
 * Keys, `exclusive`, and the places of a tool: what a nested call needs as well. Who has one and waits for a call below it lends it
 * to that call, to one at a time (SCHED-4).
 */
export class LendingGate implements Gate {
  readonly #unused: () => void
  readonly #line = new FairLine()
  readonly #holds: Hold[] = []
  #free: number
  #users = 0

  constructor(capacity: number, unused: () => void = () => {}) {
    this.#free = capacity
    this.#unused = unused
  }

  used(by: 1 | -1): void {
    this.#users += by
    if (this.#users === 0) this.#unused()
  }

  tryEnter(guest: Guest): boolean {
    if (this.#free > 0) return this.#give(guest, null)
    const lender = this.#lender(guest)
    return lender !== undefined && this.#give(guest, lender)
  }

  wait(waiter: Waiter, first: boolean): void {
    this.#line.add(waiter, first)
    this.#admit()
  }

  leave(guest: Guest): void {
    const at = this.#holds.findIndex((each) => each.guest === guest)
    const [hold] = at === -1 ? [] : this.#holds.splice(at, 1)
    if (!hold) return
    const heir = hold.lent && this.#holds.find((each) => each.from === hold)
    if (heir) heir.from = hold.from
    else if (hold.from) hold.from.lent = false
    else this.#free++
    this.#admit()
  }

  /** Who must leave before the guest may come in, place by place. */
  blockers(guest: Guest): readonly (readonly Guest[])[] {
    const places = new Map<Hold, Guest[]>()
    for (const hold of this.#holds) {
      let whole = hold
      while (whole.from) whole = whole.from
      const inIt = places.get(whole) ?? []
      places.set(whole, inIt)
      if (!guest.above.includes(hold.guest.uid)) inIt.push(hold.guest)
    }
    return [...places.values()]
  }

  #lender(guest: Guest): Hold | undefined {
    return guest.above.length === 0
      ? undefined
      : this.#holds.find((hold) => !hold.lent && guest.above.includes(hold.guest.uid))
  }

  #give(guest: Guest, from: Hold | null): true {
    if (from) from.lent = true
    else this.#free--
    this.#holds.push({ guest, from, lent: false })
    return true
  }

  #admit(): void {
    while (this.#free > 0) {
      const waiter = this.#line.next()
      if (!waiter) break
      this.#give(waiter.guest, null)
      waiter.wake()
    }
    while (this.#line.nested > 0) {
      const waiter = this.#line.pick((guest) => this.#lender(guest) !== undefined)
      if (!waiter) return
      this.#give(waiter.guest, this.#lender(waiter.guest) ?? null)
      waiter.wake()
    }
  }
}
