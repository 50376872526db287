// Hears that a user said something, for turns whose calls wait: of what is said here at once, of what other processes write a moment later, and nothing of all
// else that is written.

import { sentName, type SentRow } from '../../store/records/conversation.ts'
import { frame } from '../../core/ids.ts'
import type { Clock } from '../../core/clock.ts'
import { iterateDocuments } from '../../store/iterate-documents.ts'
import type { Store } from '../../store/store.ts'

interface Scope {
  readonly tenant: string
  readonly session: string
}

/** Other processes write often; that a user said something there is not urgent. */
const lookMs = 250

export class MessageWatcher {
  readonly #store: Store
  readonly #clock: Clock
  readonly #listeners = new Map<string, Set<() => void>>()
  readonly #stopListening: () => void
  #callOff: (() => void) | null = null

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
    this.#stopListening = store.onHint(({ outside }) => {
      if (outside && this.#listeners.size > 0) this.#callOff ??= clock.timer(lookMs, () => void this.#look())
    })
  }

  /** What it gives back stops listening. */
  listen({ tenant, session }: Scope, heard: () => void): () => void {
    const place = frame(tenant, session)
    const all = this.#listeners.get(place) ?? new Set()
    this.#listeners.set(place, all.add(heard))
    return () => {
      all.delete(heard)
      if (all.size === 0 && this.#listeners.get(place) === all) this.#listeners.delete(place)
    }
  }

  /** Here, or somewhere else. */
  said({ tenant, session }: Scope): void {
    for (const heard of this.#listeners.get(frame(tenant, session)) ?? []) heard()
  }

  close(): void {
    this.#stopListening()
    this.#callOff?.()
  }

  /** One look for all who wait. */
  async #look(): Promise<void> {
    this.#callOff = null
    try {
      for await (const { tenant, session, value } of iterateDocuments(this.#store, {
        of: sentName({ tenant: '', session: '' }, '').of,
      }))
        if ((JSON.parse(value) as SentRow).when === 'next') this.said({ tenant, session })
    } catch {
      // The store is away: then the turn hears of that itself.
      this.#callOff ??= this.#clock.timer(lookMs * 4, () => void this.#look())
    }
  }
}
