// Reads of the store that readers of the feed share: many subscribers of one session look at the same time for the same
// events. Used by event-feed.ts.

import type { Foundation } from '../engine/foundation.ts'
import type { EventRecord } from '../store/records/event.ts'
import type { EventQuery } from '../store/store.ts'

/** Recorded events, and what was erased when they were read. */
interface Page {
  readonly events: readonly EventRecord[]
  /** Absent if there are no events. */
  readonly erased?: Awaited<ReturnType<Foundation['store']['erased']>>
}

export const pageSize = 256
export const noEvents: Page = { events: [] }

/** A read is shared only until it begins: no reader gets what was read before it asked. */
export class SharedReads {
  readonly #store: Foundation['store']
  /** Set until the read begins. */
  #newest: Promise<number> | null = null
  /** Pages whose read has not begun, by session and position. */
  readonly #pages = new Map<string, Promise<Page>>()

  constructor(store: Foundation['store']) {
    this.#store = store
  }

  /** With live events readers look often and seldom find a recorded event: they read events only if there are new ones. */
  newestPosition(): Promise<number> {
    this.#newest ??= Promise.resolve().then(() => {
      this.#newest = null
      return this.#store.lastPosition()
    })
    return this.#newest
  }

  /** The events after this position. */
  page(of: EventQuery['of'], after: number): Promise<Page> {
    const key = JSON.stringify([of?.tenant, of?.session, after])
    const known = this.#pages.get(key)
    if (known) return known
    const page = Promise.resolve().then(() => {
      this.#pages.delete(key)
      return this.#readPage(of, after)
    })
    this.#pages.set(key, page)
    return page
  }

  async #readPage(of: EventQuery['of'], after: number): Promise<Page> {
    const events = await this.#store.events({ after, limit: pageSize, ...(of ? { of } : {}) })
    // Read after the events, so that no erasure that happened before that read is overlooked.
    return events.length === 0 ? noEvents : { events, erased: await this.#store.erased(of) }
  }
}
