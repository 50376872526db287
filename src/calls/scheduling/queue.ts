// Decides when a call may run: first its position in the batch (batch-order.ts), then keys, semaphores and rates
// (semaphore-gates.ts), all of them or none. A call that waits for one gate holds no others, so it never blocks a
// running call. A nested call runs in the slot of its outermost parent; keys and tool slots are lent by its parents.

import { milliseconds } from '../../core/duration.ts'
import { lengthPrefixed } from '../../core/ids.ts'
import { chain, type MaybePromise } from '../../core/maybe-promise.ts'
import type { Clock } from '../../core/clock.ts'
import type { Engine } from '../../engine/engine.ts'
import type { Rate } from '../../tools/tool-options.ts'
import { NestedCallGroups } from './nested-calls.ts'
import { CountGate, type Gate, LendingGate, RateGate, type Waiter, type Acquirer } from './semaphore-gates.ts'
import { defaultLimits, type Limits } from './limits.ts'
import { type BatchEntry, BatchPositions } from './batch-order.ts'
import { type QueueEntry, type QueueRefusal, fleetSlotRequests, Slot } from './slot.ts'

const none: readonly Gate[] = []

/** Share of a worker's task slots that one tenant may use. Tasks may run for hours; others must not wait that long. */
const maxTaskShare = 7 / 8

export class Queue {
  readonly #clock: Clock
  readonly #limits: Required<Omit<Limits, 'rate'>> & Pick<Limits, 'rate'>
  readonly #gates = new Map<string, Gate>()
  /** By tenant, then by session: every call looks its session up, and building a combined key would be slower. */
  readonly #sessions = new Map<string, Map<string, CountGate>>()
  readonly #worker: CountGate
  readonly #tasks: CountGate
  readonly #tasksPerTenant: number
  readonly #deadlocks = new DeadlockDetector()
  readonly nestedCalls = new NestedCallGroups()
  readonly batches = new BatchPositions(this.nestedCalls)
  /** With other workers, session and tenant limits are counted in the store too. */
  readonly #engine: Pick<Engine, 'isAlone'>
  #waiting = 0

  constructor(clock: Clock, limits: Limits = {}, engine: Pick<Engine, 'isAlone'> = { isAlone: () => true }) {
    this.#engine = engine
    this.#clock = clock
    this.#limits = { ...defaultLimits, ...limits }
    this.#worker = new CountGate(this.#limits.perWorker)
    this.#tasks = new CountGate(this.#limits.tasksPerWorker)
    this.#tasksPerTenant = Math.ceil(this.#limits.tasksPerWorker * maxTaskShare)
  }

  get tasksPerSession(): number {
    return this.#limits.tasksPerSession
  }

  /** True if a call waits for its batch, a key or a limit. */
  get hasWaiting(): boolean {
    return this.#waiting > 0
  }

  /** Number of orders, entries and gates. Zero when no call waits or runs. */
  get size(): number {
    return this.batches.size + this.#gates.size + this.#sessions.size
  }

  /** Counts a call that waits for slots of other workers. False if too many calls are waiting already. */
  startWaiting(entry: QueueEntry): boolean {
    if (!entry.admitted && this.#waiting >= this.#limits.waiting) return false
    this.#waiting++
    return true
  }

  stopWaiting(): void {
    this.#waiting--
  }

  /** Waits until the call may run. Synchronous if it may run immediately. */
  enter(entry: QueueEntry): MaybePromise<Slot | QueueRefusal> {
    const batchEntry = this.batches.entryAt(entry.position)
    // An admitted call does not wait for its batch again: after a crash it may hold what earlier calls of the batch
    // need.
    if (batchEntry && !entry.admitted && !batchEntry.order.mayRun(batchEntry, entry.key))
      return this.#enterInTurn(entry, batchEntry)
    if (batchEntry && isBatchStopped(batchEntry, entry)) return 'batch_failed'
    return this.#slot(entry, batchEntry)
  }

  async #enterInTurn(entry: QueueEntry, batchEntry: BatchEntry): Promise<Slot | QueueRefusal> {
    const slot = new Slot(this, entry, batchEntry)
    while (!batchEntry.order.mayRun(batchEntry, entry.key)) {
      const stopped = await this.#waitFor(slot, (waiter) => batchEntry.order.wait(batchEntry, waiter.wake))
      if (stopped) return stopped
    }
    if (isBatchStopped(batchEntry, entry)) return 'batch_failed'
    return this.#slot(entry, batchEntry)
  }

  #slot(entry: QueueEntry, batchEntry: BatchEntry | undefined): MaybePromise<Slot | QueueRefusal> {
    const slot = new Slot(this, entry, batchEntry)
    return chain(this.take(slot), refusalOr, slot)
  }

  /** Enters all gates of the slot. Returns null on success. */
  take(slot: Slot): MaybePromise<QueueRefusal | null> {
    slot.gates = this.#gatesOf(slot)
    slot.slotRequests = fleetSlotRequests(slot, this.#limits, !this.#engine.isAlone())
    for (const gate of slot.gates) gate.addUsers(1)
    const missing = tryEnterAll(slot, -1)
    if (missing === -1) return null
    // Only new calls are rejected as overloaded. A call that resumes, retries or was recovered has been admitted
    // before.
    if (slot.reentering || slot.entry.admitted || this.#waiting < this.#limits.waiting)
      return this.#takeInTurn(slot, missing)
    this.#detachGates(slot)
    return 'overloaded'
  }

  async #takeInTurn(slot: Slot, missing: number): Promise<QueueRefusal | null> {
    const granted = new Set<number>()
    for (let at = missing; at !== -1; at = tryEnterAll(slot, at)) {
      const gate = slot.gates[at] as Gate
      if (this.#deadlocks.wouldDeadlock(slot, gate)) {
        this.#detachGates(slot)
        return 'would_deadlock'
      }
      this.#deadlocks.addWaiter(slot, gate)
      const stopped = await this.#waitFor(slot, (waiter) => gate.wait(waiter, granted.has(at)))
      this.#deadlocks.removeWaiter(slot)
      if (stopped) {
        this.#detachGates(slot)
        return stopped
      }
      granted.add(at)
    }
    return null
  }

  release(slot: Slot): void {
    for (let at = slot.gates.length - 1; at >= 0; at--) slot.gates[at]?.leave(slot, true)
    this.#detachGates(slot)
  }

  #detachGates(slot: Slot): void {
    for (const gate of slot.gates) gate.addUsers(-1)
    slot.gates = none
  }

  /** Waits to be woken or stopped. If both happen, it counts as woken; the caller gives back what was handed over. */
  #waitFor(slot: Slot, join: (waiter: Waiter) => void): Promise<QueueRefusal | null> {
    this.#waiting++
    return new Promise<QueueRefusal | null>((resolve) => {
      let unsubscribe = (): void => {}
      let finished = false
      const finish = (result: QueueRefusal | null): void => {
        if (finished) return
        finished = true
        unsubscribe()
        this.#waiting--
        resolve(result)
      }
      const waiter: Waiter = { acquirer: slot, cancelled: false, wake: () => finish(null) }
      unsubscribe = slot.onStop(() => {
        if (finished) return
        waiter.cancelled = true
        finish('stopped')
      })
      if (finished) unsubscribe()
      else join(waiter)
    })
  }

  /** Nested calls run in the slot of their outermost call. Rates count starts only. */
  #gatesOf({ entry, ancestors: above, reentering: back }: Slot): Gate[] {
    const { position, tool, key, task } = entry
    const { tenant, session } = position
    const { perSession, perTenant, perTool, tasksPerSession, rate } = this.#limits
    const gates: Gate[] = []
    if (tool.concurrency.kind === 'exclusive')
      gates.push(this.#lending(lengthPrefixed('exclusive', tenant, session), 1))
    else if (key !== null) gates.push(this.#lending(lengthPrefixed('key', tenant, key), 1))
    const toolLimit = tool.limits.concurrent ?? perTool
    if (toolLimit !== Infinity) gates.push(this.#lending(lengthPrefixed('tool', tool.id), toolLimit))
    const isRoot = above.length === 0
    if (isRoot) {
      if (perSession !== Infinity) gates.push(this.#sessionGate(tenant, session))
      if (perTenant !== Infinity) gates.push(this.#count(lengthPrefixed('tenant', tenant), perTenant))
      // Also counted across workers (fleetSlotRequests). The local gate avoids store requests within this process.
      if (task && tasksPerSession !== Infinity)
        gates.push(this.#count(lengthPrefixed('tasks', tenant, session), tasksPerSession))
      if (task) gates.push(this.#count(lengthPrefixed('tasks of', tenant), this.#tasksPerTenant), this.#tasks)
      gates.push(this.#worker)
    }
    if (back) return gates
    const toolRate = tool.limits.rate ?? rate?.perTool
    if (toolRate) gates.push(this.#rate(lengthPrefixed('tool rate', tool.id), toolRate))
    if (isRoot && rate?.perTenant) gates.push(this.#rate(lengthPrefixed('tenant rate', tenant), rate.perTenant))
    return gates
  }

  #count(name: string, capacity: number): Gate {
    return this.#gate(name, () => new CountGate(capacity, () => this.#gates.delete(name)))
  }

  #lending(name: string, capacity: number): Gate {
    return this.#gate(name, () => new LendingGate(capacity, () => this.#gates.delete(name)))
  }

  #rate(name: string, { count, per }: Rate): Gate {
    return this.#gate(
      name,
      () => new RateGate(this.#clock, count, milliseconds(per, 'rate'), () => this.#gates.delete(name)),
    )
  }

  #gate(name: string, make: () => Gate): Gate {
    let gate = this.#gates.get(name)
    if (!gate) this.#gates.set(name, (gate = make()))
    return gate
  }

  #sessionGate(tenant: string, session: string): Gate {
    let sessions = this.#sessions.get(tenant)
    if (!sessions) this.#sessions.set(tenant, (sessions = new Map()))
    let gate = sessions.get(session)
    if (!gate) {
      const own = sessions
      gate = new CountGate(this.#limits.perSession, () => {
        own.delete(session)
        if (own.size === 0) this.#sessions.delete(tenant)
      })
      sessions.set(session, gate)
    }
    return gate
  }
}

const refusalOr = (refused: QueueRefusal | null, slot: Slot): Slot | QueueRefusal => refused ?? slot

/** True if an earlier call failed and the batch stops at failures. */
const isBatchStopped = (batchEntry: BatchEntry, entry: QueueEntry): boolean =>
  batchEntry.stopsBatch && batchEntry.order.failed && !entry.admitted

/** Enters all gates or none; the gate `granted` is already held. Returns the index of the gate that is full, or -1. */
function tryEnterAll(slot: Slot, granted: number): number {
  const { gates } = slot
  for (let at = 0; at < gates.length; at++) {
    if (at === granted || gates[at]?.tryEnter(slot)) continue
    for (let back = 0; back < gates.length; back++) if (back < at || back === granted) gates[back]?.leave(slot, false)
    return at
  }
  return -1
}

/**
 * Deadlock detection for nested calls. A waiting call holds nothing itself, but its ancestors hold their keys and tool
 * slots and wait for it. A wait that can only end when those ancestors end would never end, so it is rejected.
 */
class DeadlockDetector {
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
