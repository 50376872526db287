// Notifies turns whose calls wait that the user sent a message or that another turn wants the session: at once for
// those of this process, by polling after hints for those of other processes.

import { lengthPrefixed } from '../../core/ids.ts'
import type { Clock } from '../../core/clock.ts'
import type { Scope } from '../../core/scope.ts'
import type { Store } from '../../store/store.ts'
import { collections } from '../../store/collections.ts'

/** Polling delay after a hint: writes of other processes are frequent, and a new message is not urgent. */
const pollMs = 250

export class MessageWatcher {
  readonly #store: Store
  readonly #clock: Clock
  readonly #listeners = new Map<string, Set<() => void>>()
  /** Set while a turn listens. */
  #stopListening: (() => void) | null = null
  #cancelPoll: (() => void) | null = null

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Returns a function that stops listening. */
  listen({ tenant, session }: Scope, onMessage: () => void): () => void {
    this.#stopListening ??= this.#store.onHint(({ outside }) => {
      if (outside) this.#cancelPoll ??= this.#clock.timer(pollMs, () => void this.#poll())
    })
    const key = lengthPrefixed(tenant, session)
    const all = this.#listeners.get(key) ?? new Set()
    this.#listeners.set(key, all.add(onMessage))
    return () => {
      all.delete(onMessage)
      if (all.size === 0 && this.#listeners.get(key) === all) this.#listeners.delete(key)
      if (this.#listeners.size === 0) this.#stop()
    }
  }

  /** Calls the listeners of a session. */
  notify({ tenant, session }: Scope): void {
    for (const onMessage of this.#listeners.get(lengthPrefixed(tenant, session)) ?? []) onMessage()
  }

  close(): void {
    this.#stop()
    this.#cancelPoll?.()
  }

  #stop(): void {
    this.#stopListening?.()
    this.#stopListening = null
  }

  /** One poll for all listeners. */
  async #poll(): Promise<void> {
    this.#cancelPoll = null
    try {
      for await (const { tenant, session, value } of collections.messageSent.iterate(this.#store, {}))
        if (collections.messageSent.parse(value).when === 'next') this.notify({ tenant, session })
      for await (const { tenant, session } of collections.turnQueued.iterate(this.#store, {}))
        this.notify({ tenant, session })
    } catch {
      // The store is unavailable; the turn itself reports that.
      this.#cancelPoll ??= this.#clock.timer(pollMs * 4, () => void this.#poll())
    }
  }
}
