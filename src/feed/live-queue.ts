// The live events that one reader of the feed has not taken yet, and their order among the recorded events.

import { PawlError } from '../core/errors.ts'
import type { Scope } from '../core/scope.ts'
import type { EventRecord } from '../store/records/event.ts'
import type { LiveEvent } from './live-events.ts'
import type { LiveReader } from './live-hub.ts'

/** A reader that leaves more than this unread is cut off. */
const maxEvents = 4_096
const maxCharacters = 4 * 1024 * 1024
/** Ended calls to remember, so that live events that arrive late are dropped. */
const maxEnded = 256

/** The deltas of an answer end with its record, progress and output with the outcome of their call. */
export const endsLiveEvents = ({ type }: EventRecord): boolean => type === 'turn.answered' || type === 'call.settled'

export class LiveQueue implements LiveReader {
  readonly of: Scope | null
  readonly #tenant: string | undefined
  readonly #wake: () => void
  readonly #events: LiveEvent[] = []
  #characters = 0
  #isTooSlow = false
  /** By call: the last recorded answer of a turn, or Infinity for a settled call. */
  readonly #ended = new Map<string, number>()

  /** @param tenant Events of other tenants are dropped, so that they neither reach this reader nor fill its queue. */
  constructor(of: Scope | null, wake: () => void, tenant?: string) {
    this.of = of
    this.#tenant = tenant
    this.#wake = wake
  }

  receive(event: LiveEvent): void {
    if (this.#isTooSlow || (this.#tenant !== undefined && event.tenant !== this.#tenant)) return
    this.#events.push(event)
    this.#characters += sizeOf(event)
    if (this.#events.length > maxEvents || this.#characters > maxCharacters) {
      this.#isTooSlow = true
      this.#events.length = 0
    }
    this.#wake()
  }

  get isEmpty(): boolean {
    return this.#events.length === 0 && !this.#isTooSlow
  }

  /** Takes what has arrived. Throws if the reader was too slow; it can go on from the cursor. */
  take(cursor: string): TakenEvents {
    if (this.#isTooSlow) throw new PawlError('reader_too_slow', `The cursor is ${cursor}.`, { details: { cursor } })
    const events = this.#events.splice(0)
    this.#characters = 0
    return {
      before: (event) => this.#before(event, events),
      rest: () => this.#current(events.splice(0)),
    }
  }

  /** Live events that a recorded event ends, among those taken and those that have arrived since. */
  #before(event: EventRecord, taken: LiveEvent[]): LiveEvent[] {
    if (!endsLiveEvents(event)) return []
    const { call } = event
    const answered = event.type === 'turn.answered' ? event.body.step : Infinity
    const isEnded = (live: LiveEvent): boolean => live.call === call && stepOf(live) <= answered
    const earlier = this.#current([...taken, ...this.#events].filter(isEnded))
    for (const list of [taken, this.#events]) list.splice(0, Infinity, ...list.filter((live) => !isEnded(live)))
    this.#ended.delete(call)
    this.#ended.set(call, answered)
    const oldest = this.#ended.size > maxEnded ? this.#ended.keys().next().value : undefined
    if (oldest !== undefined) this.#ended.delete(oldest)
    return earlier
  }

  /** Without those whose end was already delivered. */
  #current(events: readonly LiveEvent[]): LiveEvent[] {
    return this.#ended.size === 0
      ? [...events]
      : events.filter((live) => stepOf(live) > (this.#ended.get(live.call) ?? -Infinity))
  }
}

export interface TakenEvents {
  /** The live events to deliver before this recorded event. */
  before(event: EventRecord): LiveEvent[]
  /** The others, to deliver after all recorded events that were read. */
  rest(): LiveEvent[]
}

/** Progress and output have no step: only the end of their call ends them. */
const stepOf = (live: LiveEvent): number =>
  live.type === 'turn.delta' || live.type === 'turn.retracted' ? live.body.step : Number.MAX_SAFE_INTEGER

const sizeOf = (live: LiveEvent): number =>
  live.type === 'call.output'
    ? live.body.text.length
    : live.type === 'turn.delta' && live.body.type !== 'call'
      ? live.body.delta.length
      : 1
