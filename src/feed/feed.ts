// FEED: facts from a cursor, then live, without gap or repeat (FEED-1). The store is the truth; a hint only says "look again".

import { PawlError } from '../kernel/errors.ts'
import type { Outcome } from '../kernel/outcome.ts'
import { decode } from '../kernel/value.ts'
import type { EventRecord } from '../journal/event.ts'
import type { EventQuery, Store } from '../store/store.ts'

/** An event as readers get it: with its cursor, and the outcome of a call that settled. */
export type FeedEvent = EventRecord & { readonly cursor: string; readonly outcome?: Outcome }

export interface FeedQuery {
  readonly of?: NonNullable<EventQuery['of']>
  readonly after: number
  readonly signal?: AbortSignal
}

const page = 256

export class Feed {
  readonly #store: Store
  readonly #stopListening: () => void
  #wakes = new Set<() => void>()
  #closed = false

  constructor(store: Store) {
    this.#store = store
    this.#stopListening = store.onHint(() => this.#wake())
  }

  async *read({ of, after, signal }: FeedQuery): AsyncGenerator<FeedEvent, void, void> {
    let at = after
    const wake = (): void => this.#wake()
    signal?.addEventListener('abort', wake, { once: true })
    try {
      while (!this.#closed && !signal?.aborted) {
        // Taken before the read: what is committed during it wakes us again.
        const news = this.#news()
        const events = await this.#store.events({ after: at, limit: page, ...(of ? { of } : {}) })
        for (const event of events) {
          if (this.#closed || signal?.aborted) return
          at = event.position
          yield await this.#shown(event)
        }
        if (events.length === 0) await news
      }
    } finally {
      signal?.removeEventListener('abort', wake)
    }
  }

  close(): void {
    this.#closed = true
    this.#stopListening()
    this.#wake()
  }

  #news(): Promise<void> {
    return new Promise((resolve) => this.#wakes.add(resolve))
  }

  #wake(): void {
    const wakes = this.#wakes
    this.#wakes = new Set()
    for (const wake of wakes) wake()
  }

  async #shown(event: EventRecord): Promise<FeedEvent> {
    const cursor = `p${event.position}`
    if (event.type !== 'call.settled') return { ...event, cursor }
    const call = await this.#store.call(event.call)
    return { ...event, cursor, ...(call?.outcome ? { outcome: decode(call.outcome) as unknown as Outcome } : {}) }
  }
}

/** The position a cursor stands for. */
export function cursorOf(cursor: string | undefined): number {
  if (cursor === undefined) return 0
  const match = /^p(\d{1,15})$/.exec(cursor)
  if (!match) throw new PawlError('cursor_invalid', `It is ${JSON.stringify(cursor)}.`)
  return Number(match[1])
}
