// The queue stage: when a call may run. First its turn in the batch (line.ts), then its locks, then the limits (gate.ts), in one fixed
// order, so that nobody waits in a circle. A nested call borrows its parent's place and re-enters its locks.

import { milliseconds } from '../kernel/duration.ts'
import { PawlError } from '../kernel/errors.ts'
import { frame } from '../kernel/id.ts'
import type { Clock } from '../kernel/time.ts'
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
  readonly tenant: string
  readonly session: string
  readonly batch: string
  readonly order: number
  readonly tool: Tool
  /** For keyed tools. */
  readonly key: string | null
  /** The outermost call it runs under; itself if it is that. */
  readonly root: string
}

/** Why a call did not get its turn. */
export type Refused = 'overloaded' | 'would_deadlock' | 'stopped'

export interface Slot {
  /** It waits for the outside: others may go. */
  leave(): void
  /** Back from the outside: limits and locks again, but not the order of its batch. */
  enter(): Promise<void>
  /** The attempt is over. Its turn in the batch is not: a retry follows in the same place. */
  done(): void
}

interface Passage {
  readonly name: string
  readonly gate: Gate
}

const defaults = { perWorker: 256, perSession: 32, perTenant: Infinity, perTool: Infinity, waiting: 10_000 }

export class Queue {
  readonly #clock: Clock
  readonly #limits: Required<Omit<Limits, 'rate'>> & Pick<Limits, 'rate'>
  readonly #lines = new Map<string, Line>()
  readonly #gates = new Map<string, Gate>()
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
  }

  /** Says that a call is coming, before any of its batch starts. Batches of parallel calls alone need no line. */
  expect(batch: string, order: number, kind: Concurrency['kind'], strict = false): void {
    let line = this.#lines.get(batch)
    if (!line) this.#lines.set(batch, (line = new Line()))
    if (strict) line.strict = true
    line.expect(order, kind)
  }

  /** Its pipeline is through. In a strict line whoever gathers the outcomes lets it go, once it knows that the batch goes on. */
  through(batch: string, order: number): void {
    if (!this.#lines.get(batch)?.strict) this.left(batch, order)
  }

  /** The call has left the order of its batch: it is over, or waits for the outside, or was never to come. */
  left(batch: string, order: number): void {
    const line = this.#lines.get(batch)
    if (!line) return
    line.left(order)
    if (line.done) this.#lines.delete(batch)
  }

  /** Waits for its turn. `onStop` tells it when it is no longer wanted. */
  async enter(entry: Entry, onStop: (stop: () => void) => () => void): Promise<Slot | Refused> {
    const turn = this.#turn(entry, onStop)
    const refused = turn instanceof Promise ? await turn : turn
    if (refused) return refused
    const taken = this.#take(entry, onStop)
    const held = taken instanceof Promise ? await taken : taken
    if (typeof held === 'string') return held
    let release: (() => void) | null = held
    let leftLine = false
    return {
      leave: () => {
        if (!leftLine) this.left(entry.batch, entry.order)
        leftLine = true
        release?.()
        release = null
      },
      enter: async () => {
        if (release) return
        const again = await this.#take(entry, () => () => {})
        // Overload does not apply to those already admitted; a lock it held may have become a circle, which then fails the wait.
        if (typeof again === 'string') throw new PawlError('would_deadlock', `The call is ${entry.uid}.`)
        release = again
      },
      done: () => {
        release?.()
        release = null
      },
    }
  }

  /** Its turn in the batch. Null when it has come. */
  #turn({ batch, order }: Entry, onStop: (stop: () => void) => () => void): Refused | null | Promise<Refused | null> {
    const line = this.#lines.get(batch)
    if (!line || line.mayRun(order)) return null
    return (async () => {
      while (!line.mayRun(order)) {
        const stopped = await this.#waitFor('', onStop, (waiter) => line.wait(order, waiter.wake))
        if (stopped) return stopped
      }
      return null
    })()
  }

  /** Locks and limits, in their fixed order. What it gives back releases them. */
  #take(entry: Entry, onStop: (stop: () => void) => () => void): (() => void) | Refused | Promise<(() => void) | Refused> {
    const locks = this.#locksOf(entry)
    const gates = entry.root === entry.uid ? this.#gatesOf(entry) : []
    const line = this.#lines.get(entry.batch)
    const held: (() => void)[] = []
    const releaseAll = (): void => {
      for (const release of held.splice(0).toReversed()) release()
    }
    let next = 0
    /** Goes on as far as it can without waiting. */
    const go = (): boolean => {
      for (; next < locks.length + gates.length; next++) {
        const name = locks[next]
        if (name !== undefined) {
          if (!this.#locks.tryTake(name, entry.root)) return false
          held.push(() => this.#locks.release(name))
          line?.asked(entry.order)
        } else {
          const passage = gates[next - locks.length] as Passage
          if (!passage.gate.tryEnter()) return false
          held.push(() => this.#pass(passage))
        }
      }
      return true
    }
    if (go()) return releaseAll
    if (this.#waiting >= this.#limits.waiting) {
      releaseAll()
      return 'overloaded'
    }
    return (async () => {
      do {
        const name = locks[next]
        if (name !== undefined && this.#locks.wouldDeadlock(name, entry.root)) {
          releaseAll()
          return 'would_deadlock'
        }
        const stopped = await this.#waitFor(entry.tenant, onStop, (waiter) => {
          if (name === undefined) return (gates[next - locks.length] as Passage).gate.wait(waiter)
          this.#locks.wait(name, entry.root, waiter)
          line?.asked(entry.order)
        })
        if (stopped) {
          if (name !== undefined) this.#locks.forget(name, entry.root)
          releaseAll()
          return stopped
        }
        const passage = gates[next - locks.length]
        held.push(name === undefined ? () => this.#pass(passage as Passage) : () => this.#locks.release(name))
        next++
      } while (!go())
      return releaseAll
    })()
  }

  /** Out again. A gate nobody uses is forgotten, so that sessions of the past cost nothing. */
  #pass({ name, gate }: Passage): void {
    gate.leave()
    if (gate instanceof CountGate && gate.empty) this.#gates.delete(name)
  }

  /** Waits to be woken or stopped. Woken and stopped at once counts as woken: the place was handed over and is given back by the caller. */
  #waitFor(tenant: string, onStop: (stop: () => void) => () => void, join: (waiter: Waiter) => void): Promise<Refused | null> {
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
      forget = onStop(() => {
        if (woken || waiter.gone) return
        waiter.gone = true
        finish('stopped')
      })
      join(waiter)
    })
  }

  #locksOf({ tenant, session, tool, key }: Entry): string[] {
    if (tool.concurrency.kind === 'exclusive') return [frame('exclusive', tenant, session)]
    return key === null ? [] : [frame('key', tenant, key)]
  }

  #gatesOf({ tenant, session, tool }: Entry): Passage[] {
    const { perWorker, perSession, perTenant, perTool, rate } = this.#limits
    const gates: Passage[] = []
    const count = (name: string, capacity: number): void => {
      if (capacity !== Infinity) gates.push({ name, gate: this.#gate(name, () => new CountGate(capacity)) })
    }
    const rated = (name: string, limit: Rate | undefined): void => {
      if (limit) gates.push({ name, gate: this.#gate(name, () => new RateGate(this.#clock, limit.count, milliseconds(limit.per, 'rate'))) })
    }
    // Rates first: who waits for the clock must not sit on a place that others could use.
    rated(frame('tool rate', tool.id), tool.limits.rate ?? rate?.perTool)
    rated(frame('tenant rate', tenant), rate?.perTenant)
    count(frame('tool', tool.id), tool.limits.concurrent ?? perTool)
    count(frame('session', tenant, session), perSession)
    count(frame('tenant', tenant), perTenant)
    count('worker', perWorker)
    return gates
  }

  #gate(name: string, make: () => Gate): Gate {
    let gate = this.#gates.get(name)
    if (!gate) this.#gates.set(name, (gate = make()))
    return gate
  }
}
