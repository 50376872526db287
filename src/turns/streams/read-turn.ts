// Reads a turn as a sequence of parts: first what is recorded, then what happens, until the turn ends. Any process can
// read any turn, from its beginning and as often as it likes. The streams of a turn are built on this.

import { PawlError } from '../../core/errors.ts'
import type { Outcome } from '../../core/outcome.ts'
import { decode, type Json } from '../../core/tool-value.ts'
import type { FeedEvent } from '../../feed/event-feed.ts'
import type { LiveEvent } from '../../feed/live-events.ts'
import { callsIn } from '../../models/message.ts'
import type { TurnValue } from '../../models/turn-interface.ts'
import { waitOf } from '../../sessions/read-call-records.ts'
import { collections } from '../../store/collections.ts'
import { messageKey, stepBatch } from '../../store/records/conversation.ts'
import type { EventType } from '../../store/records/event.ts'
import { decisionOf } from '../../store/records/approval-request.ts'
import { type CallPosition, type CallRecord, waitTermsOf } from '../../store/records/call-record.ts'
import { decodeResolution } from '../../store/records/wait-resolution.ts'
import { unlessUnreadable } from '../../store/skip-unreadable.ts'
import { type MessageRecord, readMessage } from '../conversation/history.ts'
import { callsOnRecord } from '../conversation/repair-missing-results.ts'
import { shownTo } from '../conversation/session-messages.ts'
import type { TurnHost } from '../ports.ts'
import { AnswerParts } from './answer-parts.ts'
import type { CallState, CallView, TurnPart } from './turn-parts.ts'

const pageSize = 50

/** Events after which a call may run, wait or be settled. */
const changesCalls: ReadonlySet<string> = new Set<EventType>([
  'call.received',
  'call.started',
  'call.parked',
  'call.settled',
  'wait.opened',
  'wait.resolved',
])

/** `hasSettled`: the turn has an outcome, so a missing record was erased. */
export async function* readTurn(
  host: TurnHost,
  position: CallPosition,
  signal: AbortSignal,
  hasSettled: () => boolean,
): AsyncGenerator<TurnPart, void, void> {
  const { tenant, session } = position
  const reader = new TurnReader(host, position)
  while (!signal.aborted) {
    // What happens after this cursor arrives as an event. What happened before is read below.
    const after = await host.feed.cursor()
    yield* reader.readRecord(hasSettled())
    if (reader.hasEnded) return
    try {
      for await (const event of host.feed.reader({ tenant, session })({ after, live: true, signal })) {
        yield* reader.receive(event)
        if (reader.hasEnded) return
      }
      if (signal.aborted) return
      throw new PawlError('runtime_closed') // a stream that just ended would look like a complete answer
    } catch (error) {
      // This reader was too slow, or events were erased: go on from the record.
      if (!(error instanceof PawlError) || (error.code !== 'reader_too_slow' && error.code !== 'cursor_expired'))
        throw error
    }
  }
}

/** The recorded parts of a turn, given its messages. */
export async function* recordedParts(
  host: TurnHost,
  position: CallPosition,
  records: readonly MessageRecord[],
): AsyncGenerator<TurnPart, void, void> {
  yield* new TurnReader(host, position).readMessages(records)
}

interface TrackedCall {
  readonly view: CallView
  /** Uid of its record, once it is known. */
  uid: string | null
  state: CallState['is'] | null
  waitId: string | null
}

class TurnReader {
  hasEnded = false
  readonly #host: TurnHost
  readonly #position: CallPosition
  /** Number of the last message that was read. */
  #lastMessage = 0
  /** The last answer of which everything was delivered. */
  #answered: MessageRecord | null = null
  /** The answer under way. */
  #open: AnswerParts | null = null
  /** Calls of the last answer. */
  #calls: TrackedCall[] = []
  /** They run one after another: each is recorded when it starts. */
  #isSequential = false
  readonly #callIds = new Set<string>()
  readonly #decidedWaits = new Set<string>()
  /** Unique ids of the calls of the provider's tools, by their own id. */
  readonly #providerIds = new Map<string, string>()
  #isWaiting = false
  /** The results of the last answer are in the conversation, as placeholders for calls that wait: the turn goes on. */
  #hasResults = false
  /** The record of the turn was found. If it is missing later, it was erased. */
  #wasRecorded = false
  /** The outcome of a turn that was handed over, while its calls run. */
  #handedOver: Outcome<TurnValue> | null = null

  constructor(host: TurnHost, position: CallPosition) {
    this.#host = host
    this.#position = position
  }

  get #step(): number {
    return this.#answered?.step ?? 0
  }

  /** Delivers what is recorded and was not delivered yet. */
  async *readRecord(isSettled: boolean): AsyncGenerator<TurnPart> {
    const { store, knownSecrets } = this.#host
    await knownSecrets.refresh(this.#position)
    if (this.#open) yield* this.#open.reset() // its deltas arrive again, from the beginning
    const call = await store.callAt(this.#position)
    if (!call) {
      if (this.#wasRecorded || isSettled) yield* this.#end(undefined)
      return
    }
    this.#wasRecorded = true
    yield* this.readMessages(await this.#newMessages())
    if (call.state === 'settled') yield* this.#end(await this.#host.feed.outcomeOf(call.uid))
  }

  /** True if every call is settled, waits, or is not started before another one is settled. */
  get #isAtRest(): boolean {
    const started = this.#isSequential ? this.#calls.filter(({ uid }) => uid !== null) : this.#calls
    return started.every(({ state }) => state === 'waiting' || state === 'settled')
  }

  async *readMessages(records: readonly MessageRecord[]): AsyncGenerator<TurnPart> {
    // The results of an answer are delivered before the next answer.
    yield* this.#updateCalls()
    for (const record of records) {
      yield* this.#readAnswer(record)
      if (record.message.role === 'assistant') yield* this.#updateCalls()
    }
    yield* this.#checkWaiting()
  }

  async *receive(event: FeedEvent | LiveEvent): AsyncGenerator<TurnPart> {
    if (event.type.startsWith('turn.')) return yield* this.#receiveOfTurn(event)
    if (event.type === 'decision.made') return yield* this.#decided(event)
    if (event.type === 'message.added') {
      if (event.body.role !== 'tool' || event.body.turn !== this.#position.id) return
      yield* this.#updateCalls()
      return yield* this.#endUnstarted()
    }
    if (event.type === 'call.progress') {
      const found = this.#calls.find(({ uid }) => uid === event.call)
      if (found) yield { type: 'progress', call: found.view, progress: event.body }
    } else if (changesCalls.has(event.type)) yield* this.#refreshCalls(event.call)
  }

  async *#receiveOfTurn(event: FeedEvent | LiveEvent): AsyncGenerator<TurnPart> {
    const { id } = this.#position
    switch (event.type) {
      case 'turn.delta':
        if (event.body.turn !== id || event.body.step <= this.#step) return
        yield* this.#openAnswer(event.body.step)
        return yield* (this.#open as AnswerParts).push(event.body)
      case 'turn.retracted':
        if (event.body.turn === id && event.body.step === this.#open?.step) yield* this.#open.reset()
        return
      case 'turn.answered': {
        if (event.body.turn !== id || event.body.step <= this.#step) return
        const row = await this.#host.store.document(collections.message.name(this.#position, event.body.message))
        if (row) yield* this.#readAnswer(readMessage(row))
        return
      }
      case 'turn.ended':
      case 'turn.failed':
        if (event.body.turn === id) yield* this.#end(event.outcome)
        return
      default:
    }
  }

  *#openAnswer(step: number): Generator<TurnPart> {
    if (this.#open?.step === step) return
    this.#isWaiting = false
    this.#open = new AnswerParts(step, this.#callIds)
    yield { type: 'step', step }
  }

  async *#readAnswer(record: MessageRecord): AsyncGenerator<TurnPart> {
    this.#lastMessage = Math.max(this.#lastMessage, record.number)
    const { message } = shownTo(this.#host, this.#position, record)
    if (message.role === 'tool' && record.turn === this.#position.id) yield* this.#endUnstarted()
    if (message.role !== 'assistant' || record.turn !== this.#position.id || record.step <= this.#step) return
    const { step } = record
    yield* this.#openAnswer(step)
    const answer = this.#open as AnswerParts
    yield* answer.complete(message.parts)
    const { parts } = message
    const inputs = new Map(
      parts.flatMap((part) => (part.type === 'call' || part.type === 'provider_call' ? [[part.id, part.input]] : [])),
    )
    const own = callsIn(message)
    const isOwn = answer.calls.filter(({ isProviders }) => !isProviders)
    const calls = isOwn.map(({ uniqueId: id, name }, index): CallView => {
      return { step, id, name, input: parsedInput(own[index]?.input ?? '') }
    })
    const providerCalls = answer.calls.flatMap(({ id, uniqueId, name, isProviders }): CallView[] => {
      if (!isProviders) return []
      this.#providerIds.set(id, uniqueId)
      return [{ step, id: uniqueId, name, input: parsedInput(inputs.get(id) ?? '') }]
    })
    for (const { id } of answer.calls) this.#callIds.add(id)
    this.#open = null
    this.#answered = record
    this.#hasResults = false
    this.#isSequential = false
    this.#calls = calls.map((view) => ({ view, uid: null, state: null, waitId: null }))
    const results = parts.flatMap((part) => {
      const id = part.type === 'provider_result' ? this.#providerIds.get(part.callId) : undefined
      return id !== undefined && part.type === 'provider_result'
        ? [{ id, output: part.output, failed: part.failed === true }]
        : []
    })
    const sources = parts.filter((part) => part.type === 'source')
    yield { type: 'answered', step, calls, provider: { calls: providerCalls, results, sources } }
  }

  async *#refreshCalls(uid: string): AsyncGenerator<TurnPart> {
    yield* this.#updateCalls(uid)
    yield* this.#checkWaiting()
  }

  /** Delivers the calls of the last answer whose state has changed. `uid`: only this call, if it is one of them. */
  async *#updateCalls(uid?: string): AsyncGenerator<TurnPart> {
    const known = uid === undefined ? undefined : this.#calls.find((call) => call.uid === uid)
    if (known) {
      const record = await unlessUnreadable(() => this.#host.store.call(known.uid as string))
      if (record) yield* this.#update(known, record)
    } else if (this.#answered && this.#calls.some(({ state }) => state !== 'settled')) {
      const records = await callsOnRecord(this.#host, this.#position, this.#answered)
      for (const [index, tracked] of this.#calls.entries()) {
        const record = records[index]
        if (record && tracked.state !== 'settled') yield* this.#update(tracked, record)
      }
    }
  }

  /** The results are in the conversation: a call that has no record by now will not run. */
  *#endUnstarted(): Generator<TurnPart> {
    this.#hasResults = true
    for (const tracked of this.#calls) {
      if (tracked.state !== null) continue
      tracked.state = 'settled'
      const cancellation = { message: 'It was not started', source: 'runtime' } as const
      yield {
        type: 'state',
        call: tracked.view,
        state: { is: 'settled', outcome: { status: 'cancelled', cancellation } },
      }
    }
  }

  *#checkWaiting(): Generator<TurnPart> {
    const isOver = this.#open !== null || this.#hasResults
    const isWaiting = !isOver && this.#isAtRest && this.#calls.some(({ state }) => state === 'waiting')
    if (isWaiting && !this.#isWaiting) yield { type: 'waiting' }
    this.#isWaiting = isWaiting
    if (this.#handedOver && this.#isAtRest) yield* this.#deliverEnd(this.#handedOver)
  }

  async *#update(tracked: TrackedCall, record: CallRecord): AsyncGenerator<TurnPart> {
    tracked.uid = record.uid
    const { batch } = record.position
    this.#isSequential = batch !== stepBatch(this.#position.id, tracked.view.step)
    const state = await this.#stateOf(record)
    const waitId = state.is === 'waiting' ? state.waitId : tracked.waitId
    if (tracked.state === 'settled' || (tracked.state === state.is && tracked.waitId === waitId)) return
    if (state.is === 'settled') yield* this.#pastDecisions(tracked, record)
    tracked.state = state.is
    tracked.waitId = waitId
    yield { type: 'state', call: tracked.view, state }
  }

  /** Approvals of a settled call that a reader that joined late has not seen. */
  async *#pastDecisions(tracked: TrackedCall, { uid }: CallRecord): AsyncGenerator<TurnPart> {
    for (const wait of await this.#host.store.waitsOf(uid)) {
      if (wait.resolution === null || waitTermsOf(wait).asks?.kind !== 'approval') continue
      const decision = decisionOf(decodeResolution(wait.resolution))
      if (!decision || this.#decidedWaits.has(wait.id)) continue
      if (tracked.waitId !== wait.id)
        yield { type: 'state', call: tracked.view, state: { is: 'waiting', for: 'approval', waitId: wait.id } }
      yield this.#decisionPart(tracked, wait.id, decision.decision !== 'deny', decision.votes.at(-1)?.reason)
    }
  }

  #decisionPart(tracked: TrackedCall, waitId: string, approved: boolean, reason: string | undefined): TurnPart {
    this.#decidedWaits.add(waitId)
    const text = reason === undefined ? {} : { reason: this.#host.redact.text(reason) }
    return { type: 'decided', call: tracked.view, waitId, approved, ...text }
  }

  async #stateOf(record: CallRecord): Promise<CallState> {
    const { store, feed } = this.#host
    if (record.state === 'settled') return { is: 'settled', outcome: (await feed.outcomeOf(record.uid)) ?? null }
    const wait = await waitOf(record, store)
    return wait ? { is: 'waiting', for: wait.for, waitId: wait.waitId } : { is: 'running' }
  }

  /** A decision that ends the wait: a vote of a quorum that is not complete does not. */
  async *#decided({ body, call }: Extract<FeedEvent, { type: 'decision.made' }>): AsyncGenerator<TurnPart> {
    const tracked = this.#calls.find(({ waitId }) => waitId === body.wait)
    const isVote = body.decision !== 'deny' && body.votes !== undefined && body.votes.have < body.votes.need
    if (tracked && !isVote && body.asks === 'approval' && !this.#decidedWaits.has(body.wait))
      yield this.#decisionPart(tracked, body.wait, body.decision !== 'deny', body.reason)
    yield* this.#refreshCalls(call)
  }

  /** A turn that was handed over has calls that may have been decided since: their results belong to this stream. */
  *#end(given: Outcome | undefined): Generator<TurnPart> {
    // Unreadable or erased since.
    const gone: Outcome = { status: 'cancelled', cancellation: { message: 'Its record is gone', source: 'runtime' } }
    const outcome = (given ?? gone) as unknown as Outcome<TurnValue>
    const isHandedOver = outcome.status === 'success' && outcome.value.end === 'handed_over'
    if (isHandedOver && !this.#isAtRest) this.#handedOver = outcome
    else yield* this.#deliverEnd(outcome)
  }

  *#deliverEnd(outcome: Outcome<TurnValue>): Generator<TurnPart> {
    this.hasEnded = true
    yield { type: 'ended', outcome }
  }

  /** Messages of the turn that were not read yet, oldest first. Reads back from the newest message. */
  async #newMessages(): Promise<MessageRecord[]> {
    const { tenant, session, id } = this.#position
    const found: MessageRecord[] = []
    for (let after = '~'; ;) {
      const query = { of: collections.message.of, tenant, session, after, limit: pageSize, newest: true as const }
      const rows = await this.#host.store.documentsOf(query)
      for (const row of rows) {
        const record = readMessage(row)
        // Messages of one turn are next to each other; those of later turns come first.
        const isBefore = record.number <= this.#lastMessage || (found.length > 0 && record.turn !== id)
        if (isBefore) return found.toReversed()
        if (record.turn === id) found.push(record)
      }
      const last = rows.at(-1)
      if (!last || rows.length < pageSize || last.key <= messageKey(1)) return found.toReversed()
      after = last.key
    }
  }
}

/** Invalid JSON is shown as text. */
function parsedInput(input: string): Json {
  try {
    return input.trim() === '' ? {} : decode(input)
  } catch {
    return input
  }
}
