// A call whose lease this worker holds: its progress as last written, and writes guarded by the fence. When a write is
// rejected or the lease may have been lost, the execution ends and records nothing more.

import { PawlError, asSentence } from '../../../core/errors.ts'
import type { OutcomeStatus } from '../../../core/outcome.ts'
import {
  type AttachmentUse,
  type CallProgress,
  type CallRecord,
  type StepRecord,
  attachmentsIn,
  checkMove,
  progressOf,
} from '../../../store/records/call-record.ts'
import {
  type EventBodies,
  type EventSubject,
  type EventType,
  type NewEvent,
  eventOf,
} from '../../../store/records/event.ts'
import { addAttemptTime } from '../../../store/records/call-times.ts'
import type { AttachmentRecord, Change, Guard, Written } from '../../../store/store.ts'
import { type CancelReason, NoSlotFree, type Stop } from '../../engine.ts'
import {
  type AttachedToCommit,
  type PendingWrites,
  mergeWrites,
  nothingAttached,
  submittedCallOf,
} from './merge-pending-writes.ts'
import { type Deaths, noDeaths } from '../../../store/records/death-mark.ts'
import { cancelChange, parseCancel, stopOfCancel } from '../cancellation/write-cancel.ts'
import type { EngineState } from '../engine-state.ts'
import { stepKeys } from '../../../store/journal-keys.ts'

const none: never[] = []
const lazily = { ride: true }
const noChange = {}
const unwritable = 'The store rejected the record.'

/**
 * `lost`: another holder or an earlier outcome came first, and nothing was written. `unwritable`: the store rejects
 * this content; the call is still ours.
 */
export type SettleResult = 'written' | 'lost' | 'unwritable'

export class LeasedCall {
  readonly request: CallRecord
  readonly host: EngineState
  progress: CallProgress
  attachments: AttachmentRecord[] | null = null
  /** Attached writes that wait for the next write. */
  pending: PendingWrites | null = null
  /** Attached writes that wait for the outcome. */
  pendingForOutcome: PendingWrites | null = null
  /** Attached writes that the last built change contains. */
  #attachedToLast: AttachedToCommit = nothingAttached
  /** The call may hold slots or a queue ticket, from this worker or an earlier one. */
  mayHoldSlots: boolean
  stopped: Stop | null = null
  deaths: Deaths = noDeaths
  /** The call has a death mark, or gets one: its starts and waits are recorded in it. */
  isMarked = false
  /** State of the write that releases the call, the last one of this execution. */
  releaseState: 'not yet' | 'under way' | 'settled' | 'parked' = 'not yet'
  #onRelease: (() => void)[] = none
  readonly #subject: EventSubject
  #listeners: ((why: Stop) => void)[] = none
  /** Lease lapse count at which the call was last verified as ours. */
  verifiedAtLapse: number

  constructor(host: EngineState, record: CallRecord, lapses = host.lease.lapses) {
    this.host = host
    this.request = record
    this.verifiedAtLapse = lapses
    this.progress = progressOf(record)
    this.mayHoldSlots = record.fence > 1
    this.#subject = { tenant: record.position.tenant, session: record.position.session, call: record.uid }
  }

  event<T extends EventType>(type: T, at: number, body: EventBodies[T]): NewEvent {
    return eventOf(this.#subject, type, at, body)
  }

  onStop(listener: (why: Stop) => void): () => void {
    if (this.stopped) listener(this.stopped)
    // A cancelled execution can still end later.
    if (!this.stopped || 'cancel' in this.stopped) this.#listeners = [...this.#listeners, listener]
    return () => void (this.#listeners = this.#listeners.filter((each) => each !== listener))
  }

  /** Ends this execution: it records nothing more. Overrides an earlier cancel. */
  end(over: PawlError): void {
    if (this.stopped && 'over' in this.stopped) return
    this.#stop({ over })
  }

  /** Cancels the call; the pipeline decides the outcome. Durable when it resolves; false if it came too late. */
  async cancel(why: CancelReason): Promise<boolean> {
    if (this.releaseState === 'under way') await this.awaitRelease()
    if (this.stopped || this.releaseState !== 'not yet') return false
    const written = this.write(this.fenced(cancelChange(this.#subject, this.host.clock.now(), why)))
    this.#stop(stopOfCancel(why))
    // If this write fails, the execution ends and the caller must retry the cancel.
    await written
    return true
  }

  /** Applies a cancel that another process has recorded. */
  applyRemoteCancel(why: CancelReason): boolean {
    if (this.stopped || this.releaseState !== 'not yet') return false
    this.#stop(stopOfCancel(why))
    return true
  }

  /** Applies a cancel that was recorded before this execution started. */
  restoreCancel(why: CancelReason): void {
    this.stopped = stopOfCancel(why)
  }

  setReleaseState(how: LeasedCall['releaseState']): void {
    this.releaseState = how
    if (how === 'under way') return
    const listeners = this.#onRelease
    this.#onRelease = none
    for (const listener of listeners) listener()
  }

  /** Resolves when the store has answered the releasing write. */
  awaitRelease(): Promise<void> {
    return new Promise((resolve) => void (this.#onRelease = [...this.#onRelease, resolve]))
  }

  move(to: CallProgress): void {
    checkMove(this.progress.state, to.state)
    this.progress = to
  }

  /** Adds the time spent so far to the next write. */
  accountTime(at: number, waited: number): void {
    this.progress = { ...this.progress, terms: addAttemptTime(this.request.createdAt, this.progress, at, waited) }
  }

  update(release = false): NonNullable<Change['updateCall']> {
    return { uid: this.request.uid, progress: this.progress, release }
  }

  /** A change guarded by our fence, with the pending attachments and attached writes. */
  fenced(change: Omit<Change, 'guards'>): Change {
    const mentioned = change.steps ? attachmentsIn(...change.steps.flatMap(({ input, value }) => [input, value])) : none
    return this.#withPending({ guards: this.#guards(), ...change, ...this.#takeAttachments(mentioned) })
  }

  /** Adds the attached writes to the change. */
  #withPending(change: Change): Change {
    const { pending } = this
    this.#attachedToLast =
      pending || change.attachments
        ? { pending, attachments: (change.attachments as AttachmentRecord[] | undefined) ?? null }
        : nothingAttached
    if (!pending) return change
    this.pending = null
    const { documents, events, guards = none, insertCall } = pending
    return {
      ...change,
      guards: guards.length > 0 ? [...change.guards, ...guards] : change.guards,
      ...(insertCall ? { insertCall } : {}),
      documents: [...documents, ...(change.documents ?? none)],
      events: [...events, ...change.events],
    }
  }

  /** A change that writes the current progress and the event about it. */
  progressChange(event: NewEvent, release = false): Change {
    const { progress } = this
    const change: Change = {
      guards: this.#guards(),
      updateCall: { uid: this.request.uid, progress, release },
      events: [event],
    }
    const mentioned = attachmentsIn(progress.args, progress.outcome)
    return this.#withPending(
      this.attachments || mentioned.length > 0 ? { ...change, ...this.#takeAttachments(mentioned) } : change,
    )
  }

  /** The attachments that these texts refer to. */
  uses(...texts: readonly string[]): Pick<Change, 'uses'> {
    const mentioned = attachmentsIn(...texts)
    return mentioned.length > 0 ? { uses: this.#usesOf(mentioned) } : {}
  }

  #usesOf(ids: readonly string[]): AttachmentUse[] {
    const { tenant, call } = this.#subject
    return [...new Set(ids)].map((id) => ({ tenant, id, call }))
  }

  /** Releases all slots with the write that ends the attempt. */
  releaseSlots(): Pick<Change, 'releaseSlots'> {
    if (!this.mayHoldSlots) return noChange
    this.mayHoldSlots = false
    return { releaseSlots: { holder: this.request.uid } }
  }

  /** The commit was rejected but we still hold the lease: re-queue the attached writes. */
  #requeue({ pending: attached, attachments }: AttachedToCommit): void {
    if (attached) this.pending = this.pending ? mergeWrites(attached, this.pending) : attached
    if (attachments) this.attachments = [...attachments, ...(this.attachments ?? none)]
  }

  #guards(): readonly Guard[] {
    return [{ kind: 'holds', call: this.request.uid, fence: this.request.fence }]
  }

  #takeAttachments(mentioned: readonly string[]): Pick<Change, 'attachments' | 'uses'> {
    const { attachments } = this
    this.attachments = null
    const made = attachments?.map(({ id }) => id) ?? none
    if (made.length + mentioned.length === 0) return {}
    return { ...(attachments ? { attachments } : {}), uses: this.#usesOf([...made, ...mentioned]) }
  }

  /** Writes the outcome, which releases the call. */
  settle(
    at: number,
    status: OutcomeStatus,
    text: string,
    onResult: (how: SettleResult) => void,
    also?: Pick<Change, 'documents'>,
  ): void {
    const before = this.progress
    const { args, terms, attempt, startedAt, wait, deaths, trouble } = before
    if (this.pendingForOutcome)
      this.pending = this.pending ? mergeWrites(this.pending, this.pendingForOutcome) : this.pendingForOutcome
    this.pendingForOutcome = null
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
    const settled = this.progressChange(this.event('call.settled', at, { status, attempts: attempt }), true)
    const heldSlots = this.mayHoldSlots
    const documents = also?.documents ? { documents: [...(settled.documents ?? []), ...also.documents] } : {}
    const change = heldSlots || also ? { ...settled, ...this.releaseSlots(), ...documents } : settled
    this.setReleaseState('under way')
    const attached = this.#attachedToLast
    this.host.store.write(change, (answer) => {
      if ('failed' in answer && answer.alone) {
        this.pending = submittedCallOf(attached)
        this.progress = before
        this.mayHoldSlots = heldSlots
        this.setReleaseState('not yet')
        return onResult('unwritable')
      }
      const written = this.confirmWrite(answer)
      this.setReleaseState('settled') // or lost or uncertain: in any case this worker must not release it
      onResult(written ? 'written' : 'lost')
    })
  }

  /** Releases the call with its current or the given progress, for the next worker. */
  async handBack(as: CallProgress | null, mark: Pick<Change, 'steps'>): Promise<void> {
    // A write that settles or parks the call may be under way; it must not be overwritten.
    if (this.releaseState === 'under way') await this.awaitRelease()
    if (this.releaseState !== 'not yet') return
    this.progress = as ?? this.progress
    // A running call keeps its slots; the next worker inherits them.
    const released = this.progress.state === 'running' ? noChange : this.releaseSlots()
    await this.host.store.commit(this.fenced({ updateCall: this.update(true), ...released, ...mark, events: [] }))
  }

  /** Records what an abandoned attempt returned, even after the call has settled. */
  async recordLateEnd(step: StepRecord, attempt: number): Promise<void> {
    const { uid, fence } = this.request
    const event = this.event('call.late', step.at, { attempt, status: step.state === 'done' ? 'success' : 'failure' })
    await this.host.store.commit({ guards: [{ kind: 'held', call: uid, fence }], steps: [step], events: [event] })
  }

  check(): void {
    if (this.stopped && 'over' in this.stopped) throw this.stopped.over
  }

  /**
   * Durable when it resolves. Throws if the write was rejected, or if the execution ended during the write: then the
   * body must not continue.
   */
  write(change: Change): Promise<void> {
    this.check()
    const attached = this.#attachedToLast
    return new Promise((resolve, reject) => {
      this.host.store.write(change, (answer) => {
        // The store works and the lease is ours: the content is at fault, so the caller gets the error.
        if ('failed' in answer && answer.alone)
          return reject(new PawlError('value_invalid', unwritable, { cause: answer.failed }))
        if ('ok' in answer && !answer.ok && answer.refused.kind === 'room') {
          this.#requeue(attached)
          return reject(new NoSlotFree(answer.refused.name))
        }
        this.confirmWrite(answer)
        if ('failed' in answer) reject(storeError(answer.failed))
        else if (this.stopped && 'over' in this.stopped) reject(this.stopped.over)
        else resolve()
      })
    })
  }

  /** Writes without waiting; durable no later than the next write. */
  writeLazily(change: Change): void {
    this.check()
    this.host.store.write(change, this.#onLazyAnswer, lazily)
  }

  readonly #onLazyAnswer = (answer: Written): void => void this.confirmWrite(answer)

  /** True if the change is recorded. Otherwise, or if that is uncertain, the execution ends. */
  confirmWrite(answer: Written): boolean {
    if ('failed' in answer) this.end(storeError(answer.failed))
    else if (!answer.ok) this.end(new PawlError('lease_lost'))
    return 'ok' in answer && answer.ok
  }

  /**
   * True if an effect may start now. Must be called in the same synchronous stretch that starts the effect: a process
   * that is suspended in between and resumed after its lease expired would act on a stale answer.
   */
  isSurelyLeased(): boolean {
    this.check()
    const { lease } = this.host
    return lease.fresh() && lease.lapses === this.verifiedAtLapse
  }

  /** If the lease has lapsed, verifies that the call is still ours; if not, the execution ends. */
  recheckLease(): void {
    if (!(this.stopped && 'over' in this.stopped) && this.host.lease.lapses !== this.verifiedAtLapse)
      this.verifyLease().catch(() => {})
  }

  /** The lease had expired, so another worker may own the call: ask the store. */
  async verifyLease(): Promise<void> {
    const { lease, store } = this.host
    const { uid, fence, position } = this.request
    let record: CallRecord | undefined
    let lapses: number
    let cancelled: CancelReason | null = null
    try {
      if (!lease.fresh()) await this.#orUntilOver(lease.renew())
      // Read this before asking the store, so that a lapse during the request triggers another check.
      ;({ lapses } = lease)
      // Looked up by position: another worker may have recorded the same call under its own uid.
      record = await store.callAt(position)
      // A cancel may have been recorded in between.
      const cancelStep = (await store.steps(uid)).find(({ key }) => key === stepKeys.cancel)
      if (cancelStep) cancelled = parseCancel(cancelStep)
    } catch (error) {
      this.end(storeError(error))
      return this.check()
    }
    if (record && (record.uid !== uid || record.fence !== fence || record.state === 'settled'))
      this.end(new PawlError('lease_lost'))
    else if (cancelled) this.applyRemoteCancel(cancelled)
    this.verifiedAtLapse = lapses
  }

  /** Rejects when the execution ends, even if the store never answers. */
  async #orUntilOver(wait: Promise<void>): Promise<void> {
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

const storeError = (error: unknown): PawlError =>
  error instanceof PawlError
    ? error
    : new PawlError('store_unavailable', asSentence(`The store failed: ${(error as Error).message}`), { cause: error })
