// FEED: facts from a cursor, then live, without gap or repeat (FEED-1). The store is the truth; a hint only says "look again".

import { PawlError } from '../core/errors.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Redactor } from '../security/redact.ts'
import { decode, fromRow, type Json } from '../core/value.ts'
import type { EventRecord } from '../store/records/event.ts'
import { emittedName } from '../store/records/task-record.ts'
import { isUnreadable } from '../security/seal.ts'
import type { EventQuery, Store } from '../store/store.ts'

/** What people read of an event. */
export interface EventNarration {
  /** Of a call: what it does, in one line. */
  readonly narration?: string
  /** Of a model's answer: what it asks for, in one line. */
  readonly headline?: string
}

/** Made when the event is handed out, in the reader's language. */
export type Narrator = (event: EventRecord, locale: string) => Promise<EventNarration>

/** An event as readers get it: with its cursor, the outcome of a call that settled, and the payload of what a task emitted. */
export type FeedEvent = EventRecord & {
  readonly cursor: string
  readonly outcome?: Outcome
  readonly payload?: Json
  readonly live?: undefined
} & EventNarration

/** Told to those who listen at that moment, and not kept: it has no cursor. */
export interface LiveEvent {
  readonly live: true
  readonly type: 'call.progress' | 'call.output' | 'turn.delta' | 'turn.retracted'
  readonly tenant: string
  readonly session: string
  readonly call: string
  readonly callId: string
  readonly at: number
  readonly body: object
}

interface FeedQuery {
  readonly of?: NonNullable<EventQuery['of']>
  readonly after: Cursor | undefined
  readonly signal?: AbortSignal
  /** Tell what is not kept, too. */
  readonly live?: boolean
  /** In which language people read it. */
  readonly narrate?: string
}

/** A place in the feed, and the number of the last erasure that its reader began with: what was taken since, it may have missed. */
interface Cursor {
  readonly position: number
  readonly erasures: number
}

interface ReadOptions {
  readonly after?: string
  readonly signal?: AbortSignal
  /** Calls get a `narration` and answers of models a `headline`, in this language: 'en', 'de'. */
  readonly narrate?: string
}

/** How a feed is read: events on record after the cursor, then the new ones; with `live`, progress and output as well. */
export interface ReadFeed {
  (options?: ReadOptions & { readonly live?: false }): AsyncIterable<FeedEvent>
  (options: ReadOptions & { readonly live: true }): AsyncIterable<FeedEvent | LiveEvent>
}

const page = 256
/** Live events that a slow reader may lag behind; older ones are dropped for it. */
const mostLive = 256

export class Feed {
  readonly #store: Store
  readonly #redact: Redactor
  readonly #narrator: Narrator
  readonly #stopListening: () => void
  readonly #learn: (of: NonNullable<EventQuery['of']>) => Promise<void>
  readonly #readers = new Set<{ of: FeedQuery['of']; live: LiveEvent[] }>()
  #wakes = new Set<() => void>()
  #closed = false

  /** `learn`: comes to know the secrets of a session, whoever has set them. */
  constructor(
    store: Store,
    redact: Redactor,
    narrator: Narrator,
    learn: (of: NonNullable<EventQuery['of']>) => Promise<void>,
  ) {
    this.#learn = learn
    this.#store = store
    this.#redact = redact
    this.#narrator = narrator
    this.#stopListening = store.onHint(() => this.#wake())
  }

  /** Tells listeners something that is not kept. Costs nothing when nobody listens. */
  publish(event: LiveEvent): void {
    for (const { of, live } of this.#readers) {
      if (of && (of.tenant !== event.tenant || of.session !== event.session)) continue
      live.push(event)
      if (live.length > mostLive) live.shift()
    }
    if (this.#readers.size > 0) this.#wake()
  }

  /** The reading function of a session, or of all. */
  reader(of?: NonNullable<EventQuery['of']>): ReadFeed {
    const read = ({
      after,
      signal,
      live,
      narrate,
    }: ReadOptions & { live?: boolean } = {}): AsyncIterable<FeedEvent> => {
      const speaking = narrate === undefined ? {} : { narrate: checkedLocale(narrate) }
      const query = { after: cursorOf(after), ...(of ? { of } : {}), ...(live ? { live } : {}), ...speaking }
      return { [Symbol.asyncIterator]: () => this.#iterator(query, signal) as AsyncIterator<FeedEvent> }
    }
    return read as ReadFeed
  }

  /** A reader that is left (`break`, `return()`) ends at once, not with the next event. */
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
    live: wantsLive,
    narrate,
  }: FeedQuery): AsyncGenerator<FeedEvent | LiveEvent, void, void> {
    let at = after?.position ?? 0
    const reader = { of, live: [] as LiveEvent[] }
    if (wantsLive) this.#readers.add(reader)
    const wake = (): void => this.#wake()
    signal?.addEventListener('abort', wake, { once: true })
    try {
      if (of) await this.#learn(of)
      const { erasures } = after ?? { erasures: (await this.#store.erased()).count }
      for (let first = true; !this.#closed && !signal?.aborted; first = false) {
        // Taken before the read: what is committed during it wakes us again.
        const news = this.#news()
        const events = await this.#store.events({ after: at, limit: page, ...(of ? { of } : {}) })
        // Asked after the read: what was taken before it is known then.
        const erased = first || events.length > 0 ? await this.#store.erased(of) : undefined
        if (erased && erased.count > erasures && erased.position > at) {
          throw new PawlError(
            'cursor_expired',
            `It is ${cursorAt(at, erasures)}; events up to position ${erased.position} were erased.`,
          )
        }
        for (const event of events) {
          if (this.#closed || signal?.aborted) return
          at = event.position
          const shown = await this.#shown(event, cursorAt(at, erasures))
          yield narrate === undefined ? shown : { ...shown, ...(await this.#narrator(event, narrate)) }
        }
        for (let live = reader.live.shift(); live; live = reader.live.shift()) yield live
        if (events.length === 0) await news
      }
    } finally {
      this.#readers.delete(reader)
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

  async #shown(event: EventRecord, cursor: string): Promise<FeedEvent> {
    if (event.type === 'task.event')
      return { ...event, cursor, payload: this.#redact.deep(await this.#payloadOf(event)) }
    if (event.type !== 'call.settled') return { ...event, body: this.#redact.deep(event.body), cursor } as FeedEvent
    const text = await this.#outcomeOf(event.call)
    if (!text) return { ...event, cursor }
    const outcome = decode(text) as unknown as Outcome
    // What a tool shows the model on purpose is for the model.
    if (outcome.status === 'success' && outcome.reveals)
      return { ...event, cursor, outcome: { status: 'success', value: '[redacted]' } }
    return { ...event, cursor, outcome: this.#redact.text(text) === text ? outcome : this.#redact.deep(outcome) }
  }

  /** What a task emitted; null where it cannot be opened, or was forgotten. */
  async #payloadOf({ tenant, session, body }: Extract<EventRecord, { type: 'task.event' }>): Promise<Json> {
    try {
      const kept = await this.#store.document(emittedName({ tenant, session }, body.task, body.number))
      return kept ? fromRow((JSON.parse(kept.value) as { payload: unknown }).payload) : null
    } catch (error) {
      if (!isUnreadable(error)) throw error
      return null
    }
  }

  /** None where it cannot be opened: the feed goes on, and whoever asks for the call hears why. */
  async #outcomeOf(call: string): Promise<string | null> {
    try {
      return (await this.#store.call(call))?.outcome ?? null
    } catch (error) {
      if (!isUnreadable(error)) throw error
      return null
    }
  }
}

function checkedLocale(locale: unknown): string {
  if (typeof locale === 'string') return locale
  throw new PawlError(
    'config_invalid',
    `narrate is ${JSON.stringify(locale)}; it must be the language of the reader, such as 'en'.`,
  )
}

const cursorAt = (position: number, erasures: number): string =>
  erasures === 0 ? `p${position}` : `p${position}e${erasures}`

/** The place a cursor stands for. */
function cursorOf(cursor: string | undefined): Cursor | undefined {
  if (cursor === undefined) return undefined
  const match = /^p(\d{1,15})(?:e(\d{1,15}))?$/.exec(cursor)
  if (!match) throw new PawlError('cursor_invalid', `It is ${JSON.stringify(cursor)}.`)
  return { position: Number(match[1]), erasures: Number(match[2] ?? 0) }
}
