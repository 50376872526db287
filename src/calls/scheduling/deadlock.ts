// Circles of nested calls (SCHED-4). Whoever waits in the queue holds nothing itself, but the calls it runs under hold their keys and the
// places of their tools, and wait for it. A wait that could only end when those calls do would never end: it is refused.

import { type Gate, type Guest, LendingGate } from './gates.ts'

export class DeadlockDetector {
  /** By the calls they run under: those that wait. */
  readonly #below = new Map<string, Map<Guest, LendingGate>>()

  waits(guest: Guest, gate: Gate): void {
    if (!(gate instanceof LendingGate)) return
    for (const uid of guest.above) {
      let waiting = this.#below.get(uid)
      if (!waiting) this.#below.set(uid, (waiting = new Map()))
      waiting.set(guest, gate)
    }
  }

  goesOn(guest: Guest): void {
    for (const uid of guest.above) {
      const waiting = this.#below.get(uid)
      if (waiting?.delete(guest) && waiting.size === 0) this.#below.delete(uid)
    }
  }

  /** Whether waiting for it would close a circle: in each of its places is somebody who waits, through whatever chain, for this one. */
  closes(guest: Guest, gate: Gate): boolean {
    if (guest.above.length === 0 || !(gate instanceof LendingGate)) return false
    const stuck = new Set([guest.uid, ...guest.above])
    const looking = new Set<string>()
    const isStuck = ({ uid }: Guest): boolean => {
      if (stuck.has(uid)) return true
      if (looking.has(uid)) return false
      looking.add(uid)
      for (const [waiter, at] of this.#below.get(uid) ?? []) {
        if (!isClosed(waiter, at)) continue
        stuck.add(uid)
        break
      }
      looking.delete(uid)
      return stuck.has(uid)
    }
    const isClosed = (waiter: Guest, at: LendingGate): boolean => {
      const places = at.blockers(waiter)
      return places.length > 0 && places.every((inIt) => inIt.some(isStuck))
    }
    return isClosed(guest, gate)
  }
}
