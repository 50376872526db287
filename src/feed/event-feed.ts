// The feed: recorded events after a cursor, then new ones, without gaps or duplicates. The store is the source of
// truth; a hint only triggers another read. Sessions and the runtime hand out readers of it.

import { checkOptions, option, type OptionTable } from '../core/check-options.ts'
import { errorTable, PawlError } from '../core/errors.ts'
import { chain, type MaybePromise } from '../core/maybe-promise.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Execution } from '../engine/engine.ts'
import type { Foundation } from '../engine/foundation.ts'
import { decode, fromRow, type Json } from '../core/tool-value.ts'
import type { EventRecord } from '../store/records/event.ts'
import type { AnswerOf, LiveBodies, LiveEvent } from './live-events.ts'
import { type AnswerStream, LiveHub } from './live-hub.ts'
import { endsLiveEvents, LiveQueue } from './live-queue.ts'
import { isUnreadable } from '../security/seal.ts'
import type { EventQuery } from '../store/store.ts'
import type { CallRecord } from '../store/records/call-record.ts'
import { type CallFacts, factsOf, shownAs, type TurnEventBodies } from './turn-events.ts'
import { collections } from '../store/collections.ts'

/** Human-readable text about an event. */
export interface EventNarration {
  /** For a call: its action in one line. */
  readonly narration?: string
  /** For a model's answer: the calls it requests, in one line. */
  readonly headline?: string
}

/** Creates the texts when an event is read, in the reader's language. */
export type Narrator = (event: EventRecord, locale: string) => Promise<EventNarration>

/** The start or the end of a turn, as readers see it. */
type TurnEvent = {
  [T in keyof TurnEventBodies]: Omit<EventRecord, 'type' | 'body'> & {
    readonly type: T
    readonly body: TurnEventBodies[T]
  }
}[keyof TurnEventBodies]

/**
 * An event as readers get it: with its cursor, the tool and id of its call, the outcome of a settled call or turn, and
 * the payload of an event a task emitted.
 */
export type FeedEvent = (EventRecord | TurnEvent) & {
  /** Pass it as `after` to read on behind this event. */
  readonly cursor: string
  /** The model's id of the call that the event is about, or the id of the turn. */
  readonly callId?: string
  /** The tool of the call that the event is about. */
  readonly tool?: string
  /** The outcome, for `call.settled`, `turn.ended` and `turn.failed`. */
  readonly outcome?: Outcome
  /** The payload, for `task.event`. */
  readonly payload?: Json
  /** Absent: the event is recorded. */
  readonly live?: undefined
} & EventNarration

interface FeedQuery {
  readonly of?: NonNullable<EventQuery['of']>
  readonly after: MaybePromise<Cursor> | undefined
  readonly signal?: AbortSignal
  /** Include live events. */
  readonly live?: boolean
  /** Language of the texts. */
  readonly narrate?: string
  readonly internal?: boolean
}

/**
 * A position in the feed, and the erasure count when its reader started: a reader may have missed events erased since.
 */
interface Cursor {
  readonly position: number
  readonly erasures: number
}

/** Options of `events()`. */
export interface ReadOptions {
  /**
   * The cursor of the last event you have; the read starts after it. `'now'`: only events that follow this call of
   * `events()`. Default: the beginning.
   */
  readonly after?: string
  /** Ends the read. */
  readonly signal?: AbortSignal
  /** Adds `narration` to calls and `headline` to model answers, in this language ('en', 'de'). Default: none. */
  readonly narrate?: string
  /** Shows everything as it is recorded: steps of the runtime, and turns as calls. Default: false. */
  readonly internal?: boolean
}

/** Reads the events after the cursor, then new ones; with `live`, progress and output as well. */
export interface ReadFeed {
  (options?: ReadOptions & { readonly live?: false }): AsyncIterable<FeedEvent>
  (options: ReadOptions & { readonly live: true }): AsyncIterable<FeedEvent | LiveEvent>
}

export const feedOptions = {
  after: option.anything,
  signal: option.abortSignal,
  live: option.boolean,
  narrate: { ...option.string, expected: "a language, such as 'en'" },
  internal: option.boolean,
} satisfies OptionTable<ReadOptions & { live?: boolean }>

const pageSize = 256
/** Calls whose tool and id are remembered, so that their events need no further read. */
const maxFacts = 1_024

export class Feed {
  readonly #host: Pick<Foundation, 'store' | 'redact' | 'knownSecrets' | 'clock'>
  readonly #narrator: Narrator
  /** Set while a reader waits for a write. */
  #stopListening: (() => void) | null = null
  readonly #live: LiveHub
  readonly #facts = new Map<string, CallFacts>()
  #wakeups = new Set<() => void>()
  #closed = false

  constructor(host: Pick<Foundation, 'store' | 'redact' | 'knownSecrets' | 'clock'>, narrator: Narrator) {
    this.#host = host
    this.#narrator = narrator
    this.#live = new LiveHub(host)
  }

  /** Sends progress or output of a running call to connected readers, in every process. */
  publish<T extends 'call.progress' | 'call.output'>(execution: Execution, type: T, body: LiveBodies[T]): void {
    this.#live.publish(execution, type, body)
  }

  /** Opens the stream of a model's answer. `tries` increases with every request for the same answer. */
  openAnswer(execution: Execution, of: AnswerOf, tries: number): AnswerStream {
    return this.#live.openAnswer(execution, of, tries)
  }

  /** The read function of one session, or of all sessions. */
  reader(of?: NonNullable<EventQuery['of']>): ReadFeed {
    const read = (options: ReadOptions & { live?: boolean } = {}): AsyncIterable<FeedEvent> => {
      checkOptions(options, feedOptions, 'events()')
      const { after, signal, live = false, narrate, internal = false } = options
      const narration = narrate === undefined ? {} : { narrate }
      const start = after === 'now' ? this.#now() : parseCursor(after)
      const query = { after: start, ...(of ? { of } : {}), live, internal, ...narration }
      return { [Symbol.asyncIterator]: () => this.#iterator(query, signal) as AsyncIterator<FeedEvent> }
    }
    return read as ReadFeed
  }

  /** A reader that stops (`break`, `return()`) ends at once, not with the next event. */
  #iterator(query: FeedQuery, signal: AbortSignal | undefined): AsyncIterator<FeedEvent | LiveEvent> {
    const stop = new AbortController()
    const events = this.#read({ ...query, signal: signal ? AbortSignal.any([signal, stop.signal]) : stop.signal })
    return {
      next: () => events.next(),
      return: () => {
        stop.abort()
        return events.return()
      },
    }
  }

  async *#read({
    of,
    after,
    signal,
    live: includesLive,
    narrate,
    internal,
  }: FeedQuery): AsyncGenerator<FeedEvent | LiveEvent, void, void> {
    const wake = (): void => this.#wake()
    const live = new LiveQueue(of ?? null, wake)
    const leave = includesLive ? this.#live.join(live) : () => {}
    signal?.addEventListener('abort', wake, { once: true })
    try {
      const start = await after
      let position = start?.position ?? 0
      if (of) await this.#host.knownSecrets.refresh(of)
      const { erasures } = start ?? { erasures: (await this.#host.store.erased()).count }
      for (let first = true; !this.#closed && !signal?.aborted; first = false) {
        // Subscribe before reading, so that a commit during the read triggers another read.
        const nextHint = this.#nextHint()
        // Taken before the read: what is recorded before a live event was sent is delivered before it.
        const taken = live.take(formatCursor(position, erasures))
        const events = await this.#host.store.events({ after: position, limit: pageSize, ...(of ? { of } : {}) })
        // Read the erasure count after the events, so that no erasure that happened before that read is overlooked.
        const erased = first || events.length > 0 ? await this.#host.store.erased(of) : undefined
        if (erased && erased.count > erasures && erased.position > position) {
          throw new PawlError(
            'cursor_expired',
            `The cursor is ${formatCursor(position, erasures)}; events up to position ${erased.position} were erased.`,
          )
        }
        if (includesLive && events.some(endsLiveEvents)) await this.#live.catchUp()
        for (const event of events) {
          if (this.#closed || signal?.aborted) return
          position = event.position
          yield* taken.before(event)
          await this.#host.knownSecrets.ensure(event)
          const feedEvent = await this.#toFeedEvent(event, formatCursor(position, erasures), internal === true)
          if (feedEvent)
            yield narrate === undefined ? feedEvent : { ...feedEvent, ...(await this.#narrator(event, narrate)) }
        }
        yield* taken.rest()
        if (events.length === 0 && live.isEmpty) await nextHint
      }
    } finally {
      leave()
      signal?.removeEventListener('abort', wake)
    }
  }

  close(): void {
    this.#closed = true
    this.#live.close()
    this.#wake()
  }

  #nextHint(): Promise<void> {
    this.#stopListening ??= this.#host.store.onHint(() => this.#wake())
    return new Promise((resolve) => this.#wakeups.add(resolve))
  }

  #wake(): void {
    this.#stopListening?.()
    this.#stopListening = null
    const wakeups = this.#wakeups
    this.#wakeups = new Set()
    for (const wake of wakeups) wake()
  }

  /** Null if the event is not shown. */
  async #toFeedEvent(event: EventRecord, cursor: string, internal: boolean): Promise<FeedEvent | null> {
    const { redact } = this.#host
    const { callId, tool, turn } = (await this.#factsOf(event.call)) ?? {}
    const about = { cursor, ...(callId === undefined ? {} : { callId }), ...(tool === undefined ? {} : { tool }) }
    if (event.type === 'task.event') return { ...event, ...about, payload: redact.deep(await this.#payloadOf(event)) }
    const outcome = event.type === 'call.settled' ? await this.#outcomeOf(event.call) : undefined
    const shown = internal ? event : shownAs(event, turn === undefined ? {} : { turn }, outcome)
    if (!shown) return null
    const body = event.type === 'call.settled' ? shown.body : redact.deep(shown.body)
    return { ...event, ...about, type: shown.type, body, ...(outcome ? { outcome } : {}) } as FeedEvent
  }

  /** Tool, call id and turn of a call; null if it is unreadable, erased, or the event is about none. */
  async #factsOf(call: string): Promise<CallFacts | null> {
    if (call === '') return null
    const known = this.#facts.get(call)
    if (known) return known
    const record = await this.#record(call)
    if (!record) return null
    const facts = factsOf(record)
    this.#facts.set(call, facts)
    const oldest = this.#facts.size > maxFacts ? this.#facts.keys().next().value : undefined
    if (oldest !== undefined) this.#facts.delete(oldest)
    return facts
  }

  /** Payload of an event a task emitted; null if it is unreadable or erased. */
  async #payloadOf({ tenant, session, body }: Extract<EventRecord, { type: 'task.event' }>): Promise<Json> {
    try {
      const document = await this.#host.store.document(
        collections.taskEvent.name({ tenant, session }, body.task, body.number),
      )
      return document ? fromRow(collections.taskEvent.parse(document.value).payload) : null
    } catch (error) {
      if (!isUnreadable(error)) throw error
      return null
    }
  }

  /** The outcome as readers may see it; undefined if the record is unreadable or erased. */
  async #outcomeOf(call: string): Promise<Outcome | undefined> {
    const text = (await this.#record(call))?.outcome
    if (!text) return undefined
    const { redact } = this.#host
    const outcome = decode(text) as unknown as Outcome
    // Only the model may see a secret that a tool reveals to it, so readers of the feed do not.
    if (outcome.status === 'success' && outcome.reveals) return { status: 'success', value: '[redacted]' }
    // Escapes in the recorded form may hide a secret, so only a form without them shows that there is none.
    return !text.includes('\\') && redact.text(text) === text ? outcome : redact.deep(outcome)
  }

  /** Undefined if the record is unreadable: the feed continues, and reading the call reports the error. */
  async #record(call: string): Promise<CallRecord | undefined> {
    try {
      return await this.#host.store.call(call)
    } catch (error) {
      if (!isUnreadable(error)) throw error
      return undefined
    }
  }

  /** The cursor behind the newest event. */
  #now(): MaybePromise<Cursor> {
    const { store } = this.#host
    return chain(store.lastPosition(), (position) =>
      chain(store.erased(), ({ count }) => ({ position, erasures: count })),
    )
  }
}

const formatCursor = (position: number, erasures: number): string =>
  erasures === 0 ? `p${position}` : `p${position}e${erasures}`

function parseCursor(cursor: string | undefined): Cursor | undefined {
  if (cursor === undefined) return undefined
  const match = /^p(\d{1,15})(?:e(\d{1,15}))?$/.exec(cursor)
  if (!match)
    throw new PawlError(
      'cursor_invalid',
      `The cursor ${JSON.stringify(cursor)} was not issued by this feed. ${errorTable.cursor_invalid.next}`,
    )
  return { position: Number(match[1]), erasures: Number(match[2] ?? 0) }
}
