// Events of the memory store, by position and by session.

import { lengthPrefixed } from '../../core/ids.ts'
import type { Scope } from '../../core/scope.ts'
import type { EventRecord, NewEvent } from '../records/event.ts'
import type { Erasure, EventQuery, ScopeFilter } from '../store.ts'

interface SessionFeed {
  seq: number
  /** Positions of the events that are not erased, ascending. */
  positions: number[]
  erased: Erasure
}

const noErasure: Erasure = { count: 0, position: 0 }

export class MemoryFeed {
  /** Index n holds position n + 1; null if erased. */
  readonly #events: ({ readonly event: NewEvent; readonly seq: number } | null)[] = []
  readonly #sessions = new Map<string, Map<string, SessionFeed>>()
  /** Sessions whose events were all erased, by name: a reader that lags behind must still learn of the erasure. */
  readonly #erasedSessions = new Map<string, Erasure>()
  #erased = noErasure
  #erasureNumber = 0

  get last(): number {
    return this.#events.length
  }

  add(event: NewEvent): void {
    let sessions = this.#sessions.get(event.tenant)
    if (!sessions) this.#sessions.set(event.tenant, (sessions = new Map()))
    let feed = sessions.get(event.session)
    if (!feed) sessions.set(event.session, (feed = { seq: 0, positions: [], erased: this.#takeErasedSession(event) }))
    feed.positions.push(this.#events.push({ event, seq: ++feed.seq }))
  }

  read({ after, limit, of }: EventQuery): EventRecord[] {
    const found: EventRecord[] = []
    const push = (position: number): void => {
      const entry = this.#events[position - 1]
      if (entry) found.push({ ...entry.event, position, seq: entry.seq })
    }
    if (of) {
      const positions = this.#sessionFeed(of)?.positions ?? []
      for (let index = firstAfter(positions, after); index < positions.length && found.length < limit; index++)
        push(positions[index] as number)
    } else
      for (let position = after + 1; position <= this.#events.length && found.length < limit; position++) push(position)
    return found
  }

  erased(of: EventQuery['of']): Erasure {
    if (!of) return this.#erased
    return this.#sessionFeed(of)?.erased ?? this.#erasedSessions.get(lengthPrefixed(of.tenant, of.session)) ?? noErasure
  }

  /** Assigns the erasure number for the following erase() calls. If they erase nothing, the number is reused. */
  beginErasure(): void {
    this.#erasureNumber = this.#erased.count + 1
  }

  /** Sessions with events, of one tenant or of all. */
  *sessions(of: ScopeFilter | undefined): Generator<Scope, void> {
    for (const tenant of of ? [of.tenant] : [...this.#sessions.keys()])
      for (const session of of?.session === undefined ? [...(this.#sessions.get(tenant)?.keys() ?? [])] : [of.session])
        yield { tenant, session }
  }

  /**
   * Erases the matching events of a session and returns their number. With `restart`, a session left empty starts
   * again at sequence 1.
   */
  erase(of: Scope, isErased: (event: NewEvent) => boolean, restart: boolean): number {
    const feed = this.#sessionFeed(of)
    if (!feed) return 0
    const count = this.#erasureNumber
    const before = feed.positions.length
    feed.positions = feed.positions.filter((position) => {
      if (!isErased((this.#events[position - 1] as { event: NewEvent }).event)) return true
      this.#events[position - 1] = null
      feed.erased = { count, position: Math.max(feed.erased.position, position) }
      this.#erased = { count, position: Math.max(this.#erased.position, position) }
      return false
    })
    const erased = before - feed.positions.length
    if (restart && erased > 0 && feed.positions.length === 0) {
      this.#erasedSessions.set(lengthPrefixed(of.tenant, of.session), feed.erased)
      this.#sessions.get(of.tenant)?.delete(of.session)
    }
    return erased
  }

  #sessionFeed({ tenant, session }: Scope): SessionFeed | undefined {
    return this.#sessions.get(tenant)?.get(session)
  }

  #takeErasedSession({ tenant, session }: NewEvent): Erasure {
    if (this.#erasedSessions.size === 0) return noErasure
    const name = lengthPrefixed(tenant, session)
    const found = this.#erasedSessions.get(name) ?? noErasure
    this.#erasedSessions.delete(name)
    return found
  }
}

/** Index of the first position greater than `after`. */
function firstAfter(positions: readonly number[], after: number): number {
  let [low, high] = [0, positions.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((positions[middle] as number) <= after) low = middle + 1
    else high = middle
  }
  return low
}
