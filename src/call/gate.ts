// What a call passes on its way to running: counted gates, rates and locks. Each lets callers in first come, first served; passing a
// free one costs no await. A gate with tenants serves them in turn, so that none starves another (SCHED-3).

import type { Clock } from '../kernel/time.ts'

/** Somebody who waits; called off, it is skipped. */
export interface Waiter {
  readonly tenant: string
  readonly wake: () => void
  gone: boolean
}

/** Waiters in turn: by tenant round robin, within a tenant first come, first served. */
class FairLine {
  readonly #byTenant = new Map<string, Waiter[]>()
  /** The tenants in turn. */
  readonly #round: Waiter[][] = []
  size = 0

  add(waiter: Waiter): void {
    this.size++
    const own = this.#byTenant.get(waiter.tenant)
    if (own) return void own.push(waiter)
    const first = [waiter]
    this.#byTenant.set(waiter.tenant, first)
    this.#round.push(first)
  }

  /** The next in turn; its tenant goes to the end of the round. */
  next(): Waiter | undefined {
    for (let own = this.#round.shift(); own; own = this.#round.shift()) {
      const tenant = own[0]?.tenant ?? ''
      let waiter: Waiter | undefined
      while ((waiter = own.shift()) && (this.size--, waiter.gone));
      if (own.length > 0) this.#round.push(own)
      else this.#byTenant.delete(tenant)
      if (waiter) return waiter
    }
    return undefined
  }
}

export interface Gate {
  /** Somebody is on the way to it, waits, or is inside. Without any it may be forgotten. */
  used(by: 1 | -1): void
  /** In at once, or not. */
  tryEnter(): boolean
  wait(waiter: Waiter): void
  leave(): void
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
    if (this.#inside >= this.#capacity || this.#line.size > 0) return false
    this.#inside++
    return true
  }

  /** The place is handed over, so that nobody slips in between. */
  wait(waiter: Waiter): void {
    this.#line.add(waiter)
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

/** At most `count` entries in any window of `perMs`; leaving gives nothing back. */
export class RateGate implements Gate {
  readonly #count: number
  readonly #perMs: number
  readonly #clock: Clock
  readonly #line = new FairLine()
  readonly #entered: number[] = []
  #callOff: (() => void) | null = null

  constructor(clock: Clock, count: number, perMs: number) {
    this.#clock = clock
    this.#count = count
    this.#perMs = perMs
  }

  tryEnter(): boolean {
    return this.#line.size === 0 && this.#take()
  }

  wait(waiter: Waiter): void {
    this.#line.add(waiter)
    this.#admit()
  }

  leave(): void {}

  /** What happened in its window must not be forgotten. */
  used(): void {}

  #take(): boolean {
    const now = this.#clock.monotonic()
    while (this.#entered.length > 0 && (this.#entered[0] as number) <= now - this.#perMs) this.#entered.shift()
    if (this.#entered.length >= this.#count) return false
    this.#entered.push(now)
    return true
  }

  #admit(): void {
    while (this.#line.size > 0 && this.#take()) this.#line.next()?.wake()
    if (this.#line.size === 0 || this.#callOff) return
    const free = (this.#entered[0] as number) + this.#perMs - this.#clock.monotonic()
    this.#callOff = this.#clock.timer(Math.max(1, free), () => {
      this.#callOff = null
      this.#admit()
    })
  }
}

/** Locks by name. A root call and all it calls are one holder: they re-enter what they hold (SCHED-4). */
export class Locks {
  readonly #held = new Map<string, { holder: string; depth: number; line: { root: string; waiter: Waiter }[] }>()
  readonly #waitsFor = new Map<string, Set<string>>()

  tryTake(name: string, root: string): boolean {
    const lock = this.#held.get(name)
    if (!lock) this.#held.set(name, { holder: root, depth: 1, line: [] })
    else if (lock.holder === root) lock.depth++
    else return false
    return true
  }

  /** Whether waiting for it could never end: its holder waits, through whatever chain, for something this root holds. */
  wouldDeadlock(name: string, root: string): boolean {
    const seen = new Set<string>()
    const look = (lock: string): boolean => {
      const holder = this.#held.get(lock)?.holder
      if (holder === undefined || seen.has(holder)) return false
      if (holder === root) return true
      seen.add(holder)
      return [...(this.#waitsFor.get(holder) ?? [])].some(look)
    }
    return look(name)
  }

  wait(name: string, root: string, waiter: Waiter): void {
    this.#held.get(name)?.line.push({ root, waiter })
    const own = this.#waitsFor.get(root) ?? new Set()
    this.#waitsFor.set(root, own.add(name))
  }

  /** A waiter that was called off no longer makes its root wait. */
  forget(name: string, root: string): void {
    const own = this.#waitsFor.get(root)
    own?.delete(name)
    if (own?.size === 0) this.#waitsFor.delete(root)
  }

  release(name: string): void {
    const lock = this.#held.get(name)
    if (!lock || --lock.depth > 0) return
    for (let next = lock.line.shift(); next; next = lock.line.shift()) {
      if (next.waiter.gone) continue
      this.forget(name, next.root)
      lock.holder = next.root
      lock.depth = 1
      next.waiter.wake()
      return
    }
    this.#held.delete(name)
  }
}
