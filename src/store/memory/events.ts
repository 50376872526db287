// The feed of the memory store: events by position, and where those of each session are.

import { frame } from '../../core/ids.ts'
import type { EventRecord, NewEvent } from '../records/event.ts'
import type { Erasure, EventQuery, Scope } from '../store.ts'

interface Line {
  seq: number
  /** Positions of what is kept, in order. */
  positions: number[]
  erased: Erasure
}

const nothing: Erasure = { count: 0, position: 0 }

export class MemoryFeed {
  /** At index n what has position n + 1; null where it was erased. */
  readonly #events: ({ readonly event: NewEvent; readonly seq: number } | null)[] = []
  readonly #lines = new Map<string, Map<string, Line>>()
  /** Sessions that were erased whole, by one name: a reader that lags behind must still be told. */
  readonly #gone = new Map<string, Erasure>()
  #erased = nothing
  #erasing = 0

  get last(): number {
    return this.#events.length
  }

  add(event: NewEvent): void {
    let sessions = this.#lines.get(event.tenant)
    if (!sessions) this.#lines.set(event.tenant, (sessions = new Map()))
    let line = sessions.get(event.session)
    if (!line) sessions.set(event.session, (line = { seq: 0, positions: [], erased: this.#takeGone(event) }))
    line.positions.push(this.#events.push({ event, seq: ++line.seq }))
  }

  read({ after, limit, of }: EventQuery): EventRecord[] {
    const found: EventRecord[] = []
    const take = (position: number): void => {
      const kept = this.#events[position - 1]
      if (kept) found.push({ ...kept.event, position, seq: kept.seq })
    }
    if (of) {
      const positions = this.#line(of)?.positions ?? []
      for (let index = firstAfter(positions, after); index < positions.length && found.length < limit; index++)
        take(positions[index] as number)
    } else
      for (let position = after + 1; position <= this.#events.length && found.length < limit; position++) take(position)
    return found
  }

  erased(of: EventQuery['of']): Erasure {
    if (!of) return this.#erased
    return this.#line(of)?.erased ?? this.#gone.get(frame(of.tenant, of.session)) ?? nothing
  }

  /** Begins an erasure, whose number all that it takes gets. One that takes nothing has none. */
  begin(): void {
    this.#erasing = this.#erased.count + 1
  }

  /** Sessions of which something is told, in a tenant or in all. */
  *sessions(of: Scope | undefined): Generator<Required<Scope>, void> {
    for (const tenant of of ? [of.tenant] : [...this.#lines.keys()])
      for (const session of of?.session === undefined ? [...(this.#lines.get(tenant)?.keys() ?? [])] : [of.session])
        yield { tenant, session }
  }

  /** Takes such events from a session; tells how many. With `anew` a session of which this took the last begins from sequence 1. */
  erase(of: { tenant: string; session: string }, isGone: (event: NewEvent) => boolean, anew: boolean): number {
    const line = this.#line(of)
    if (!line) return 0
    const count = this.#erasing
    const before = line.positions.length
    line.positions = line.positions.filter((position) => {
      if (!isGone((this.#events[position - 1] as { event: NewEvent }).event)) return true
      this.#events[position - 1] = null
      line.erased = { count, position: Math.max(line.erased.position, position) }
      this.#erased = { count, position: Math.max(this.#erased.position, position) }
      return false
    })
    const taken = before - line.positions.length
    if (anew && taken > 0 && line.positions.length === 0) {
      this.#gone.set(frame(of.tenant, of.session), line.erased)
      this.#lines.get(of.tenant)?.delete(of.session)
    }
    return taken
  }

  #line({ tenant, session }: { tenant: string; session: string }): Line | undefined {
    return this.#lines.get(tenant)?.get(session)
  }

  #takeGone({ tenant, session }: NewEvent): Erasure {
    if (this.#gone.size === 0) return nothing
    const name = frame(tenant, session)
    const found = this.#gone.get(name) ?? nothing
    this.#gone.delete(name)
    return found
  }
}

/** The index of the first position above this one. */
function firstAfter(positions: readonly number[], after: number): number {
  let [low, high] = [0, positions.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((positions[middle] as number) <= after) low = middle + 1
    else high = middle
  }
  return low
}
