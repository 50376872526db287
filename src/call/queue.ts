// The queue stage: when a call may run. First its turn in the batch (line.ts), then its locks, then the limits (gate.ts), in one fixed
// order, so that nobody waits in a circle. A nested call borrows its parent's place and re-enters its locks.

import { milliseconds } from '../kernel/duration.ts'
import { PawlError } from '../kernel/errors.ts'
import { frame } from '../kernel/id.ts'
import type { Soon } from '../kernel/soon.ts'
import type { Clock } from '../kernel/time.ts'
import type { CallPosition } from '../journal/call-state.ts'
import { checkLimit, checkRate, type Concurrency, type Rate } from '../tool/terms.ts'
import type { Tool } from '../tool/tool.ts'
import { CountGate, type Gate, Locks, RateGate, type Waiter } from './gate.ts'
import { Line } from './line.ts'

export interface Limits {
  /** At once in this process. */
  readonly perWorker?: number
  readonly perSession?: number
  readonly perTenant?: number
  /** For tools that do not set their own. */
  readonly perTool?: number
  /** Calls that may wait for their turn; more are refused as overloaded. */
  readonly waiting?: number
  readonly rate?: { readonly perTool?: Rate; readonly perTenant?: Rate }
}

export interface Entry {
  readonly uid: string
  readonly position: CallPosition
  readonly order: number
  readonly tool: Tool
  /** For keyed tools. */
  readonly key: string | null
  /** The outermost call it runs under; itself if it is that. */
  readonly root: string
  /** Tells it when it is no longer wanted, for as long as it waits. */
  onStop(stop: () => void): () => void
}

/** Why a call did not get its turn. */
export type Refused = 'overloaded' | 'would_deadlock' | 'stopped'

const none: readonly never[] = []
const batchOf = ({ tenant, session, batch }: CallPosition): string => frame(tenant, session, batch)

const defaults = { perWorker: 256, perSession: 32, perTenant: Infinity, perTool: Infinity, waiting: 10_000 }

export class Queue {
  readonly #clock: Clock
  readonly #limits: Required<Omit<Limits, 'rate'>> & Pick<Limits, 'rate'>
  readonly #lines = new Map<string, Line>()
  readonly #gates = new Map<string, Gate>()
  /** By tenant and session: looked up by every call, so no name is made of them. */
  readonly #sessions = new Map<string, Map<string, CountGate>>()
  readonly #worker: CountGate
  readonly #locks = new Locks()
  #waiting = 0

  constructor(clock: Clock, limits: Limits = {}) {
    const wrong = (why: string): never => {
      throw new PawlError('config_invalid', `limits: ${why}.`)
    }
    for (const name of ['perWorker', 'perSession', 'perTenant', 'perTool', 'waiting'] as const) {
      if (limits[name] !== undefined) checkLimit(limits[name], name, wrong)
    }
    for (const name of ['perTool', 'perTenant'] as const) if (limits.rate?.[name]) checkRate(limits.rate[name], `rate.${name}`, wrong)
    this.#clock = clock
    this.#limits = { ...defaults, ...limits }
    this.#worker = new CountGate(this.#limits.perWorker)
  }

  /** Says that a call is coming, before any of its batch starts. Batches of parallel calls alone need no line. */
  expect(of: CallPosition, order: number, kind: Concurrency['kind'], strict = false): void {
    const batch = batchOf(of)
    let line = this.#lines.get(batch)
    if (!line) this.#lines.set(batch, (line = new Line()))
    if (strict) line.strict = true
    line.expect(order, kind)
  }

  /** Its pipeline is through. In a strict line whoever gathers the outcomes lets it go, once it knows that the batch goes on. */
  through(of: CallPosition, order: number): void {
    if (!this.#line(of)?.strict) this.left(of, order)
  }

  /** The call has left the order of its batch: it is over, or waits for the outside, or was never to come. */
  left(of: CallPosition, order: number): void {
    const line = this.#line(of)
    if (!line) return
    line.left(order)
    if (line.done) this.#lines.delete(batchOf(of))
  }

  /** Waits for its turn. */
  enter(entry: Entry): Soon<Slot | Refused> {
    const line = this.#line(entry.position)
    if (line && !line.mayRun(entry.order)) return this.#enterInTurn(entry, line)
    return this.#slot(entry)
  }

  async #enterInTurn(entry: Entry, line: Line): Promise<Slot | Refused> {
    while (!line.mayRun(entry.order)) {
      const stopped = await this.#waitFor('', entry, (waiter) => line.wait(entry.order, waiter.wake))
      if (stopped) return stopped
    }
    return this.#slot(entry)
  }

  #slot(entry: Entry): Soon<Slot | Refused> {
    const slot = new Slot(this, entry)
    const refused = this.take(slot)
    if (refused instanceof Promise) return refused.then((why) => why ?? slot)
    return refused ?? slot
  }

  /** Locks and limits, in their fixed order. Null when the slot has them all. */
  take(slot: Slot, mayStop = true): Soon<Refused | null> {
    const { entry } = slot
    slot.locks = this.#locksOf(entry)
    slot.gates = entry.root === entry.uid ? this.#gatesOf(entry) : none
    for (const gate of slot.gates) gate.used(1)
    if (this.#go(slot)) return null
    if (this.#waiting < this.#limits.waiting) return this.#takeInTurn(slot, mayStop)
    this.release(slot)
    return 'overloaded'
  }

  /** Goes on as far as it can without waiting. */
  #go(slot: Slot): boolean {
    const { entry, locks, gates } = slot
    for (; slot.taken < locks.length + gates.length; slot.taken++) {
      const name = locks[slot.taken]
      if (name === undefined) {
        if (!gates[slot.taken - locks.length]?.tryEnter()) return false
      } else {
        if (!this.#locks.tryTake(name, entry.root)) return false
        this.#line(entry.position)?.asked(entry.order)
      }
    }
    return true
  }

  async #takeInTurn(slot: Slot, mayStop: boolean): Promise<Refused | null> {
    const { entry, locks, gates } = slot
    do {
      const name = locks[slot.taken]
      if (name !== undefined && this.#locks.wouldDeadlock(name, entry.root)) {
        this.release(slot)
        return 'would_deadlock'
      }
      const stopped = await this.#waitFor(entry.position.tenant, mayStop ? entry : null, (waiter) => {
        if (name === undefined) return gates[slot.taken - locks.length]?.wait(waiter)
        this.#locks.wait(name, entry.root, waiter)
        this.#line(entry.position)?.asked(entry.order)
      })
      if (stopped) {
        if (name !== undefined) this.#locks.forget(name, entry.root)
        this.release(slot)
        return stopped
      }
      slot.taken++
    } while (!this.#go(slot))
    return null
  }

  /** Gives back what the slot has, in the opposite order. */
  release(slot: Slot): void {
    const { locks, gates } = slot
    while (slot.taken > 0) {
      const name = locks[--slot.taken]
      if (name === undefined) gates[slot.taken - locks.length]?.leave()
      else this.#locks.release(name)
    }
    slot.gates = none
    for (const gate of gates) gate.used(-1)
  }

  #line(of: CallPosition): Line | undefined {
    return this.#lines.size === 0 ? undefined : this.#lines.get(batchOf(of))
  }

  /** Waits to be woken or stopped. Woken and stopped at once counts as woken: the place was handed over and is given back by the caller. */
  #waitFor(tenant: string, entry: Entry | null, join: (waiter: Waiter) => void): Promise<Refused | null> {
    this.#waiting++
    return new Promise<Refused | null>((resolve) => {
      let forget = (): void => {}
      const finish = (how: Refused | null): void => {
        forget()
        this.#waiting--
        resolve(how)
      }
      let woken = false
      const waiter: Waiter = {
        tenant,
        gone: false,
        wake: () => {
          woken = true
          finish(null)
        },
      }
      if (entry)
        forget = entry.onStop(() => {
          if (woken || waiter.gone) return
          waiter.gone = true
          finish('stopped')
        })
      if (waiter.gone) forget()
      else join(waiter)
    })
  }

  #locksOf({ position: { tenant, session }, tool, key }: Entry): readonly string[] {
    if (tool.concurrency.kind === 'exclusive') return [frame('exclusive', tenant, session)]
    return key === null ? none : [frame('key', tenant, key)]
  }

  #gatesOf({ position: { tenant, session }, tool }: Entry): Gate[] {
    const { perSession, perTenant, perTool, rate } = this.#limits
    const gates: Gate[] = []
    const count = (name: string, capacity: number): void => {
      gates.push(this.#gate(name, () => new CountGate(capacity, () => this.#gates.delete(name))))
    }
    const rated = (name: string, limit: Rate): void => {
      gates.push(this.#gate(name, () => new RateGate(this.#clock, limit.count, milliseconds(limit.per, 'rate'))))
    }
    // Rates first: who waits for the clock must not sit on a place that others could use.
    const toolRate = tool.limits.rate ?? rate?.perTool
    if (toolRate) rated(frame('tool rate', tool.id), toolRate)
    if (rate?.perTenant) rated(frame('tenant rate', tenant), rate.perTenant)
    const toolLimit = tool.limits.concurrent ?? perTool
    if (toolLimit !== Infinity) count(frame('tool', tool.id), toolLimit)
    if (perSession !== Infinity) gates.push(this.#sessionGate(tenant, session))
    if (perTenant !== Infinity) count(frame('tenant', tenant), perTenant)
    gates.push(this.#worker)
    return gates
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

/** A call's place among those that run. */
export class Slot {
  readonly entry: Entry
  /** What it passes, in this order, and how much of it it has. */
  locks: readonly string[] = none
  gates: readonly Gate[] = none
  taken = 0
  readonly #queue: Queue
  #leftLine = false
  #inside = true

  constructor(queue: Queue, entry: Entry) {
    this.#queue = queue
    this.entry = entry
  }

  /** It waits for the outside: others may go. */
  leave(): void {
    const { position, order } = this.entry
    if (!this.#leftLine) this.#queue.left(position, order)
    this.#leftLine = true
    this.done()
  }

  /** Back from the outside: limits and locks again, but not the order of its batch. */
  async enter(): Promise<void> {
    if (this.#inside) return
    this.#inside = true
    // Overload does not apply to those already admitted; a lock it held may have become a circle, which then fails the wait.
    if (await this.#queue.take(this, false)) throw new PawlError('would_deadlock', `The call is ${this.entry.uid}.`)
  }

  /** The attempt is over. Its turn in the batch is not: a retry follows in the same place. */
  done(): void {
    this.#queue.release(this)
    this.#inside = false
  }
}
