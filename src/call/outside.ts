// Nested calls that wait for the outside. A body that waits for such a call only waits as well, so its clocks stand still (TIME-2).

import type { Invocation } from '../engine/engine.ts'
import type { CallPosition } from '../journal/call-state.ts'
import { frame } from '../kernel/id.ts'

type Listener = (waits: boolean) => void

const placeOf = (p: CallPosition): string => frame(p.tenant, p.session, p.batch, p.id, p.occurrence)

export class Outside {
  readonly #waiting = new Set<string>()
  readonly #listeners = new Map<string, Listener[]>()

  /** A call waits for the outside, or does so no longer. Only what is called by a body has somebody who wants to know. */
  tell({ options, request }: Invocation, waits: boolean): void {
    if (options.root === undefined) return
    const place = placeOf(request.position)
    if (waits) this.#waiting.add(place)
    else this.#waiting.delete(place)
    for (const listener of this.#listeners.get(place) ?? []) listener(waits)
  }

  /** Hears of it, at once if it waits already. What it gives back stops listening. */
  listen(position: CallPosition, listener: Listener): () => void {
    const place = placeOf(position)
    this.#listeners.set(place, [...(this.#listeners.get(place) ?? []), listener])
    if (this.#waiting.has(place)) listener(true)
    return () => {
      const left = (this.#listeners.get(place) ?? []).filter((each) => each !== listener)
      if (left.length > 0) return void this.#listeners.set(place, left)
      this.#listeners.delete(place)
      this.#waiting.delete(place)
    }
  }
}
