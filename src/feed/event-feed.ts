// The feed: recorded events after a cursor, then new ones, without gaps or duplicates. The store is the source of
// truth; a hint only triggers another read. Sessions and the runtime hand out readers of it.

import { checkOptions } from '../core/check-options.ts'
import { errorTable, PawlError } from '../core/errors.ts'
import { chain, type MaybePromise } from '../core/maybe-promise.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Execution } from '../engine/engine.ts'
import type { Foundation } from '../engine/foundation.ts'
import { decode, fromRow, type Json, defined } from '../core/tool-value.ts'
import type { EventRecord } from '../store/records/event.ts'
import type { AnswerOf, LiveBodies, LiveEvent } from './live-events.ts'
import { type Cursor, formatCursor, parseCursor } from './cursor.ts'
import { type AnswerStream, LiveHub } from './live-hub.ts'
import { endsLiveEvents, LiveQueue } from './live-queue.ts'
import {
  feedOptions,
  type ReadOptions,
  type RecentEventsQuery,
  runtimeFeedOptions,
  type RuntimeReadOptions,
} from './read-options.ts'
import { recentEvents } from './recent-events.ts'
import { noEvents, pageSize, SharedReads } from './shared-reads.ts'
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

/** A page of recent events. */
export interface RecentEventPage {
  /** Newest first, as they are recorded. */
  readonly events: readonly FeedEvent[]
  /** Pass it as `before` for the next page, which has older events; null at the end. */
  readonly next: string | null
}

interface FeedQuery {
  readonly of?: NonNullable<EventQuery['of']>
  readonly tenant?: string
  readonly after: MaybePromise<Cursor> | undefined
  /** Ends the read behind the events that are recorded when it begins. */
  readonly untilNow?: boolean
  readonly signal?: AbortSignal
  /** Include live events. */
  readonly live?: boolean
  /** Language of the texts. */
  readonly narrate?: string
  readonly internal?: boolean
}

/** Reads the events after the cursor, then new ones; with `live`, progress and output as well. */
export interface ReadFeed<Options extends ReadOptions = ReadOptions> {
  (options?: Options & { readonly live?: false }): AsyncIterable<FeedEvent>
  (options: Options & { readonly live: true; readonly until?: undefined }): AsyncIterable<FeedEvent | LiveEvent>
}

/** Calls whose tool and id are remembered, so that their events need no further read. */
const maxFacts = 1_024

export class Feed {
  readonly #host: Pick<Foundation, 'store' | 'redact' | 'knownSecrets' | 'clock'>
  readonly #narrator: Narrator
  /** Set while a reader waits for a write. */
  #stopListening: (() => void) | null = null
  readonly #live: LiveHub
  readonly #reads: SharedReads
  readonly #facts = new Map<string, CallFacts>()
  #wakeups = new Set<() => void>()
  /** How readers see the events of a page they share. */
  readonly #shown = new WeakMap<EventRecord, { readonly as: string; readonly event: Promise<FeedEvent | null> }>()
  #closed = false

  constructor(host: Pick<Foundation, 'store' | 'redact' | 'knownSecrets' | 'clock'>, narrator: Narrator) {
    this.#host = host
    this.#narrator = narrator
    this.#live = new LiveHub(host)
    this.#reads = new SharedReads(host.store)
  }

  /** Sends progress or output of a running call to connected readers, in every process. */
  publish<T extends 'call.progress' | 'call.output'>(execution: Execution, type: T, body: LiveBodies[T]): void {
    this.#live.publish(execution, type, body)
  }

  /** Opens the stream of a model's answer. `tries` increases with every request for the same answer. */
  openAnswer(execution: Execution, of: AnswerOf, tries: number): AnswerStream {
    return this.#live.openAnswer(execution, of, tries)
  }

  /** The cursor behind the newest event. */
  async cursor(): Promise<string> {
    const { position, erasures } = await this.#now()
    return formatCursor(position, erasures)
  }

  /** The read function of one session. */
  reader(of: NonNullable<EventQuery['of']>): ReadFeed {
    const read = (options: ReadOptions & { live?: boolean } = {}): AsyncIterable<FeedEvent | LiveEvent> => {
      checkOptions(options, feedOptions, 'events()')
      return this.#iterable({ of }, options)
    }
    return read as ReadFeed
  }

  /** The read function of all sessions, or of those of one tenant. */
  readAll(): ReadFeed<RuntimeReadOptions> {
    const read = (options: RuntimeReadOptions & { live?: boolean } = {}): AsyncIterable<FeedEvent | LiveEvent> => {
      checkOptions(options, runtimeFeedOptions, 'events()')
      return this.#iterable(options.tenant === undefined ? {} : { tenant: options.tenant }, options)
    }
    return read as ReadFeed<RuntimeReadOptions>
  }

  recent(query: RecentEventsQuery): Promise<RecentEventPage> {
    return recentEvents(this.#host.store, query, (event) => this.#show(event, formatCursor(event.position, 0), true))
  }

  #iterable(
    scope: Pick<FeedQuery, 'of' | 'tenant'>,
    { after, until, signal, live = false, narrate, internal = false }: ReadOptions & { live?: boolean },
  ): AsyncIterable<FeedEvent | LiveEvent> {
    if (until !== undefined && live)
      throw new PawlError(
        'config_invalid',
        "`until: 'now'` and `live` are both set: live events have no end. Pass one.",
      )
    const narration = narrate === undefined ? {} : { narrate }
    const start = after === 'now' ? this.#now() : after === undefined ? undefined : parseCursor(after)
    const query = { ...scope, after: start, untilNow: until === 'now', live, internal, ...narration }
    return { [Symbol.asyncIterator]: () => this.#iterator(query, signal) }
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
    tenant,
    after,
    untilNow,
    signal,
    live: includesLive,
    narrate,
    internal,
  }: FeedQuery): AsyncGenerator<FeedEvent | LiveEvent, void, void> {
    // Wakes only this reader: a live event of one session is no reason for the others to look.
    let wakeThis = (): void => {}
    const wake = (): void => wakeThis()
    const live = new LiveQueue(of ?? null, wake, tenant)
    const leave = includesLive ? this.#live.join(live) : () => {}
    signal?.addEventListener('abort', wake, { once: true })
    try {
      const start = await after
      if (start) await this.#checkIssued(start)
      let position = start?.position ?? 0
      const end = untilNow ? await this.#host.store.lastPosition() : Infinity
      if (of) await this.#host.knownSecrets.refresh(of)
      const { erasures } = start ?? { erasures: (await this.#host.store.erased()).count }
      /** Everything recorded up to here was read. */
      let readTo = position
      for (let first = true; !this.#closed && !signal?.aborted; first = false) {
        // Subscribe before reading, so that a commit during the read triggers another read.
        const { hint: nextHint, wake: wakeNow } = this.#nextHint()
        wakeThis = wakeNow
        // Taken before the read: what is recorded before a live event was sent is delivered before it.
        const taken = live.take(formatCursor(position, erasures))
        const newest = includesLive ? await this.#reads.newestPosition() : Infinity
        const hasNew = first || newest > readTo
        const { events, erased = first ? await this.#host.store.erased(of) : undefined } = hasNew
          ? await this.#reads.page(of, position)
          : noEvents
        readTo = events.length < pageSize && includesLive ? Math.max(readTo, newest) : readTo
        if (erased && erased.count > erasures && erased.position > position) {
          throw new PawlError(
            'cursor_expired',
            `The cursor is ${formatCursor(position, erasures)}; events up to position ${erased.position} were erased.`,
          )
        }
        if (includesLive && events.some(endsLiveEvents)) await this.#live.catchUp()
        for (const event of events) {
          if (this.#closed || signal?.aborted || event.position > end) return
          position = event.position
          if (tenant !== undefined && event.tenant !== tenant) continue
          for (const earlier of taken.before(event)) yield earlier
          const feedEvent = await this.#show(event, formatCursor(position, erasures), internal === true)
          if (feedEvent)
            yield narrate === undefined ? feedEvent : { ...feedEvent, ...(await this.#narrator(event, narrate)) }
        }
        for (const later of taken.rest()) yield later
        if (position >= end || (untilNow && events.length < pageSize)) return
        // A reader of one tenant may skip many pages. In between, other work runs, such as the caller's abort.
        if (tenant !== undefined && events.length === pageSize) await new Promise((resolve) => setImmediate(resolve))
        if (events.length === 0 && live.isEmpty) await nextHint
        else wakeNow()
      }
    } finally {
      leave()
      wakeThis()
      signal?.removeEventListener('abort', wake)
    }
  }

  /** A cursor of another store, or of this one before a backup was restored, would deliver nothing for a long time. */
  async #checkIssued({ position, erasures }: Cursor): Promise<void> {
    const newest = position === 0 ? 0 : await this.#reads.newestPosition()
    if (position <= newest) return
    throw new PawlError(
      'cursor_invalid',
      `The cursor is ${formatCursor(position, erasures)}, but the newest event has position ${newest}. ` +
        errorTable.cursor_invalid.next,
    )
  }

  close(): void {
    this.#closed = true
    this.#live.close()
    this.#wake()
  }

  #nextHint(): { readonly hint: Promise<void>; wake(): void } {
    this.#stopListening ??= this.#host.store.onHint(() => this.#wake())
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wakeups.add(resolve)
    return {
      hint: promise,
      wake: () => {
        this.#wakeups.delete(resolve)
        resolve()
      },
    }
  }

  /** Null if the event is not shown. */
  #show(event: EventRecord, cursor: string, internal: boolean): Promise<FeedEvent | null> {
    const as = `${cursor} ${internal}`
    const known = this.#shown.get(event)
    if (known?.as === as) return known.event
    const show = async (): Promise<FeedEvent | null> => {
      await this.#host.knownSecrets.ensure(event)
      return this.#toFeedEvent(event, cursor, internal)
    }
    const shown = { as, event: show() }
    this.#shown.set(event, shown)
    return shown.event
  }

  #wake(): void {
    this.#stopListening?.()
    this.#stopListening = null
    const wakeups = this.#wakeups
    this.#wakeups = new Set()
    for (const wake of wakeups) wake()
  }

  async #toFeedEvent(event: EventRecord, cursor: string, internal: boolean): Promise<FeedEvent | null> {
    const { redact } = this.#host
    const { callId, tool, turn } = (await this.#factsOf(event.call)) ?? {}
    const about = { cursor, ...redact.deep(defined({ callId, tool })) } // a model chose both
    if (event.type === 'task.event') return { ...event, ...about, payload: redact.deep(await this.#payloadOf(event)) }
    const outcome = event.type === 'call.settled' ? await this.outcomeOf(event.call) : undefined
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
  async outcomeOf(call: string): Promise<Outcome | undefined> {
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
