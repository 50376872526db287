// A call this worker holds: its record as far as we have written it, and writes that are checked against the fence. When a write is
// refused, or the lease may have been lost, the execution stops counting.

import { PawlError } from '../../../core/errors.ts'
import type { OutcomeStatus } from '../../../core/outcome.ts'
import {
  type CallProgress,
  type CallRecord,
  checkMove,
  progressOf,
  type StepRecord,
} from '../../../store/records/call-record.ts'
import {
  type EventBodies,
  eventOf,
  type EventSubject,
  type EventType,
  type NewEvent,
} from '../../../store/records/event.ts'
import { accountedFor } from '../../../store/records/call-times.ts'
import { attachmentsIn, type AttachmentUse } from '../../../store/records/attachment-refs.ts'
import type { AttachmentRecord, Change, Guard, Written } from '../../../store/store.ts'
import { NoRoom, type Stop } from '../../engine.ts'
import { type AttachedToCommit, type PendingWrites, callIn, joined, nothingAlong } from './pending-writes.ts'
import { cancelKey, cancelling, type Why } from '../cancellation/cancel-record.ts'
import type { EngineState } from '../engine-state.ts'

const none: never[] = []
const rides = { ride: true }
const nothing = {}
const unwritable = 'The store cannot hold what was to be recorded.'

/**
 * `lost`: another holder or an earlier end was there first, and nothing was written. `unwritable`: the store works and cannot hold this; the
 * call is still ours.
 */
export type Ended = 'written' | 'lost' | 'unwritable'

export class LeasedCall {
  readonly request: CallRecord
  readonly host: EngineState
  progress: CallProgress
  attachments: AttachmentRecord[] | null = null
  /** What is kept beside it, and facts about that: with what is written next. */
  beside: PendingWrites | null = null
  /** The same, with its end alone. */
  withEnd: PendingWrites | null = null
  /** What the change that was made last took of these. */
  #along: AttachedToCommit = nothingAlong
  /** It may have places in the fleet, or a ticket for one: from here, or from the worker that had it before. */
  mayHavePlaces: boolean
  stopped: Stop | null = null
  /** How many deaths fewer the record tells of than there were (worker-deaths.ts). */
  spared = 0
  /** The last write of this execution, the one that lets go of the call. */
  letGo: 'not yet' | 'under way' | 'settled' | 'parked' = 'not yet'
  #onLetGo: (() => void)[] = none
  readonly #subject: EventSubject
  #listeners: ((why: Stop) => void)[] = none
  /** The lapse of the lease after which this call was last seen to be ours. */
  heldSince: number

  constructor(host: EngineState, record: CallRecord, lapses = host.lease.lapses) {
    this.host = host
    this.request = record
    this.heldSince = lapses
    this.progress = progressOf(record)
    this.mayHavePlaces = record.fence > 1
    this.#subject = { tenant: record.position.tenant, session: record.position.session, call: record.uid }
  }

  event<T extends EventType>(type: T, at: number, body: EventBodies[T]): NewEvent {
    return eventOf(this.#subject, type, at, body)
  }

  onStop(listener: (why: Stop) => void): () => void {
    if (this.stopped) listener(this.stopped)
    // After a cancel there may still be more to hear.
    if (!this.stopped || 'cancel' in this.stopped) this.#listeners = [...this.#listeners, listener]
    return () => void (this.#listeners = this.#listeners.filter((each) => each !== listener))
  }

  /** This execution no longer counts: it records nothing more. Stronger than a cancel that came before. */
  end(over: PawlError): void {
    if (this.stopped && 'over' in this.stopped) return
    this.#stop({ over })
  }

  /** Somebody asked the call to stop; how it ends is the pipeline's to say. On record when it resolves; false if it came too late. */
  async cancel(why: Why): Promise<boolean> {
    if (this.letGo === 'under way') await this.lettingGo()
    if (this.stopped || this.letGo !== 'not yet') return false
    const written = this.write(this.held(cancelling(this.#subject, this.host.clock.now(), why)))
    this.#stop({ cancel: why.reason, by: why.by })
    // Should it not arrive, this execution is over, and whoever asked must ask again.
    await written
    return true
  }

  /** Another process asked it to stop, and has it on record. */
  cancelledOutside({ reason, by }: Why): boolean {
    if (this.stopped || this.letGo !== 'not yet') return false
    this.#stop({ cancel: reason, by })
    return true
  }

  /** It was told to stop before this execution began. */
  cancelledBefore({ reason, by }: Why): void {
    this.stopped = { cancel: reason, by }
  }

  letsGo(how: LeasedCall['letGo']): void {
    this.letGo = how
    if (how === 'under way') return
    const listeners = this.#onLetGo
    this.#onLetGo = none
    for (const listener of listeners) listener()
  }

  /** When the write that lets go of it has its answer. */
  lettingGo(): Promise<void> {
    return new Promise((resolve) => void (this.#onLetGo = [...this.#onLetGo, resolve]))
  }

  move(to: CallProgress): void {
    checkMove(this.progress.state, to.state)
    this.progress = to
  }

  /** Where the time went until now goes on record with what is written next. */
  account(at: number, waited: number): void {
    this.progress = { ...this.progress, terms: accountedFor(this.request.createdAt, this.progress, at, waited) }
  }

  update(release = false): NonNullable<Change['updateCall']> {
    return { uid: this.request.uid, progress: this.progress, release }
  }

  /** A change by the holder: refused unless the fence is still ours. Takes the waiting attachments along. */
  held(change: Omit<Change, 'guards'>): Change {
    const said = change.steps ? attachmentsIn(...change.steps.flatMap(({ input, value }) => [input, value])) : none
    return this.#withAlong({ guards: this.#guards(), ...change, ...this.#waiting(said) })
  }

  /** With what waits to be kept beside it. */
  #withAlong(change: Change): Change {
    const { beside } = this
    this.#along =
      beside || change.attachments
        ? { beside, attachments: (change.attachments as AttachmentRecord[] | undefined) ?? null }
        : nothingAlong
    if (!beside) return change
    this.beside = null
    const { documents: documents, events, guards = none, insertCall } = beside
    return {
      ...change,
      guards: guards.length > 0 ? [...change.guards, ...guards] : change.guards,
      ...(insertCall ? { insertCall } : {}),
      documents: [...documents, ...(change.documents ?? none)],
      events: [...events, ...change.events],
    }
  }

  /** The call as it now stands, and the event that tells of it. */
  moved(event: NewEvent, release = false): Change {
    const { progress } = this
    const change: Change = {
      guards: this.#guards(),
      updateCall: { uid: this.request.uid, progress, release },
      events: [event],
    }
    const said = attachmentsIn(progress.args, progress.outcome)
    return this.#withAlong(this.attachments || said.length > 0 ? { ...change, ...this.#waiting(said) } : change)
  }

  /** The attachments that these texts speak of. */
  uses(...texts: readonly string[]): Pick<Change, 'uses'> {
    const said = attachmentsIn(...texts)
    return said.length > 0 ? { uses: this.#usesOf(said) } : {}
  }

  #usesOf(ids: readonly string[]): AttachmentUse[] {
    const { tenant, call } = this.#subject
    return [...new Set(ids)].map((id) => ({ tenant, id, call }))
  }

  /** With a write that ends its running: all its places. */
  giving(): Pick<Change, 'give'> {
    if (!this.mayHavePlaces) return nothing
    this.mayHavePlaces = false
    return { give: { holder: this.request.uid } }
  }

  /** Refused, and the call is ours: what went along waits for the next write. */
  #waitsAgain({ beside, attachments }: AttachedToCommit): void {
    if (beside) this.beside = this.beside ? joined(beside, this.beside) : beside
    if (attachments) this.attachments = [...attachments, ...(this.attachments ?? none)]
  }

  #guards(): readonly Guard[] {
    return [{ kind: 'holds', call: this.request.uid, fence: this.request.fence }]
  }

  #waiting(said: readonly string[]): Pick<Change, 'attachments' | 'uses'> {
    const { attachments } = this
    this.attachments = null
    const made = attachments?.map(({ id }) => id) ?? none
    if (made.length + said.length === 0) return {}
    return { ...(attachments ? { attachments } : {}), uses: this.#usesOf([...made, ...said]) }
  }

  /** The last write of a call. */
  settle(
    at: number,
    status: OutcomeStatus,
    text: string,
    heard: (how: Ended) => void,
    also?: Pick<Change, 'documents'>,
  ): void {
    const before = this.progress
    const { args, terms, attempt, startedAt, wait, deaths, trouble } = before
    if (this.withEnd) this.beside = this.beside ? joined(this.beside, this.withEnd) : this.withEnd
    this.withEnd = null
    this.move({
      state: 'settled',
      args,
      terms,
      attempt,
      startedAt,
      wait,
      outcome: text,
      settledAt: at,
      deaths,
      trouble,
    })
    const settled = this.moved(this.event('call.settled', at, { status, attempts: attempt }), true)
    const had = this.mayHavePlaces
    const documents = also?.documents ? { documents: [...(settled.documents ?? []), ...also.documents] } : {}
    const change = had || also ? { ...settled, ...this.giving(), ...documents } : settled
    this.letsGo('under way')
    const along = this.#along
    this.host.store.write(change, (answer) => {
      if ('failed' in answer && answer.alone) {
        this.beside = callIn(along)
        this.progress = before
        this.mayHavePlaces = had
        this.letsGo('not yet')
        return heard('unwritable')
      }
      const written = this.judge(answer)
      this.letsGo('settled') // or somebody else's, or unknown: in no case ours to give back
      heard(written ? 'written' : 'lost')
    })
  }

  /** Gives the call back as it stands, or as it stood, for whoever claims it next. */
  async handBack(as: CallProgress | null): Promise<void> {
    // It may just be settling or parking: what that wrote must not be written over.
    if (this.letGo === 'under way') await this.lettingGo()
    if (this.letGo !== 'not yet') return
    const before = as ?? this.progress
    this.progress = { ...before, deaths: before.deaths + this.spared }
    // What may still run keeps its places: whoever claims it has them.
    const given = this.progress.state === 'running' ? nothing : this.giving()
    await this.host.store.commit(this.held({ updateCall: this.update(true), ...given, events: [] }))
  }

  /** Keeps what an attempt that was given up returned in the end; also when the call is settled. */
  async late(step: StepRecord, attempt: number): Promise<void> {
    const { uid, fence } = this.request
    const event = this.event('call.late', step.at, { attempt, status: step.state === 'done' ? 'success' : 'failure' })
    await this.host.store.commit({ guards: [{ kind: 'held', call: uid, fence }], steps: [step], events: [event] })
  }

  check(): void {
    if (this.stopped && 'over' in this.stopped) throw this.stopped.over
  }

  /** Durable when it resolves. Throws if it was refused, or if the execution ended while the disk was busy: then the body must not go on. */
  write(change: Change): Promise<void> {
    this.check()
    const along = this.#along
    return new Promise((resolve, reject) => {
      this.host.store.write(change, (answer) => {
        // The store works and the call is ours: what was to be recorded is at fault, and whoever gave it.
        if ('failed' in answer && answer.alone)
          return reject(new PawlError('value_invalid', unwritable, { cause: answer.failed }))
        if ('ok' in answer && !answer.ok && answer.refused.kind === 'room') {
          this.#waitsAgain(along)
          return reject(new NoRoom(answer.refused.name))
        }
        this.judge(answer)
        if ('failed' in answer) reject(lostStore(answer.failed))
        else if (this.stopped && 'over' in this.stopped) reject(this.stopped.over)
        else resolve()
      })
    })
  }

  /** Durable no later than what follows it. */
  ride(change: Change): void {
    this.check()
    this.host.store.write(change, this.#heard, rides)
  }

  readonly #heard = (answer: Written): void => void this.judge(answer)

  /** Whether a change is on record. If not, or if nobody knows, the execution ends: what a body makes of it no longer counts. */
  judge(answer: Written): boolean {
    if ('failed' in answer) this.end(lostStore(answer.failed))
    else if (!answer.ok) this.end(new PawlError('lease_lost'))
    return 'ok' in answer && answer.ok
  }

  /**
   * Whether an effect may start now. Asked in the same synchronous stretch that starts it: a process that is stopped in between
   * and woken after its lease has run out would otherwise act on an old answer.
   */
  surelyHeld(): boolean {
    this.check()
    const { lease } = this.host
    return lease.fresh() && lease.lapses === this.heldSince
  }

  /** Should the lease have run out meanwhile, finds out whether the call is still ours: if not, its body is told to stop. */
  reconfirm(): void {
    if (!(this.stopped && 'over' in this.stopped) && this.host.lease.lapses !== this.heldSince)
      this.verifyHeld().catch(() => {})
  }

  /** The lease had run out: others may have taken the call. Asks the store. */
  async verifyHeld(): Promise<void> {
    const { lease, store } = this.host
    const { uid, fence, position } = this.request
    let record: CallRecord | undefined
    let lapses: number
    let cancelled: Why | null = null
    try {
      if (!lease.fresh()) await this.#unlessOver(lease.renew())
      // Counted before the store is asked: what lapses meanwhile is asked about again.
      ;({ lapses } = lease)
      // Asked by place: while we were away, another worker may even have put the same call on record under a uid of its own.
      record = await store.callAt(position)
      // Whoever could not be heard meanwhile may have asked it to stop.
      const asked = (await store.steps(uid)).find(({ key }) => key === cancelKey)
      if (asked) cancelled = JSON.parse(asked.value as string) as Why
    } catch (error) {
      this.end(lostStore(error))
      return this.check()
    }
    if (record && (record.uid !== uid || record.fence !== fence || record.state === 'settled'))
      this.end(new PawlError('lease_lost'))
    else if (cancelled) this.cancelledOutside(cancelled)
    this.heldSince = lapses
  }

  /** Who waits for a store that does not answer hears all the same that the execution is over. */
  async #unlessOver(wait: Promise<void>): Promise<void> {
    let forget = (): void => {}
    const over = new Promise<never>(
      (_, reject) => (forget = this.onStop((why) => ('over' in why ? reject(why.over) : undefined))),
    )
    await Promise.race([wait, over]).finally(() => forget())
  }

  #stop(why: Stop): void {
    this.stopped = why
    const listeners = this.#listeners
    if ('over' in why) this.#listeners = none
    for (const listener of listeners) listener(why)
  }
}

const lostStore = (error: unknown): PawlError =>
  error instanceof PawlError
    ? error
    : new PawlError('store_unavailable', `It answered: ${(error as Error).message}.`, { cause: error })
