// Sends live events to the readers of this process, and through the store's channel to those of other processes. Keeps
// the answers under way, so that a reader that joins in mid-answer gets the answer so far.

import type { MaybePromise } from '../core/maybe-promise.ts'
import type { Execution } from '../engine/engine.ts'
import type { Foundation } from '../engine/foundation.ts'
import type { ModelDelta } from '../models/model.ts'
import type { Scope } from '../core/scope.ts'
import type { LiveSubscription } from '../store/live-channel.ts'
import {
  type AnswerOf,
  type LiveBodies,
  type LiveEvent,
  type LiveSubject,
  type LiveType,
  PartialAnswer,
} from './live-events.ts'

/** A reader of live events in this process. */
export interface LiveReader {
  readonly of: Scope | null
  receive(event: LiveEvent): void
}

/** A message between processes: an event, or a part of an answer. */
type Message = LiveSubject &
  (
    | { readonly event: { [T in LiveType]: { type: T; body: LiveBodies[T] } }[LiveType] }
    | { readonly answer: AnswerOf; readonly round: number; readonly offset: number; readonly parts: ModelDelta[] }
    /** The answer is complete (`ended`), or was cut off and is requested again. */
    | { readonly answer: AnswerOf; readonly round: number; readonly over: 'ended' | 'retracted' }
  )

export const parseMessage = (text: string): Message => JSON.parse(text) as Message

const covers = (of: Scope | null, { tenant, session }: Scope): boolean =>
  of === null || (of.tenant === tenant && of.session === session)

const subjectOf = ({ request, callId }: Execution): LiveSubject => {
  const { tenant, session } = request.position
  return { tenant, session, call: request.uid, callId }
}

interface OpenAnswer {
  readonly subject: LiveSubject
  readonly answer: PartialAnswer
  /** Of an answer that this process produces: sends it so far to all readers. */
  readonly own?: OwnAnswer
  /** A part of the answer is missing, and the publisher was asked to send it again. */
  hasGap?: boolean
}

/** The deltas of one model request. */
export interface AnswerStream {
  push(delta: ModelDelta): void
  /** The answer was cut off: readers discard its deltas. */
  retract(): MaybePromise<void>
  /** The answer is complete; its record follows when this resolves. */
  end(): MaybePromise<void>
}

export class LiveHub {
  readonly #host: Pick<Foundation, 'store' | 'clock'>
  readonly #readers = new Set<LiveReader>()
  /** Answers under way, by the uid of their turn: those of this process, and those it hears of from others. */
  readonly #answers = new Map<string, OpenAnswer>()
  /** Subscriptions to the channel, one for each scope that has readers here. */
  readonly #subscriptions = new Map<string, { readonly subscription: LiveSubscription; readers: number }>()
  #stopListening: (() => void) | null = null
  #ownAnswers = 0

  constructor(host: Pick<Foundation, 'store' | 'clock'>) {
    this.#host = host
  }

  /** Adds a reader. It first gets the answers under way. Returns the function that removes it. */
  join(reader: LiveReader): () => void {
    this.#readers.add(reader)
    for (const { subject, answer, own } of this.#answers.values()) {
      if (!covers(reader.of, subject)) continue
      // An answer that nobody has read yet is sent to all readers once its messages are recorded.
      if (own && !own.isOpen) own.open()
      else for (const body of answer.from(0)) reader.receive(this.#event(subject, 'turn.delta', body))
    }
    const unsubscribe = this.#subscribe(reader.of)
    return () => {
      if (this.#readers.delete(reader)) unsubscribe()
    }
  }

  publish<T extends 'call.progress' | 'call.output'>(execution: Execution, type: T, body: LiveBodies[T]): void {
    const subject = subjectOf(execution)
    this.#deliver(subject, type, body)
    this.#send({ ...subject, event: { type, body } as never })
  }

  /** `tries` increases with every request for the same answer. */
  openAnswer(execution: Execution, of: AnswerOf, tries: number): AnswerStream {
    const subject = subjectOf(execution)
    const answer = new PartialAnswer(of, execution.generation * 1_000 + tries)
    const own = new OwnAnswer(
      () => execution.attached.flush(),
      () => this.#sendFrom(subject, answer, 0),
    )
    const close = (over: 'ended' | 'retracted'): MaybePromise<void> => {
      // Readers that wait for the first delta get it before the end.
      if (own.opening && !own.isOpen) return own.opening.then(() => closeNow(over))
      return closeNow(over)
    }
    const closeNow = (over: 'ended' | 'retracted'): MaybePromise<void> => {
      if (over === 'retracted') this.#deliver(subject, 'turn.retracted', of)
      this.#send({ ...subject, answer: of, round: answer.round, over })
      if (this.#answers.get(subject.call)?.answer === answer) {
        this.#answers.delete(subject.call)
        this.#countOwn(-1) // last: the channel knows the readers while something is under way
      }
      return this.#host.store.live?.flush() // before the answer is recorded
    }
    return {
      push: (delta) => {
        const offset = answer.size
        answer.add(delta)
        if (offset === 0) {
          this.#answers.set(subject.call, { subject, answer, own })
          this.#countOwn(1)
          // The channel reports a reader once; if it did so before this answer began, only `hasReaders` knows it.
          const isRead = [...this.#readers].some((reader) => covers(reader.of, subject))
          if (isRead || this.#host.store.live?.hasReaders(subject)) own.open()
        }
        if (own.isOpen) this.#sendFrom(subject, answer, offset)
      },
      retract: () => close('retracted'),
      end: () => (answer.size === 0 ? undefined : close('ended')),
    }
  }

  /** Resolves when the events that other processes have sent so far are delivered. */
  async catchUp(): Promise<void> {
    if (this.#subscriptions.size > 0) await this.#host.store.live?.catchUp()
  }

  close(): void {
    this.#stopListening?.()
    for (const { subscription } of this.#subscriptions.values()) subscription.stop()
    this.#subscriptions.clear()
    this.#readers.clear()
  }

  #event<T extends LiveType>(subject: LiveSubject, type: T, body: LiveBodies[T]): LiveEvent {
    const { tenant, session, call, callId } = subject
    return { live: true, type, tenant, session, call, callId, at: this.#host.clock.now(), body } as LiveEvent
  }

  /** `to`: only readers of exactly this scope. */
  #deliver<T extends LiveType>(subject: LiveSubject, type: T, body: LiveBodies[T], to?: { of: Scope | null }): void {
    if (this.#readers.size === 0) return
    const event = this.#event(subject, type, body)
    for (const reader of this.#readers)
      if (to ? keyOf(to.of) === keyOf(reader.of) : covers(reader.of, subject)) reader.receive(event)
  }

  #send(message: Message): void {
    const { live } = this.#host.store
    if (live?.hasReaders(message)) live.publish(message, JSON.stringify(message))
  }

  #sendFrom(subject: LiveSubject, answer: PartialAnswer, offset: number): void {
    const bodies = answer.from(offset)
    for (const body of bodies) this.#deliver(subject, 'turn.delta', body)
    const parts = offset === 0 ? [...answer.parts] : bodies.map(deltaOf)
    this.#send({ ...subject, answer: answer.of, round: answer.round, offset, parts })
  }

  /** While an answer is under way here, a process that subscribes gets it so far. */
  #countOwn(change: 1 | -1): void {
    this.#ownAnswers += change
    if (this.#ownAnswers === 0) {
      this.#stopListening?.()
      this.#stopListening = null
    } else this.#stopListening ??= this.#host.store.live?.onSubscribed((of) => this.#onSubscribed(of)) ?? null
  }

  #onSubscribed(of: Scope | null): void {
    for (const { subject, answer, own } of this.#answers.values()) {
      if (!own || !covers(of, subject)) continue
      if (!own.isOpen) own.open()
      else this.#send({ ...subject, answer: answer.of, round: answer.round, offset: 0, parts: [...answer.parts] })
    }
  }

  #subscribe(of: Scope | null): () => void {
    const { live } = this.#host.store
    if (!live) return () => {}
    const key = keyOf(of)
    let entry = this.#subscriptions.get(key)
    if (!entry) {
      const subscription = live.subscribe(of, (text) =>
        this.#receive(parseMessage(text), of, () => subscription.askAgain()),
      )
      this.#subscriptions.set(key, (entry = { subscription, readers: 0 }))
    }
    const { subscription } = entry
    entry.readers++
    return () => {
      const found = this.#subscriptions.get(key)
      if (!found || --found.readers > 0) return
      subscription.stop()
      this.#subscriptions.delete(key)
      // Without a subscription nothing says how these answers go on.
      for (const [call, { subject, own }] of this.#answers)
        if (!own && !this.#subscriptions.has('') && !this.#subscriptions.has(keyOf(subject))) this.#answers.delete(call)
    }
  }

  /** A message of another process. It arrives once for each subscription; offsets tell what is new. */
  #receive(message: Message, to: Scope | null, askAgain: () => void): void {
    const { tenant, session, call, callId } = message
    const subject = { tenant, session, call, callId }
    if ('event' in message) return this.#deliver(subject, message.event.type, message.event.body, { of: to })
    const { answer: of, round } = message
    const known = this.#answers.get(call)
    const age = known ? compareAnswers({ of, round }, known.answer) : 1
    if (known?.own || age < 0) return // this worker has taken the turn over, or the message is about an older request
    if ('over' in message) {
      this.#answers.delete(call)
      if (message.over === 'retracted') this.#deliver(subject, 'turn.retracted', of, { of: to })
      return
    }
    // The process that produced the earlier deltas died without retracting them.
    if (known && age > 0 && known.answer.of.step === of.step) this.#deliver(subject, 'turn.retracted', of)
    const open: OpenAnswer = known && age === 0 ? known : { subject, answer: new PartialAnswer(of, round) }
    this.#answers.set(call, open)
    const { answer } = open
    if (message.offset > answer.size) {
      if (!open.hasGap) askAgain()
      open.hasGap = true
      return
    }
    open.hasGap = false
    const received = new PartialAnswer(of, round)
    for (const part of message.parts) received.add(part)
    for (const body of received.from(answer.size - message.offset)) {
      const offset = answer.size
      answer.add(deltaOf(body))
      this.#deliver(subject, 'turn.delta', { ...body, offset })
    }
  }
}

/**
 * Whether an answer of this process is sent to readers. Without readers nothing is sent. Before the first delta is sent,
 * the messages that the model answers are recorded: readers get them first.
 */
class OwnAnswer {
  readonly #record: () => Promise<void>
  readonly #sendAll: () => void
  opening: Promise<void> | null = null
  isOpen = false

  constructor(record: () => Promise<void>, sendAll: () => void) {
    this.#record = record
    this.#sendAll = sendAll
  }

  open(): void {
    this.opening ??= this.#record().then(
      () => {
        this.isOpen = true
        this.#sendAll()
      },
      () => {}, // this worker has lost the turn, so its answer will not be recorded
    )
  }
}

const keyOf = (of: Scope | null): string => (of === null ? '' : JSON.stringify([of.tenant, of.session]))

function deltaOf(body: LiveBodies['turn.delta']): ModelDelta {
  const { turn: _turn, step: _step, offset: _offset, ...delta } = body
  return delta
}

/** Positive if the first answer was requested later. */
const compareAnswers = (a: Pick<PartialAnswer, 'of' | 'round'>, b: Pick<PartialAnswer, 'of' | 'round'>): number =>
  a.of.step - b.of.step || a.round - b.round
