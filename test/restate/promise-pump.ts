// SPIKE, used by restate-execution.ts: lets native promises wait for Restate's. The SDK drives an execution by one
// await at a time (its progress channel has a single consumer), so a Promise.all in a body cannot drive it. One loop
// awaits a race of all open operations; each operation settles a native promise that the body can combine freely.

import { RestatePromise } from '@restatedev/restate-sdk'
import { setImmediate as turn } from 'node:timers/promises'

interface Open {
  readonly op: RestatePromise<void>
  readonly reject: (error: unknown) => void
}

export class Pump {
  readonly #open = new Set<Open>()
  #running = false

  /**
   * Adds the operation to the race until it settles. The SDK types some operations as plain promises, but all are
   * RestatePromises.
   */
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
      // Operations issued in the same event loop turn join the same race; later ones wait for its end.
      for (await turn(); this.#open.size > 0; await turn())
        await RestatePromise.race([...this.#open].map(({ op }) => op))
    } catch (error) {
      // Only the end of the whole execution (a cancellation) arrives here; single failures reject their own promise.
      for (const { reject } of this.#open) reject(error)
      this.#open.clear()
    } finally {
      this.#running = false
    }
  }
}
