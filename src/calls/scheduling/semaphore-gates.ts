// The gates of the queue: semaphores, keys and rate limits of this process. Each is first come, first served within a
// tenant and round robin between tenants, so no tenant starves another. Entering a free gate needs no await. A call
// that waits for one gate holds none of the others.

import type { Clock } from '../../core/clock.ts'

/** A call that enters gates. */
export interface Acquirer {
  readonly uid: string
  readonly tenant: string
  /** The calls that this call is nested in, outermost first. */
  readonly ancestors: readonly string[]
}

/** A waiting call. A cancelled one is skipped. */
export interface Waiter {
  readonly acquirer: Acquirer
  readonly wake: () => void
  cancelled: boolean
}

/** Waiters: round robin by tenant, first come, first served within a tenant. */
class FairQueue {
  readonly #byTenant = new Map<string, Waiter[]>()
  /** The queues of the tenants in round-robin order. */
  readonly #round: Waiter[][] = []
  size = 0
  /** Number of waiters that are nested calls. */
  nested = 0

  /** `first`: the waiter was admitted before but could not use the slot, so it goes to the front. */
  add(waiter: Waiter, first: boolean): void {
    this.size++
    if (waiter.acquirer.ancestors.length > 0) this.nested++
    const queue = this.#byTenant.get(waiter.acquirer.tenant)
    if (queue) return void (first ? queue.unshift(waiter) : queue.push(waiter))
    const fresh = [waiter]
    this.#byTenant.set(waiter.acquirer.tenant, fresh)
    this.#round.push(fresh)
  }

  /** The next waiter. Its tenant moves to the end of the round. */
  next(): Waiter | undefined {
    for (let own = this.#round.shift(); own; own = this.#round.shift()) {
      const tenant = own[0]?.acquirer.tenant ?? ''
      let waiter: Waiter | undefined
      while ((waiter = own.shift()) && (this.#counted(waiter), waiter.cancelled));
      if (own.length > 0) this.#round.push(own)
      else this.#byTenant.delete(tenant)
      if (waiter) return waiter
    }
    return undefined
  }

  /** Removes the first waiter that satisfies the condition, out of order. */
  pick(may: (acquirer: Acquirer) => boolean): Waiter | undefined {
    for (const own of this.#round) {
      const at = own.findIndex((waiter) => !waiter.cancelled && may(waiter.acquirer))
      const [found] = at === -1 ? [] : own.splice(at, 1)
      if (!found) continue
      this.#counted(found)
      if (own.length === 0) {
        this.#byTenant.delete(found.acquirer.tenant)
        this.#round.splice(this.#round.indexOf(own), 1)
      }
      return found
    }
    return undefined
  }

  #counted(waiter: Waiter): void {
    this.size--
    if (waiter.acquirer.ancestors.length > 0) this.nested--
  }
}

export interface Gate {
  /** Counts the calls that need the gate, wait at it or are inside. At zero the gate may be removed. */
  addUsers(by: 1 | -1): void
  /** Enters without waiting, or returns false. */
  tryEnter(acquirer: Acquirer): boolean
  /** Waits to be admitted. A free slot is handed over directly, so no other call can take it in between. */
  wait(waiter: Waiter, first: boolean): void
  /** `began`: the call started to run, so a rate limit counts it. */
  leave(acquirer: Acquirer, began: boolean): void
}

/** A counting semaphore. */
export class CountGate implements Gate {
  readonly #capacity: number
  readonly #onUnused: () => void
  readonly #queue = new FairQueue()
  #inside = 0
  #users = 0

  /** `onUnused` is called when the last user is gone, so that ended sessions keep no gate. */
  constructor(capacity: number, onUnused: () => void = () => {}) {
    this.#capacity = capacity
    this.#onUnused = onUnused
  }

  addUsers(by: 1 | -1): void {
    this.#users += by
    if (this.#users === 0) this.#onUnused()
  }

  tryEnter(): boolean {
    if (this.#inside >= this.#capacity) return false
    this.#inside++
    return true
  }

  wait(waiter: Waiter, first: boolean): void {
    this.#queue.add(waiter, first)
    this.#admit()
  }

  leave(): void {
    this.#inside--
    this.#admit()
  }

  #admit(): void {
    while (this.#inside < this.#capacity) {
      const waiter = this.#queue.next()
      if (!waiter) return
      this.#inside++
      waiter.wake()
    }
  }
}

/**
 * A sliding-window rate limit: at most `count` entries in any window of `perMs`. A call that has started still counts
 * after it leaves.
 */
export class RateGate implements Gate {
  readonly #count: number
  readonly #perMs: number
  readonly #clock: Clock
  readonly #onUnused: () => void
  readonly #queue = new FairQueue()
  readonly #entered: number[] = []
  #users = 0
  #waking = false

  constructor(clock: Clock, count: number, perMs: number, onUnused: () => void = () => {}) {
    this.#clock = clock
    this.#count = count
    this.#perMs = perMs
    this.#onUnused = onUnused
  }

  /** Without users the gate is kept until its window has passed, because the entries in it still count. */
  addUsers(by: 1 | -1): void {
    this.#users += by
    if (this.#users === 0) this.#admitAfter(this.#perMs)
  }

  tryEnter(): boolean {
    if (this.#queue.size > 0 || !this.#hasRoom()) return false
    this.#entered.push(this.#clock.monotonic())
    return true
  }

  wait(waiter: Waiter, first: boolean): void {
    this.#queue.add(waiter, first)
    this.#admit()
  }

  leave(_: Acquirer, began: boolean): void {
    if (began) return
    this.#entered.pop()
    this.#admit()
  }

  #hasRoom(): boolean {
    const since = this.#clock.monotonic() - this.#perMs
    while (this.#entered.length > 0 && (this.#entered[0] as number) <= since) this.#entered.shift()
    return this.#entered.length < this.#count
  }

  #admit(): void {
    while (this.#hasRoom()) {
      const waiter = this.#queue.next()
      if (!waiter) break
      this.#entered.push(this.#clock.monotonic())
      waiter.wake()
    }
    if (this.#queue.size > 0) this.#admitAfter((this.#entered[0] as number) + this.#perMs - this.#clock.monotonic())
    else if (this.#users > 0) return
    else if (this.#entered.length === 0) this.#onUnused()
    else this.#admitAfter((this.#entered.at(-1) as number) + this.#perMs - this.#clock.monotonic())
  }

  #admitAfter(ms: number): void {
    if (this.#waking) return
    this.#waking = true
    this.#clock.timer(Math.max(1, ms), () => {
      this.#waking = false
      this.#admit()
    })
  }
}

interface Hold {
  readonly acquirer: Acquirer
  /** The hold that lent its slot; null if the slot is its own. */
  from: Hold | null
  lent: boolean
}

/**
 * A semaphore for keys, `exclusive` and tool limits, which nested calls need as well. A holder that waits for a nested
 * call lends its slot to that call, to one at a time.
 */
export class LendingGate implements Gate {
  readonly #onUnused: () => void
  readonly #queue = new FairQueue()
  readonly #holds: Hold[] = []
  #free: number
  #users = 0

  constructor(capacity: number, onUnused: () => void = () => {}) {
    this.#free = capacity
    this.#onUnused = onUnused
  }

  addUsers(by: 1 | -1): void {
    this.#users += by
    if (this.#users === 0) this.#onUnused()
  }

  tryEnter(acquirer: Acquirer): boolean {
    if (this.#free > 0) return this.#give(acquirer, null)
    const lender = this.#lender(acquirer)
    return lender !== undefined && this.#give(acquirer, lender)
  }

  wait(waiter: Waiter, first: boolean): void {
    this.#queue.add(waiter, first)
    this.#admit()
  }

  leave(acquirer: Acquirer): void {
    const at = this.#holds.findIndex((each) => each.acquirer === acquirer)
    const [hold] = at === -1 ? [] : this.#holds.splice(at, 1)
    if (!hold) return
    const heir = hold.lent && this.#holds.find((each) => each.from === hold)
    if (heir) heir.from = hold.from
    else if (hold.from) hold.from.lent = false
    else this.#free++
    this.#admit()
  }

  /** For each slot, the holders that must leave before the acquirer can enter. */
  blockers(acquirer: Acquirer): readonly (readonly Acquirer[])[] {
    const holdersBySlot = new Map<Hold, Acquirer[]>()
    for (const hold of this.#holds) {
      let slot = hold
      while (slot.from) slot = slot.from
      const holders = holdersBySlot.get(slot) ?? []
      holdersBySlot.set(slot, holders)
      if (!acquirer.ancestors.includes(hold.acquirer.uid)) holders.push(hold.acquirer)
    }
    return [...holdersBySlot.values()]
  }

  #lender(acquirer: Acquirer): Hold | undefined {
    return acquirer.ancestors.length === 0
      ? undefined
      : this.#holds.find((hold) => !hold.lent && acquirer.ancestors.includes(hold.acquirer.uid))
  }

  #give(acquirer: Acquirer, from: Hold | null): true {
    if (from) from.lent = true
    else this.#free--
    this.#holds.push({ acquirer, from, lent: false })
    return true
  }

  #admit(): void {
    while (this.#free > 0) {
      const waiter = this.#queue.next()
      if (!waiter) break
      this.#give(waiter.acquirer, null)
      waiter.wake()
    }
    while (this.#queue.nested > 0) {
      const waiter = this.#queue.pick((acquirer) => this.#lender(acquirer) !== undefined)
      if (!waiter) return
      this.#give(waiter.acquirer, this.#lender(waiter.acquirer) ?? null)
      waiter.wake()
    }
  }
}
