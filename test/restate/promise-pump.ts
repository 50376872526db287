// SPIKE, under restate-execution.ts: lets native promises wait for Restate's. An execution of the SDK can only be driven by one await at a
// time (its progress channel has a single consumer), so a body's own Promise.all over its operations cannot drive it. One
// loop awaits a race of everything that is open; each operation settles a native promise, which the body may combine as it likes.

import { RestatePromise } from '@restatedev/restate-sdk'
import { setImmediate as turn } from 'node:timers/promises'

interface Open {
  readonly op: RestatePromise<void>
  readonly reject: (error: unknown) => void
}

export class Pump {
  readonly #open = new Set<Open>()
  #running = false

  /** Takes part in the race until it has settled. The SDK types some of its operations as plain promises; all of them are its own. */
  keep<T>(operation: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const op = (operation as RestatePromise<T>).map((value, failure) => {
        this.#open.delete(open)
        if (failure) reject(failure)
        else resolve(value as T)
      })
      const open: Open = { op, reject }
      this.#open.add(open)
      if (!this.#running) void this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#running = true
    try {
      // What the body issues in the same turn belongs in the same race: later joiners wait for its end.
      for (await turn(); this.#open.size > 0; await turn()) await RestatePromise.race([...this.#open].map(({ op }) => op))
    } catch (error) {
      // Only the end of the whole execution (a cancellation) comes here; single failures went to their own promise.
      for (const { reject } of this.#open) reject(error)
      this.#open.clear()
    } finally {
      this.#running = false
    }
  }
}
