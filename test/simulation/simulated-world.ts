// A deterministic world: one clock, one event queue, seeded randomness, and a store shared by all workers. Node is
// single-threaded, so controlling timers and store answers makes a seed reproduce its history.

import type { Clock } from '../../src/core/clock.ts'
import { memoryStore } from '../../src/store/memory/memory-store.ts'
import type { Store } from '../../src/store/store.ts'
import { seeded } from '../kit/seeded-random.ts'

const begin = Date.UTC(2026, 0, 1)

interface Due {
  readonly at: number
  readonly order: number
  readonly run: () => void
}

export class World {
  now = 0
  readonly trace: string[] = []
  readonly store: Store
  readonly #random: () => number
  readonly #due: Due[] = []
  #order = 0

  constructor(seed: number) {
    this.#random = seeded(seed)
    this.store = memoryStore({ clock: this.clockOf({ wake: (run) => run(), ahead: 0 }) })
  }

  /** A random integer from 0 to `below` - 1. */
  chance(below: number): number {
    return Math.floor(this.#random() * below)
  }
  likely(share: number): boolean {
    return this.#random() < share
  }
  oneOf<T>(list: readonly T[]): T {
    return list[this.chance(list.length)] as T
  }

  note(who: string, what: string): void {
    this.trace.push(`${String(this.now).padStart(6)} ${who} ${what}`)
  }

  /** Schedules `run`; returns a function that cancels it. */
  after(ms: number, run: () => void): () => void {
    let wanted = true
    const due = { at: this.now + Math.max(0, Math.ceil(ms)), order: ++this.#order, run: () => wanted && run() }
    let index = this.#due.length
    // Sorted with the earliest last. The list is short, so a linear scan is enough.
    while (index > 0 && isBefore(this.#due[index - 1] as Due, due)) index--
    this.#due.splice(index, 0, due)
    return () => void (wanted = false)
  }
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => void this.after(ms, resolve))
  }

  /** Runs one event and everything that follows from it immediately. */
  async step(): Promise<void> {
    const next = this.#due.pop()
    if (next) {
      this.now = next.at
      next.run()
    }
    await settled()
  }

  /** A clock whose timers go through `wake`, which may delay or drop them. `ahead` offsets the monotonic clock. */
  clockOf(owner: { wake: (run: () => void) => void; ahead: number; timers?: Set<number> }): Clock {
    const { wake, ahead, timers = new Set() } = owner
    let id = 0
    return {
      now: () => begin + this.now,
      monotonic: () => 1_000 + this.now + ahead,
      timer: (ms, fire) => {
        const mine = ++id
        timers.add(mine)
        const callOff = this.after(ms, () =>
          wake(() => {
            if (timers.delete(mine)) fire()
          }),
        )
        return () => {
          timers.delete(mine)
          callOff()
        }
      },
      every: (ms, chore) => {
        let wanted = true
        const again = (): void => {
          if (!wanted) return
          wake(() => wanted && chore())
          this.after(ms, again)
        }
        this.after(ms, again)
        return () => void (wanted = false)
      },
      hold: () => () => {},
    }
  }
}

const isBefore = (a: Due, b: Due): boolean => a.at < b.at || (a.at === b.at && a.order < b.order)

/** Drains pending callbacks. A fixed number of rounds keeps the order deterministic. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
}

export const instant = (at: number): number => at - begin
