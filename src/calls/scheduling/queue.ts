// The queue stage: when a call may run. First its turn in the batch (batch-order.ts), then keys, places and rates (gates.ts), all of them or none:
// who waits for one holds no other, so a call that waits never stands in the way of one that runs. A nested call uses its parent's place;
// what it still needs (keys, the limits of its own tool) its parents lend it.

import { milliseconds } from '../../core/duration.ts'
import { frame } from '../../core/ids.ts'
import type { MaybePromise } from '../../core/maybe-promise.ts'
import type { Clock } from '../../core/clock.ts'
import type { Rate } from '../../tools/tool-options.ts'
import { DeadlockDetector } from './deadlock.ts'
import { NestedCallGroups } from './nested-calls.ts'
import { CountGate, type Gate, LendingGate, RateGate, type Waiter } from './gates.ts'
import { fleetPlaces } from './fleet-limits.ts'
import { PoisonSuspects } from './serialize-poison-suspects.ts'
import { checkLimits, defaults, type Limits } from './limits.ts'
import type { Place } from './batch-order.ts'
import { type Entry, type Refused, Slot } from './slot.ts'
import { BatchPositions } from './batch-positions.ts'

const none: readonly Gate[] = []

/** Tasks may run for hours: one tenant never has all the places of a worker, so that another's first task need not wait that long (SCHED-3). */
const mostOfTasks = 7 / 8

export class Queue {
  readonly #clock: Clock
  readonly #limits: Required<Omit<Limits, 'rate'>> & Pick<Limits, 'rate'>
  readonly #gates = new Map<string, Gate>()
  /** By tenant and session: looked up by every call, so no name is made of them. */
  readonly #sessions = new Map<string, Map<string, CountGate>>()
  readonly #worker: CountGate
  readonly #tasks: CountGate
  readonly #tasksPerTenant: number
  readonly #circles = new DeadlockDetector()
  readonly families = new NestedCallGroups()
  readonly turns = new BatchPositions(this.families)
  readonly lastChances: PoisonSuspects
  /** Other workers live: then the limits of sessions and tenants are counted across all of them. */
  inCompany: () => boolean = () => false
  #waiting = 0

  constructor(clock: Clock, limits: Limits = {}) {
    checkLimits(limits)
    this.#clock = clock
    this.lastChances = new PoisonSuspects(clock)
    this.#limits = { ...defaults, ...limits }
    this.#worker = new CountGate(this.#limits.perWorker)
    this.#tasks = new CountGate(this.#limits.tasksPerWorker)
    this.#tasksPerTenant = Math.ceil(this.#limits.tasksPerWorker * mostOfTasks)
  }

  get tasksPerSession(): number {
    return this.#limits.tasksPerSession
  }

  /** How many lines, turns and gates there are: none when nobody waits or runs. */
  get kept(): number {
    return this.turns.kept + this.#gates.size + this.#sessions.size + this.lastChances.kept
  }

  /** It waits for what other workers have: that counts like any wait. False if too many wait already. */
  beginsToWait(entry: Entry): boolean {
    if (!entry.admitted && this.#waiting >= this.#limits.waiting) return false
    this.#waiting++
    return true
  }

  hasWaited(): void {
    this.#waiting--
  }

  /** Waits for its turn. */
  enter(entry: Entry): MaybePromise<Slot | Refused> {
    const place = this.turns.place(entry.position)
    // Who had its turn before does not wait for it again: after a crash it may have what those before it need, which had left the line.
    if (place && !entry.admitted && !place.line.mayRun(place, entry.key)) return this.#enterInTurn(entry, place)
    if (place && isOver(place, entry)) return 'batch_failed'
    return this.#slot(entry, place)
  }

  async #enterInTurn(entry: Entry, place: Place): Promise<Slot | Refused> {
    const slot = new Slot(this, entry, place)
    while (!place.line.mayRun(place, entry.key)) {
      const stopped = await this.#waitFor(slot, (waiter) => place.line.wait(place, waiter.wake))
      if (stopped) return stopped
    }
    if (isOver(place, entry)) return 'batch_failed'
    return this.#slot(entry, place)
  }

  #slot(entry: Entry, place: Place | undefined): MaybePromise<Slot | Refused> {
    const slot = new Slot(this, entry, place)
    const refused = this.take(slot)
    if (refused instanceof Promise) return refused.then((why) => why ?? slot)
    return refused ?? slot
  }

  /** Everything it needs, at once or in turn. Null when the slot has it all. */
  take(slot: Slot): MaybePromise<Refused | null> {
    slot.gates = this.#gatesOf(slot)
    slot.places = fleetPlaces(slot, this.#limits, this.inCompany())
    for (const gate of slot.gates) gate.used(1)
    const lacks = tryAll(slot, -1)
    if (lacks === -1) return null
    // Overload is for newcomers: who comes back, from the outside, for another try or after a crash, was admitted long ago.
    if (slot.back || slot.entry.admitted || this.#waiting < this.#limits.waiting) return this.#takeInTurn(slot, lacks)
    this.#forget(slot)
    return 'overloaded'
  }

  async #takeInTurn(slot: Slot, lacks: number): Promise<Refused | null> {
    const been = new Set<number>()
    for (let at = lacks; at !== -1; at = tryAll(slot, at)) {
      const gate = slot.gates[at] as Gate
      if (this.#circles.closes(slot, gate)) {
        this.#forget(slot)
        return 'would_deadlock'
      }
      this.#circles.waits(slot, gate)
      const stopped = await this.#waitFor(slot, (waiter) => gate.wait(waiter, been.has(at)))
      this.#circles.goesOn(slot)
      if (stopped) {
        this.#forget(slot)
        return stopped
      }
      been.add(at)
    }
    return null
  }

  release(slot: Slot): void {
    for (let at = slot.gates.length - 1; at >= 0; at--) slot.gates[at]?.leave(slot, true)
    this.#forget(slot)
  }

  #forget(slot: Slot): void {
    for (const gate of slot.gates) gate.used(-1)
    slot.gates = none
  }

  /** Waits to be woken or stopped. Woken and stopped at once counts as woken: what was handed over is given back by the caller. */
  #waitFor(slot: Slot, join: (waiter: Waiter) => void): Promise<Refused | null> {
    this.#waiting++
    return new Promise<Refused | null>((resolve) => {
      let forget = (): void => {}
      let over = false
      const finish = (how: Refused | null): void => {
        if (over) return
        over = true
        forget()
        this.#waiting--
        resolve(how)
      }
      const waiter: Waiter = { guest: slot, gone: false, wake: () => finish(null) }
      forget = slot.onStop(() => {
        if (over) return
        waiter.gone = true
        finish('stopped')
      })
      if (over) forget()
      else join(waiter)
    })
  }

  /** Nested calls are in the place of their outermost call. Rates are for starts. */
  #gatesOf({ entry, above, back }: Slot): Gate[] {
    const { position, tool, key, task } = entry
    const { tenant, session } = position
    const { perSession, perTenant, perTool, tasksPerSession, rate } = this.#limits
    const gates: Gate[] = []
    if (tool.concurrency.kind === 'exclusive') gates.push(this.#lending(frame('exclusive', tenant, session), 1))
    else if (key !== null) gates.push(this.#lending(frame('key', tenant, key), 1))
    const toolLimit = tool.limits.concurrent ?? perTool
    if (toolLimit !== Infinity) gates.push(this.#lending(frame('tool', tool.id), toolLimit))
    const isRoot = above.length === 0
    if (isRoot) {
      if (perSession !== Infinity) gates.push(this.#sessionGate(tenant, session))
      if (perTenant !== Infinity) gates.push(this.#count(frame('tenant', tenant), perTenant))
      // Counted across workers as well (fleet-limits.ts); here, so that those who wait for each other in this process do not ask the store.
      if (task && tasksPerSession !== Infinity)
        gates.push(this.#count(frame('tasks', tenant, session), tasksPerSession))
      if (task) gates.push(this.#count(frame('tasks of', tenant), this.#tasksPerTenant), this.#tasks)
      gates.push(this.#worker)
    }
    if (back) return gates
    const toolRate = tool.limits.rate ?? rate?.perTool
    if (toolRate) gates.push(this.#rate(frame('tool rate', tool.id), toolRate))
    if (isRoot && rate?.perTenant) gates.push(this.#rate(frame('tenant rate', tenant), rate.perTenant))
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

/** One before it has failed, and its batch stops at that. */
const isOver = (place: Place, entry: Entry): boolean => place.stops && place.line.failed && !entry.admitted

/** Takes all it needs or nothing; `has` was handed to it already. Gives the one it lacks, or -1. */
function tryAll(slot: Slot, has: number): number {
  const { gates } = slot
  for (let at = 0; at < gates.length; at++) {
    if (at === has || gates[at]?.tryEnter(slot)) continue
    for (let back = 0; back < gates.length; back++) if (back < at || back === has) gates[back]?.leave(slot, false)
    return at
  }
  return -1
}
