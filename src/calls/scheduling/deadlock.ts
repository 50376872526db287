// Deadlock detection for nested calls. A waiting call holds nothing itself, but its ancestors hold their keys and tool
// slots and wait for it. A wait that can only end when those ancestors end would never end, so it is rejected.

import { type Gate, type Acquirer, LendingGate } from './semaphore-gates.ts'

export class DeadlockDetector {
  /** Waiting calls, by the uid of each of their ancestors. */
  readonly #waitersByAncestor = new Map<string, Map<Acquirer, LendingGate>>()

  addWaiter(acquirer: Acquirer, gate: Gate): void {
    if (!(gate instanceof LendingGate)) return
    for (const uid of acquirer.ancestors) {
      let waiting = this.#waitersByAncestor.get(uid)
      if (!waiting) this.#waitersByAncestor.set(uid, (waiting = new Map()))
      waiting.set(acquirer, gate)
    }
  }

  removeWaiter(acquirer: Acquirer): void {
    for (const uid of acquirer.ancestors) {
      const waiting = this.#waitersByAncestor.get(uid)
      if (waiting?.delete(acquirer) && waiting.size === 0) this.#waitersByAncestor.delete(uid)
    }
  }

  /** True if every slot of the gate has a holder that waits, directly or through a chain, for this call. */
  wouldDeadlock(acquirer: Acquirer, gate: Gate): boolean {
    if (acquirer.ancestors.length === 0 || !(gate instanceof LendingGate)) return false
    const stuck = new Set([acquirer.uid, ...acquirer.ancestors])
    const visiting = new Set<string>()
    const isStuck = ({ uid }: Acquirer): boolean => {
      if (stuck.has(uid)) return true
      if (visiting.has(uid)) return false
      visiting.add(uid)
      for (const [waiter, at] of this.#waitersByAncestor.get(uid) ?? []) {
        if (!isBlocked(waiter, at)) continue
        stuck.add(uid)
        break
      }
      visiting.delete(uid)
      return stuck.has(uid)
    }
    const isBlocked = (waiter: Acquirer, at: LendingGate): boolean => {
      const units = at.blockers(waiter)
      return units.length > 0 && units.every((holders) => holders.some(isStuck))
    }
    return isBlocked(acquirer, gate)
  }
}
